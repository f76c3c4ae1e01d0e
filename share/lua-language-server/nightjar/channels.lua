---@meta nightjar.channels
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Channels between tasks.
---@class nightjar.channels
local channels = {}

---The same as nightjar.channel.
---@param capacity integer
---@return nightjar.channel
function channels.channel(capacity) end

---The same as nightjar.select.
---@param channels table
---@return nightjar.channel?
---@return any
function channels.select(channels) end

return channels
