-- Calls that ask the same at the same time share one exchange. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, fails = check.equal, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, coalesce = true }
local run = nightjar.idempotency_key()

local many = {}
for i = 1, 50 do many[i] = i end

-- How many requests have come for that key.
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

-- One exchange for fifty calls, and each has the answer.
local network, coalesced = 0, 0
for _, res in ipairs(nightjar.map(many, slow "a", { concurrency = 50 })) do
  equal(res.json.key, run .. "a")
  if res.source == "coalesced" then coalesced = coalesced + 1 else network = network + 1 end
end
equal(network + coalesced, 50)
assert(coalesced >= 49, coalesced)
equal(came "a", 1)

-- Not where a call or its headers say otherwise, nor for one that writes.
nightjar.map({ 1, 2, 3 }, slow("b", { coalesce = false }))
equal(came "b", 3)
nightjar.map({ 1, 2, 3 }, function(i) return api:get("/v1/slow", { query = { ms = 50, key = run .. "c" }, headers = { X = i } }) end)
equal(came "c", 3)
nightjar.map({ 1, 2, 3 }, function() return api:post("/echo", { query = { key = run .. "d" } }) end)
equal(came "d", 3)
for _ = 1, 3 do slow "e"() end -- one after the other: nothing is kept
equal(came "e", 3)

-- Whoever leaves, leaves alone.
local first = nightjar.spawn(slow "f")
local second = nightjar.spawn(slow "f")
nightjar.sleep(0.02)
first:cancel()
fails("cancelled", "the task was cancelled", first.join, first)
equal(second:join().status, 200)
equal(came "f", 1)

-- Why, in words.
local both = { nightjar.all { slow "g", slow "g" } }
local text = tostring(both[1]:explain()) .. tostring(both[2]:explain())
assert(text:find "2 equal calls shared one exchange", text)
