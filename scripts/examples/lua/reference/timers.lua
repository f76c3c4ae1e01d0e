local timers = require "nightjar.timers"
timers.after(0.01, print, "later"):join()
local count = 0
timers.every(0.01, function()
  count = count + 1
  return count < 2
end):join()
print(count)
-- Prints:
--   later
--   2
