local args = require "nightjar.args"
local description = {
  { "file" },
  { "-n", "--count", "N", type = "integer", default = 10, help = "how many" },
  { "-v", "--verbose" },
}
local options = args.parse(description, { "in.csv", "--count", "3" })
print(options.file, options.count, options.verbose)
print(select(2, pcall(args.read, description, { "in.csv", "--count", "three" })).kind)
print(args.help(description):match "%-%-count N")
-- Prints:
--   in.csv	3	false
--   invalid_argument
--   --count N
