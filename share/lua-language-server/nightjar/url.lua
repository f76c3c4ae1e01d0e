---@meta nightjar.url
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---URLs (RFC 3986) and form-encoded queries. Raises errors of the kinds decoding and invalid_url.
---@class nightjar.url
local url = {}

---Returns scheme, user, password, host, port, path, query and fragment. path, query and fragment stay encoded.
---@param text string
---@return table
function url.parse(text) end

---Returns the URL of such parts. query may be a table.
---@param parts table
---@return string
function url.build(parts) end

---Returns the absolute URL of a reference (RFC 3986 section 5).
---@param base string
---@param reference string
---@return string
function url.resolve(base, reference) end

---Percent-encodes all characters that are not unreserved.
---@param text string
---@return string
function url.encode(text) end

---Decodes percent-encoding. plus: + is a space.
---@param text string
---@param options? { plus?: boolean }
---@return string
function url.decode(text, options) end

---Returns { name = value }, with a list for a name that repeats (with lists = true for every name), and the items in order as { { name, value }, ... }.
---@param text string
---@param options? { lists?: boolean }
---@return table
---@return table
function url.parse_query(text, options) end

---Encodes { name = value or list } in the order of the names, or { { name, value }, ... } in its own order.
---@param query table
---@return string
function url.build_query(query) end

---Returns the URL as the client sends it.
---@param text string
---@return string
function url.canonical(text) end

---Returns the URL without secrets, for logs.
---@param text string
---@return string
function url.redact(text) end

return url
