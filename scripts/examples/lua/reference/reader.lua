local process = require "nightjar.process"
local child <close> = process.spawn { "printf", "one\\ntwo\\nthree\\nrest of it", stdout = "pipe" }
print(child.stdout:line())
for line in child.stdout:lines() do
  print(line)
  if line == "three" then break end
end
print(child.stdout:read(4), child.stdout:read_all())
-- Prints:
--   one
--   two
--   three
--   rest	 of it
