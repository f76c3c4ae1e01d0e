local nightjar = require "nightjar"
local show = nightjar.throttle(60, function(text) print("shown " .. text) end)
show "a"
show "b"
show:flush():join()
show "c"
show:cancel()
-- Prints:
--   shown a
--   shown b
