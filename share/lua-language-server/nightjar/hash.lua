---@meta nightjar.hash
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Digests, message authentication codes, hexadecimal digits. A form is "hex", which is the default, "bytes", "base64" or "base64url".
---@class nightjar.hash
local hash = {}

---SHA-256.
---@param bytes string
---@param form? string
---@return string
function hash.sha256(bytes, form) end

---SHA-384.
---@param bytes string
---@param form? string
---@return string
function hash.sha384(bytes, form) end

---SHA-512.
---@param bytes string
---@param form? string
---@return string
function hash.sha512(bytes, form) end

---SHA-1, for what asks for it: it withstands no attack.
---@param bytes string
---@param form? string
---@return string
function hash.sha1(bytes, form) end

---MD5, for what asks for it: it withstands no attack.
---@param bytes string
---@param form? string
---@return string
function hash.md5(bytes, form) end

---The HMAC (RFC 2104), as hmac("sha256", key, bytes).
---@param algorithm string
---@param key string
---@param bytes string
---@param form? string
---@return string
function hash.hmac(algorithm, key, bytes, form) end

---One that takes its bytes in pieces; with a key, an HMAC.
---@param algorithm string
---@param key? string
---@return nightjar.digest
function hash.new(algorithm, key) end

---Whether they are equal, in a time that tells nothing of where they differ.
---@param a string
---@param b string
---@return boolean
function hash.equal(a, b) end

---Bytes as hexadecimal digits.
---@param bytes string
---@return string
function hash.hex(bytes) end

---And back.
---@param digits string
---@return string
function hash.unhex(digits) end

return hash
