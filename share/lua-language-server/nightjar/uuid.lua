---@meta nightjar.uuid
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Identifiers that are made without asking anybody, by RFC 9562.
---@class nightjar.uuid
local uuid = {}

---All of it at random.
---@return string
function uuid.v4() end

---Of the time of day or of that moment, which sorts by it.
---@param moment? number
---@return string
function uuid.v7(moment) end

---The text in small letters, its version, and of version 7 its moment; an error of the kind decoding where it is none.
---@param text string
---@return string
---@return integer
---@return number?
function uuid.parse(text) end

---Whether it is one.
---@param text string
---@return boolean
function uuid.is_valid(text) end

return uuid
