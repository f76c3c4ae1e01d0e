-- Limits: rate, concurrency and circuit breaker. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local plain = nightjar.client { base_url = origin }
local run = nightjar.idempotency_key()
local function client(options)
  options.base_url = origin
  return nightjar.client(options)
end
local many = {}
for i = 1, 12 do many[i] = i end

-- Concurrency.
local api = client { concurrency = 2 }
nightjar.map(many, function() return api:get("/v1/slow", { query = { ms = 5, key = run } }) end, { concurrency = 12 })
equal(plain:get("/__stats").json.in_progress_max["/v1/slow?key=" .. run], 2)

-- The current state.
local waiting = nightjar.spawn(function()
  nightjar.map(many, function() api:get "/delay/5" end, { concurrency = 5 })
end)
local states
repeat
  nightjar.sleep(0.002)
  states = api:limits()
until states[1].queued == 3
equal(#states, 1)
equal(states[1].name, origin)
equal(states[1].in_flight, 2)
equal(states[1].queued, 3)
equal(states[1].circuit, "closed")
equal(states[1].pause, nil)
waiting:cancel()
equal(#plain:limits(), 0)

-- The maximum number of waiting calls.
api = client { concurrency = 1, max_queued = 0 }
local held = nightjar.spawn(function() return api:get "/delay/5" end)
repeat nightjar.sleep(0.002) until #api:limits() > 0 and api:limits()[1].in_flight == 1
local _, err = nightjar.try(api.get, api, "/echo")
equal(err.kind, "rate_limited")
equal(err.attempts, 0)
held:cancel()

-- The rate: calls above it wait.
api = client { rate_limit = { requests = 50, per = 1, burst = 1 } }
local waits = 0
for _, res in ipairs(nightjar.map(many, function() return api:get "/echo" end, { concurrency = 12 })) do
  for _, decision in ipairs(res:explain()) do
    if decision.decision == "waited" and decision.limit == "the rate limit of " .. origin then waits = waits + 1 end
  end
end
assert(waits >= 10, waits)

-- A 429 with Retry-After pauses all calls of the client, which then continue.
api = client { retry = { base = 0.001 } }
local limited = { query = { limit = 2, per = 1, group = run } }
local results = nightjar.map({ 1, 2, 3, 4 }, function() return api:get("/v1/limited", limited) end)
equal(#results, 4)
for _, res in ipairs(results) do equal(res.status, 200) end

-- The circuit breaker.
api = client { circuit_breaker = { minimum_calls = 3, window = 10, open_duration = 0.3 }, retry = false }
for _ = 1, 3 do nightjar.try(api.get, api, "/status/500") end
_, err = nightjar.try(api.get, api, "/echo")
equal(err.kind, "server")
equal(err.status, nil)
equal(err.retryable, true)
assert(err.retry_after > 0 and err.retry_after <= 0.3, err.retry_after)
equal(api:limits()[1].circuit, "open")
nightjar.sleep(0.32)
equal(api:get("/echo").status, 200)
equal(api:limits()[1].circuit, "closed")

-- Groups have their own limits.
api = client { limit_groups = { search = { concurrency = 1 } } }
nightjar.map(many, function() return api:get("/v1/slow", { query = { ms = 5, key = run .. "s" }, limit_group = "search" }) end)
equal(plain:get("/__stats").json.in_progress_max["/v1/slow?key=" .. run .. "s"], 1)
equal(api:limits()[1].name, 'group "search"')
fails("invalid_request", 'the client has no limit group "serch"; did you mean "search"?', api.get, api, "/echo",
  { limit_group = "serch" })

fails("invalid_argument", 'option "rate_limit" needs a number of requests and a period, for example {requests = 10, per = 1}', client, { rate_limit = {} })
fails("invalid_argument", 'option "concurrency" must be between 1 and 1000000, got 0', client, { concurrency = 0 })
fails("invalid_argument", 'option "circuit_breaker.failure_rate" must be greater than 0 and at most 1, got 0.0', client,
  { circuit_breaker = { failure_rate = 0 } })
fails("invalid_argument", 'option "circuit_breaker.window" must be greater than 0 seconds, got 0', client,
  { circuit_breaker = { window = 0 } })
misuse("client expected, got no value; call it with a colon, as in api:get(\"/path\")", api.limits)
