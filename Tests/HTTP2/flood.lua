-- Calls a server that floods the client: floods.py runs `nightjar flood.lua URL METHOD CALLS TIMEOUT`.
-- Prints "ok" or the error of each call, then the growth of the peak memory in KiB, the CPU time in ms, and the bytes of
-- the bodies that were supplied.
local nightjar = require "nightjar"

local url, method, calls, timeout = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])

local function peak_memory()
  for line in io.lines "/proc/self/status" do
    local size = line:match "^VmHWM:%s*(%d+)"
    if size then return tonumber(size) end
  end
end

local supplied = 0
local function body()
  if supplied == 200000000 then return nil end
  supplied = supplied + 100000
  return ("b"):rep(100000)
end

local client = nightjar.client { http = { versions = { "2" } }, retry = false, timeout = timeout }
-- Loads what the first call needs.
pcall(client.get, client, "http://127.0.0.1:1/")
local memory, cpu = peak_memory(), os.clock()
local numbers, results = {}, {}
for number = 1, calls do numbers[number] = number end
nightjar.map(numbers, function(number)
  if method == "STREAM" then -- does not read the response for a second
    local ok, err = pcall(function()
      local res <close> = client:get(url, { stream = true })
      nightjar.sleep(1)
      for _ in res:chunks() do end
    end)
    results[number] = ok and "ok" or tostring(err)
    return
  end
  local bodies = { POST = body, PUT = ("b"):rep(300000) }
  local ok, err = pcall(client.request, client, { method = method, path = url, body = bodies[method] })
  results[number] = ok and "ok" or tostring(err)
end, { concurrency = 20 })
for _, result in ipairs(results) do print((result:gsub("\n", " "))) end
print(peak_memory() - memory, math.ceil((os.clock() - cpu) * 1000), supplied)
