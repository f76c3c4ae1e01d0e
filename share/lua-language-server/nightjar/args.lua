---@meta nightjar.args
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---The command line of a script, described once: read, checked, and told by --help. A description is a list of items: { "file" } is an argument, { "-n", "--count", "N", type = "integer", default = 10 } an option, { "-v", "--verbose" } one that is true or false. Not in a sandbox.
---@class nightjar.args
local args = {}

---The values by their long names, with _ for -. What is wrong is said on standard error, and the script exits with status 2; --help prints the help and exits with 0.
---@param description table
---@param words? string[]
---@return table
function args.parse(description, words) end

---The same, but raises invalid_argument; nil where help was asked for.
---@param description table
---@param words? string[]
---@return table?
function args.read(description, words) end

---The text of --help.
---@param description table
---@return string
function args.help(description) end

return args
