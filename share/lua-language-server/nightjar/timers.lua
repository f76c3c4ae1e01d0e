---@meta nightjar.timers
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Functions that run later.
---@class nightjar.timers
local timers = {}

---The same as nightjar.after.
---@param seconds number
---@param f function
---@param ... any
---@return nightjar.task
function timers.after(seconds, f, ...) end

---The same as nightjar.every.
---@param seconds number
---@param f function
---@param ... any
---@return nightjar.task
function timers.every(seconds, f, ...) end

return timers
