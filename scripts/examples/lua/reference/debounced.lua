local nightjar = require "nightjar"
local save = nightjar.debounce(60, function(text) print("saved " .. text) end)
save "a"
save "b"
save:flush():join()
save "c"
save:cancel()
-- Prints:
--   saved b
