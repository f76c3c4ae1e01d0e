---@meta nightjar.env
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Environment variables with types. An empty variable counts as not set, except for get. Not available in a sandbox.
---@class nightjar.env
local env = {}

---Returns a variable, or the default if it is not set.
---@param name string
---@param default? string
---@return string?
function env.get(name, default) end

---Returns a variable as a number. Raises invalid_argument if it is not a number.
---@param name string
---@param default? number
---@return number?
function env.number(name, default) end

---Returns a variable as an integer. Raises invalid_argument if it is not an integer.
---@param name string
---@param default? integer
---@return integer?
function env.integer(name, default) end

---Returns a variable as a boolean: 1, true, yes, on, or 0, false, no, off.
---@param name string
---@param default? boolean
---@return boolean?
function env.boolean(name, default) end

---Returns a variable as a list, split at commas or at the separator.
---@param name string
---@param default? string[]
---@param separator? string
---@return string[]?
function env.list(name, default, separator) end

---Returns a variable, converted to the kind. Raises invalid_argument if it is not set.
---@param name string
---@param kind? "string"|"number"|"integer"|"boolean"|"list"
---@return any
function env.require(name, kind) end

return env
