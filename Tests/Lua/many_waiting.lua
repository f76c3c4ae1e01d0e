-- Ten thousand coroutines that wait concurrently. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local test = testing.test

local COUNT = 10000

test("ten thousand tasks wait for a timer", { timeout = 120 }, function(t)
  local woken = 0
  local sleepers = {}
  for i = 1, COUNT do
    sleepers[i] = nightjar.spawn(function() nightjar.sleep(0.05) woken = woken + 1 end)
  end
  for _, sleeper in ipairs(sleepers) do sleeper:join() end
  t:equal(woken, COUNT)
end)

test("ten thousand tasks wait in a chain, each for the previous one", { timeout = 120 }, function(t)
  local last = nightjar.spawn(function() nightjar.sleep(0) return 0 end)
  for _ = 1, COUNT do
    local before = last
    last = nightjar.spawn(function() return before:join() + 1 end)
  end
  t:equal(last:join(), COUNT)
end)

test("ten thousand calls share the connections of a client", { timeout = 240 }, function(t)
  local api <close> = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", timeout = { total = 120 } }
  local succeeded = 0
  local calls = {}
  for i = 1, COUNT do
    calls[i] = nightjar.spawn(function()
      if api:get("/echo").status == 200 then succeeded = succeeded + 1 end
    end)
  end
  for _, call in ipairs(calls) do call:join() end
  t:equal(succeeded, COUNT)
end)

assert(testing.run().ok, "a case failed")
