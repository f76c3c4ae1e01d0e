-- Ten thousand coroutines that wait at once: for a timer, for each other and for a server.
local check = require "check"
local nightjar = require "nightjar"
local url = os.getenv "NIGHTJAR_DEMO_URL"

local COUNT = 10000
local woken = 0
local sleepers = {}
for i = 1, COUNT do
  sleepers[i] = nightjar.spawn(function() nightjar.sleep(0.05) woken = woken + 1 end)
end
for _, sleeper in ipairs(sleepers) do sleeper:join() end
check.equal(woken, COUNT)

-- A chain, in which each waits for the previous one.
local last = nightjar.spawn(function() nightjar.sleep(0) return 0 end)
for _ = 1, COUNT do
  local before = last
  last = nightjar.spawn(function() return before:join() + 1 end)
end
check.equal(last:join(), COUNT)

-- Calls share the client's connections, in order.
local api = nightjar.client { base_url = url, timeout = { total = 120 } }
local answered = 0
local calls = {}
for i = 1, COUNT do
  calls[i] = nightjar.spawn(function()
    if api:get("/echo").status == 200 then answered = answered + 1 end
  end)
end
for _, call in ipairs(calls) do call:join() end
check.equal(answered, COUNT)
