-- Identical calls at the same time share one exchange. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, coalesce = true }
local run = nightjar.idempotency_key()

local many = {}
for i = 1, 50 do many[i] = i end

-- The number of requests with this key.
local function came(name)
  local count = 0
  for _, exchange in ipairs(api:get("/__stats").json.log) do
    if exchange.target:find(run .. name, 1, true) then count = count + 1 end
  end
  return count
end
local function slow(name, options)
  options = options or {}
  options.query = { ms = 200, key = run .. name }
  return function() return api:get("/v1/slow", options) end
end

testing.test("fifty calls share one exchange, and each receives the response", function(t)
  local network, coalesced = 0, 0
  for _, res in ipairs(nightjar.map(many, slow "a", { concurrency = 50 })) do
    t:equal(res.json.key, run .. "a")
    if res.source == "coalesced" then coalesced = coalesced + 1 else network = network + 1 end
  end
  t:equal(network + coalesced, 50)
  t:truthy(coalesced >= 49, coalesced)
  t:equal(came "a", 1)
end)

testing.test("calls with coalesce = false or other headers, writes and sequential calls do not share", function(t)
  nightjar.map({ 1, 2, 3 }, slow("b", { coalesce = false }))
  t:equal(came "b", 3)
  nightjar.map({ 1, 2, 3 }, function(i)
    return api:get("/v1/slow", { query = { ms = 50, key = run .. "c" }, headers = { X = i } })
  end)
  t:equal(came "c", 3)
  nightjar.map({ 1, 2, 3 }, function() return api:post("/echo", { query = { key = run .. "d" } }) end)
  t:equal(came "d", 3)
  for _ = 1, 3 do slow "e"() end
  t:equal(came "e", 3)
end)

testing.test("cancelling one call does not affect the others", function(t)
  local first = nightjar.spawn(slow "f")
  local second = nightjar.spawn(slow "f")
  nightjar.sleep(0.02)
  first:cancel()
  check.fails("cancelled", "the task was cancelled", first.join, first)
  t:equal(second:join().status, 200)
  t:equal(came "f", 1)
end)

testing.test("the explanation of a call reports the shared exchange", function(t)
  local both = { nightjar.all { slow "g", slow "g" } }
  local text = tostring(both[1]:explain()) .. tostring(both[2]:explain())
  t:matches(text, "2 equal calls shared one exchange")
end)

assert(testing.run().ok, "a case failed")
