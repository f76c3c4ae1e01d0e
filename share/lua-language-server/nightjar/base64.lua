---@meta nightjar.base64
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Bytes as text, by RFC 4648.
---@class nightjar.base64
local base64 = {}

---The bytes as text; url takes - and _ for + and /, without padding.
---@param bytes string
---@param options? { url?: boolean, padding?: boolean }
---@return string
function base64.encode(bytes, options) end

---The bytes; spaces allows white space. An error of the kind decoding where the text is none.
---@param text string
---@param options? { url?: boolean, spaces?: boolean }
---@return string
function base64.decode(text, options) end

return base64
