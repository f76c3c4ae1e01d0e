local nightjar = require "nightjar"
local jobs = nightjar.channel(2)
local worker = nightjar.spawn(function()
  print(jobs:receive())
  for job in jobs:values() do print(job) end
end)
for _, job in ipairs { "a", "b", "c" } do jobs:send(job) end
jobs:close()
worker:join()
print(jobs.capacity, jobs.closed, #jobs)
-- Prints:
--   a
--   b
--   c
--   2	true	0
