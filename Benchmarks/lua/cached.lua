-- Reads fresh responses from the memory cache, one after the other. Arguments: URL COUNT. Prints calls per second.
local nightjar = require "nightjar"
local url, count = arg[1], tonumber(arg[2])
local api = nightjar.client { base_url = url, cache = true }

local function round(total)
  for _ = 1, total do
    local res = api:get "/cached"
    assert(res.status == 200)
  end
end

round(2000)
assert(api:get("/cached").source == "cache")
local before = os.clock()
round(count)
print(('{"calls_per_s": %.0f}'):format(count / (os.clock() - before)))
