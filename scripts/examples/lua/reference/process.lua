local process = require "nightjar.process"
local result = process.run { "wc", "-w", input = "one two three" }
print(result.ok, result.stdout:match "%d+")
local child <close> = process.spawn { "cat", stdin = "pipe", stdout = "pipe" }
child.stdin:write "through a pipe":close()
print(child.stdout:read_all(), child:wait().status)
-- Prints:
--   true	3
--   through a pipe	0
