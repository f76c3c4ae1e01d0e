---@meta nightjar.json
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---JSON with 64-bit integers. null and empty arrays are distinct from missing values and empty objects.
---@class nightjar.json
local json = {}

---Decodes JSON. null becomes nightjar.null, integers stay integers. Raises an error of the kind decoding with the position if the text is not JSON.
---@param text string
---@return any
function json.decode(text) end

---Encodes a value. Tables with the keys 1 to n are arrays, others are objects; {} is an object unless nightjar.array has marked it. indent is 0 to 16 spaces, 2 by default.
---@param value any
---@param options? { pretty?: boolean, indent?: integer, sorted?: boolean }
---@return string
function json.encode(value, options) end

---Returns the value at a JSON Pointer (RFC 6901) such as "/items/0/name", or nil. Arrays count from 0 in a pointer.
---@param value any
---@param pointer string
---@return any
function json.pointer(value, pointer) end

return json
