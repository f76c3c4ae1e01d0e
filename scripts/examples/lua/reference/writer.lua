local process = require "nightjar.process"
local child <close> = process.spawn { "sort", stdin = "pipe", stdout = "pipe" }
child.stdin:write("b\n", "a\n")
child.stdin:close()
print(child.stdout:line())
-- Prints:
--   a
