local channels = require "nightjar.channels"
local a, b = channels.channel(1), channels.channel(1)
b:send "value"
local channel, value = channels.select { a, b }
print(channel == b, value)
-- Prints:
--   true	value
