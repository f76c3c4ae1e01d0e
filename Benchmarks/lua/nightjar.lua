-- Sends requests in 64 coroutines of one script. Arguments: URL COUNT. Prints the CPU microseconds of all threads per
-- request.
local nightjar = require "nightjar"
local url, count = arg[1], tonumber(arg[2])
local api = nightjar.client { base_url = url }

local function round(total)
  local left = total
  local workers = {}
  for i = 1, 64 do
    workers[i] = function()
      while left > 0 do
        left = left - 1
        local res = api:get "/1k"
        assert(res.status == 200 and #res.body == 1024)
      end
    end
  end
  nightjar.all(workers)
end

round(2000)
local before = os.clock()
round(count)
print(('{"cpu_us": %.3f}'):format((os.clock() - before) * 1e6 / count))
