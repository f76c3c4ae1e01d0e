local stdin = require "nightjar.stdin"
print(stdin.line())                                    -- nil: the standard input of this example is empty
for line in stdin.lines() do print(line) end
print(stdin.read(10), #stdin.read_all())
-- Prints:
--   nil
--   nil	0
