local nightjar = require "nightjar"
local clock = nightjar.testing.clock()
local task = nightjar.after(60, function() return "done" end)
clock:advance(59)
print(task.done, clock:now())
clock:advance(1)
print(task:join())
clock:close()
-- Prints:
--   false	59...
--   done
