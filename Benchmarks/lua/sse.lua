-- Reads an event stream of COUNT events and prints the processor time of each event: sse.lua URL COUNT
local nightjar = require "nightjar"

local url, count = arg[1], tonumber(arg[2])
local api = nightjar.client {}
local start, seen, bytes = os.clock(), 0, 0
for event in api:events(url, { reconnect = false }) do
  seen = seen + 1
  bytes = bytes + #event.data
end
assert(seen == count, seen)
print(('{"us": %.4f, "bytes": %d}'):format((os.clock() - start) * 1e6 / count, bytes))
