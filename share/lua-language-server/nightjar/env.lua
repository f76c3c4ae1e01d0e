---@meta nightjar.env
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Settings from the environment. What is set to nothing counts as not set, but for get. Not in a sandbox.
---@class nightjar.env
local env = {}

---The text of a variable.
---@param name string
---@param default? string
---@return string?
function env.get(name, default) end

---As a number; invalid_argument where it is none.
---@param name string
---@param default? number
---@return number?
function env.number(name, default) end

---As an integer; invalid_argument where it is none.
---@param name string
---@param default? integer
---@return integer?
function env.integer(name, default) end

---As a truth: 1, true, yes, on, and their opposites.
---@param name string
---@param default? boolean
---@return boolean?
function env.boolean(name, default) end

---As a list, split at commas or at the separator.
---@param name string
---@param default? string[]
---@param separator? string
---@return string[]?
function env.list(name, default, separator) end

---Its value; invalid_argument where it is not set.
---@param name string
---@param kind? "string"|"number"|"integer"|"boolean"|"list"
---@return any
function env.require(name, kind) end

return env
