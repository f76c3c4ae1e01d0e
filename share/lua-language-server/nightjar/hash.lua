---@meta nightjar.hash
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Digests, HMACs and hexadecimal digits. A form is "hex" (the default), "bytes", "base64" or "base64url".
---@class nightjar.hash
local hash = {}

---Returns the SHA-256 digest.
---@param bytes string
---@param form? string
---@return string
function hash.sha256(bytes, form) end

---Returns the SHA-384 digest.
---@param bytes string
---@param form? string
---@return string
function hash.sha384(bytes, form) end

---Returns the SHA-512 digest.
---@param bytes string
---@param form? string
---@return string
function hash.sha512(bytes, form) end

---Returns the SHA-1 digest, for protocols that require it. It is not secure.
---@param bytes string
---@param form? string
---@return string
function hash.sha1(bytes, form) end

---Returns the MD5 digest, for protocols that require it. It is not secure.
---@param bytes string
---@param form? string
---@return string
function hash.md5(bytes, form) end

---Returns the HMAC (RFC 2104): hmac("sha256", key, bytes).
---@param algorithm string
---@param key string
---@param bytes string
---@param form? string
---@return string
function hash.hmac(algorithm, key, bytes, form) end

---Returns a digest, or with a key an HMAC, that takes its bytes in parts.
---@param algorithm string
---@param key? string
---@return nightjar.digest
function hash.new(algorithm, key) end

---Compares two strings in constant time.
---@param a string
---@param b string
---@return boolean
function hash.equal(a, b) end

---Encodes bytes as hexadecimal digits.
---@param bytes string
---@return string
function hash.hex(bytes) end

---Decodes hexadecimal digits.
---@param digits string
---@return string
function hash.unhex(digits) end

return hash
