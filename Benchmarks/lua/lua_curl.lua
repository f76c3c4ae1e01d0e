-- Sends requests with lua-curl and one easy handle, one after the other. Debian builds lua-curl for Lua up to 5.2.
local curl = require "curl"
local url, count = arg[1], tonumber(arg[2])
local easy = curl.new and curl.new() or curl.easy_init()
easy:setopt(curl.OPT_URL, url .. "/1k")
local parts
easy:setopt(curl.OPT_WRITEFUNCTION, function(...)
  local a, b = ...
  local text = type(a) == "string" and a or b
  parts[#parts + 1] = text
  return #text
end)

local function round(total)
  for _ = 1, total do
    parts = {}
    assert(easy:perform())
    assert(#table.concat(parts) == 1024)
  end
end

round(500)
local before = os.clock()
round(count)
print(('{"cpu_us": %.3f}'):format((os.clock() - before) * 1e6 / count))
