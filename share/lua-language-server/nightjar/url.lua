---@meta nightjar.url
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---What is in a URL, by RFC 3986, and queries as forms write them. An error of the kind decoding or invalid_url says what is wrong.
---@class nightjar.url
local url = {}

---scheme, user, password, host, port, path, query, fragment: path, query and fragment as they are written, the others decoded.
---@param text string
---@return table
function url.parse(text) end

---The URL of such parts; query may be a table.
---@param parts table
---@return string
function url.build(parts) end

---The absolute URL that the reference is at the base.
---@param base string
---@param reference string
---@return string
function url.resolve(base, reference) end

---The text with all but the unreserved characters as %XX.
---@param text string
---@return string
function url.encode(text) end

---The text without escapes; with plus, a + is a space.
---@param text string
---@param options? { plus?: boolean }
---@return string
function url.decode(text, options) end

---{ name = value }, where a name is repeated a list, with lists always; and the items in order, as { { name, value }, ... }.
---@param text string
---@param options? { lists?: boolean }
---@return table
---@return table
function url.parse_query(text, options) end

---The query of { name = value or list }, in the order of the names, or of { { name, value }, ... }, in its own.
---@param query table
---@return string
function url.build_query(query) end

---The URL as the client sends it.
---@param text string
---@return string
function url.canonical(text) end

---The URL without secrets, for logs.
---@param text string
---@return string
function url.redact(text) end

return url
