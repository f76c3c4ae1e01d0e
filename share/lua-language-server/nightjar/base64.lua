---@meta nightjar.base64
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Base64, RFC 4648.
---@class nightjar.base64
local base64 = {}

---Encodes bytes. url: with - and _ instead of + and /, and without padding.
---@param bytes string
---@param options? { url?: boolean, padding?: boolean }
---@return string
function base64.encode(bytes, options) end

---Decodes Base64. spaces: ignores white space. Raises an error of the kind decoding if the text is not Base64.
---@param text string
---@param options? { url?: boolean, spaces?: boolean }
---@return string
function base64.decode(text, options) end

return base64
