local process = require "nightjar.process"
local child = process.spawn { "sleep", "60" }
print(child.pid > 0, child:kill "TERM", child:wait().signal)
child:close()
-- Prints:
--   true	true	TERM
