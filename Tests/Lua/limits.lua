-- Limits: rate, concurrency and circuit breaker. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local plain = nightjar.client { base_url = origin }
local run = nightjar.idempotency_key()
local function client(options)
  options.base_url = origin
  return nightjar.client(options)
end
local many = {}
for i = 1, 12 do many[i] = i end

test("concurrency limits the calls in flight", function(t)
  local api = client { concurrency = 2 }
  nightjar.map(many, function() return api:get("/v1/slow", { query = { ms = 5, key = run } }) end, { concurrency = 12 })
  t:equal(plain:get("/__stats").json.in_progress_max["/v1/slow?key=" .. run], 2)
end)

test("limits() returns the calls in flight, the queued calls and the state of the circuit of each origin", function(t)
  local api = client { concurrency = 2 }
  local waiting = nightjar.spawn(function()
    nightjar.map(many, function() api:get "/delay/5" end, { concurrency = 5 })
  end)
  local states
  repeat
    nightjar.sleep(0.002)
    states = api:limits()
  until states[1] and states[1].queued == 3
  t:equal(#states, 1)
  t:equal(states[1].name, origin)
  t:equal(states[1].in_flight, 2)
  t:equal(states[1].queued, 3)
  t:equal(states[1].circuit, "closed")
  t:equal(states[1].pause, nil)
  waiting:cancel()
  pcall(waiting.join, waiting)
  t:equal(#plain:limits(), 0)
end)

test("a call fails with rate_limited if max_queued calls are queued", function(t)
  local api = client { concurrency = 1, max_queued = 0 }
  local held = nightjar.spawn(function() return api:get "/delay/5" end)
  repeat nightjar.sleep(0.002) until #api:limits() > 0 and api:limits()[1].in_flight == 1
  local _, err = nightjar.try(api.get, api, "/echo")
  t:equal(err.kind, "rate_limited")
  t:equal(err.attempts, 0)
  held:cancel()
  pcall(held.join, held)
end)

test("calls above the rate limit wait", function(t)
  local api = client { rate_limit = { requests = 50, per = 1, burst = 1 } }
  local waits = 0
  for _, res in ipairs(nightjar.map(many, function() return api:get "/echo" end, { concurrency = 12 })) do
    for _, decision in ipairs(res:explain()) do
      if decision.decision == "waited" and decision.limit == "the rate limit of " .. origin then waits = waits + 1 end
    end
  end
  t:truthy(waits >= 10, waits)
end)

test("a 429 with Retry-After pauses all calls of the client, which then continue", function(t)
  local api = client { retry = { base = 0.001 } }
  local limited = { query = { limit = 2, per = 1, group = run } }
  local results = nightjar.map({ 1, 2, 3, 4 }, function() return api:get("/v1/limited", limited) end)
  t:equal(#results, 4)
  for _, res in ipairs(results) do t:equal(res.status, 200) end
end)

test("a header of a successful response pauses all calls to its origin", function(t)
  local headers, started = { backoff = "0.2" }, {}
  local function response()
    started[#started + 1] = nightjar.time.monotonic()
    local given = headers
    headers = {}
    return { headers = given }
  end
  local api = nightjar.client {
    base_url = "http://api.test", pause_header = "Backoff", mock = { { path = "/a", response = response }, { path = "/b", response = response } },
  }
  t:equal(api:get("/a").status, 200)
  t:truthy(api:limits()[1].pause > 0.1, api:limits()[1].pause)
  local free = api:get("/b", { respect_retry_after = false })
  t:equal(#free:explain(), 0)
  local held = nightjar.map({ "/a", "/b" }, function(path) return api:get(path) end)
  t:truthy(started[3] - started[1] >= 0.19, started[3] - started[1])
  local decision = held[1]:explain()[1]
  t:equal(decision.decision, "waited")
  t:equal(decision.limit, "the pause requested by the server (Backoff) of http://api.test")
  -- A pause above retry.max_wait fails calls at once.
  headers = { backoff = "100000" }
  api:get "/a"
  local _, err = nightjar.try(api.get, api, "/a")
  t:equal(err.kind, "rate_limited")
  t:truthy(err.retry_after > 86390 and err.retry_after <= 86400, err.retry_after)
  t:equal(#started, 5)
  fails("invalid_argument", 'pause_header must be the name of a header field, got "a b"', nightjar.client, { pause_header = "a b" })
end)

test("the circuit breaker opens after failures, and closes after open_duration", function(t)
  local api = client { circuit_breaker = { minimum_calls = 3, window = 10, open_duration = 0.3 }, retry = false }
  for _ = 1, 3 do nightjar.try(api.get, api, "/status/500") end
  local _, err = nightjar.try(api.get, api, "/echo")
  t:equal(err.kind, "server")
  t:equal(err.status, nil)
  t:equal(err.retryable, true)
  t:truthy(err.retry_after > 0 and err.retry_after <= 0.3, err.retry_after)
  t:equal(api:limits()[1].circuit, "open")
  nightjar.sleep(0.32)
  t:equal(api:get("/echo").status, 200)
  t:equal(api:limits()[1].circuit, "closed")
end)

test("limit groups have their own limits", function(t)
  local api = client { limit_groups = { search = { concurrency = 1 } } }
  nightjar.map(many, function()
    return api:get("/v1/slow", { query = { ms = 5, key = run .. "s" }, limit_group = "search" })
  end)
  t:equal(plain:get("/__stats").json.in_progress_max["/v1/slow?key=" .. run .. "s"], 1)
  t:equal(api:limits()[1].name, 'group "search"')
  fails("invalid_request", 'the client has no limit group "serch"; did you mean "search"?', api.get, api, "/echo",
    { limit_group = "serch" })
end)

test("invalid options raise an error that names the option", function()
  fails("invalid_argument",
    'option "rate_limit" must contain "requests", and its "per" must be greater than 0 seconds (default: 1)',
    client, { rate_limit = {} })
  fails("invalid_argument", 'option "concurrency" must be between 1 and 1000000, got 0', client, { concurrency = 0 })
  fails("invalid_argument", 'option "circuit_breaker.failure_rate" must be greater than 0 and at most 1, got 0.0',
    client, { circuit_breaker = { failure_rate = 0 } })
  fails("invalid_argument", 'option "circuit_breaker.window" must be greater than 0 seconds, got 0', client,
    { circuit_breaker = { window = 0 } })
  misuse("client expected, got no value; call methods with a colon, as in api:get(\"/path\")", plain.limits)
end)

assert(testing.run().ok, "a case failed")
