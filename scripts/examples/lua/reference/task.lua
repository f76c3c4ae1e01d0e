local nightjar = require "nightjar"
local task = nightjar.spawn(function(a, b) return a + b end, 1, 2)
print(task:join())
local sleeper = nightjar.spawn(nightjar.sleep, 3600)
sleeper:cancel()
print(select(2, nightjar.try(sleeper.join, sleeper)).kind, sleeper.cancelled)
-- Prints:
--   3
--   cancelled	true
