---@meta nightjar.args
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Command lines of scripts, described once for parsing, checking and --help. A description is a list: { "file" } is an argument, { "-n", "--count", "N", type = "integer", default = 10 } an option, { "-v", "--verbose" } a flag. Not available in a sandbox.
---@class nightjar.args
local args = {}

---Returns the values by their long names, with _ for -. A mistake is reported on standard error and ends the script with status 2; --help prints the help and ends it with 0. words: the arguments of the script by default.
---@param description table
---@param words? string[]
---@return table
function args.parse(description, words) end

---Like parse, but raises invalid_argument, and returns nil for --help.
---@param description table
---@param words? string[]
---@return table?
function args.read(description, words) end

---Returns the text of --help.
---@param description table
---@return string
function args.help(description) end

return args
