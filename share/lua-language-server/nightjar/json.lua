---@meta nightjar.json
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---JSON with 64-bit integers, null, and arrays kept apart from objects.
---@class nightjar.json
local json = {}

---The value that the text describes: nightjar.null for null, integers as integers. An error says where the text is wrong.
---@param text string
---@return any
function json.decode(text) end

---The value as JSON. Tables with the keys 1 to n are arrays, others objects; {} is an object unless nightjar.array has marked it.
---@param value any
---@param options? { pretty?: boolean, indent?: integer, sorted?: boolean }
---@return string
function json.encode(value, options) end

---What a JSON Pointer (RFC 6901) as "/items/0/name" points to; nil where there is nothing. Arrays count from 0 in it.
---@param value any
---@param pointer string
---@return any
function json.pointer(value, pointer) end

return json
