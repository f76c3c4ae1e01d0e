---@meta nightjar.uuid
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---UUIDs, RFC 9562.
---@class nightjar.uuid
local uuid = {}

---Returns a random UUID.
---@return string
function uuid.v4() end

---Returns a UUID that sorts by its moment, now by default.
---@param moment? number
---@return string
function uuid.v7(moment) end

---Returns the UUID in lower case, its version, and the moment of version 7. Raises an error of the kind decoding if the text is not a UUID.
---@param text string
---@return string
---@return integer
---@return number?
function uuid.parse(text) end

---Returns whether the text is a UUID.
---@param text string
---@return boolean
function uuid.is_valid(text) end

return uuid
