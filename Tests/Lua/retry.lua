-- Retries: which calls are repeated, how often, and the callback. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, retry = { attempts = 3, base = 0.001, cap = 0.002 } }
local run = nightjar.idempotency_key() -- unique, because a server from an earlier run has stored the old keys

local function flaky(name, times, more)
  local query = { key = run .. name, times = times }
  for option, value in pairs(more or {}) do query[option] = value end
  return query
end

-- A call succeeds after temporary failures. Each attempt counts.
local res = api:get("/v1/flaky", { query = flaky("a", 2) })
equal(res.status, 200)
equal(res.attempts, 3)
local _, err = nightjar.try(api.get, api, "/v1/flaky", { query = flaky("b", 3) })
equal(err.kind, "server")
equal(err.attempts, 3)
equal(#err.earlier, 2)
equal(err.earlier[1].status, 503)
equal(err.earlier[2].message, [[GET returned 503 Service Unavailable: "attempt 2 of 3 that are configured to fail"]])
equal(#err.earlier[1].earlier, 0)
equal(err.earlier, err.earlier)

-- The option of a call.
_, err = nightjar.try(api.get, api, "/v1/flaky", { query = flaky("c", 1), retry = false })
equal(err.attempts, 1)
equal(api:get("/v1/flaky", { query = flaky("d", 4), retry = { attempts = 5, base = 0.001 } }).attempts, 5)

-- Retry-After applies to all calls of the client.
local polite = nightjar.client { base_url = origin, retry = { max_wait = 5 } }
local start = nightjar.spawn(function()
  return polite:get("/v1/flaky", { query = flaky("e", 1, { status = 429, retry_after = 1 }) })
end)
_, err = nightjar.try(api.get, api, "/status/429", { retry = false })
equal(err.retry_after, nil)
local hasty = nightjar.client { base_url = origin, retry = { max_wait = 1 } }
_, err = nightjar.try(hasty.get, hasty, "/v1/flaky", { query = flaky("f", 1, { status = 429, retry_after = 7 }) })
equal(err.retry_after, 7)
equal(err.attempts, 1)

-- A POST is repeated only with an idempotency key, and the key is the same for each attempt.
_, err = nightjar.try(api.post, api, "/v1/flaky", { query = flaky("g", 1), json = {} })
equal(err.attempts, 1)
equal(err.idempotency_key, nil)
res = api:post("/v1/flaky", { query = flaky("h", 2), json = {}, idempotency_key = true })
equal(res.attempts, 3)
for _, key in ipairs(res.json.idempotency_keys) do equal(key, res.idempotency_key) end
local key = nightjar.idempotency_key()
assert(key:find "^%x%x%x%x%x%x%x%x%-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$", key)
assert(key ~= nightjar.idempotency_key())
_, err = nightjar.try(api.post, api, "/v1/flaky", { query = flaky("i", 9), json = {}, idempotency_key = key })
equal(err.idempotency_key, key)
equal(err.earlier[1].idempotency_key, key)

-- Two hundred orders over connections that are dropped: each order is created once.
local orders = {}
for i = 1, 200 do orders[i] = i end
api:delete "/v1/orders"
local writer = nightjar.client { base_url = origin, retry = { attempts = 20, base = 0.001, cap = 0.005, budget = { reserve = 10000 } } }
nightjar.map(orders, function(number)
  writer:post("/v1/orders", { query = { drop = 0.3 }, json = { number = number }, idempotency_key = true })
end, { concurrency = 20 })
local count = api:get("/v1/orders/count").json
equal(count.created, 200)
equal(count.repeated_bodies, 0)
assert(count.requests > 230, count.requests)

-- The callback runs for each failed attempt, and can wait.
local requested = {}
local function keep(response)
  requested = {}
  return function(info)
    requested[#requested + 1] = info
    nightjar.sleep(0.001)
    return response
  end
end
res = api:get("/v1/flaky", { query = flaky("j", 2), on_retry = keep(nil) })
equal(#requested, 2)
equal(requested[1].error.status, 503)
equal(requested[2].attempt, 2)
equal(requested[1].again, true)
assert(requested[1].after >= 0 and requested[1].after <= 0.002)
_, err = nightjar.try(api.get, api, "/v1/flaky", { query = flaky("k", 2), on_retry = keep(false) })
equal(err.attempts, 1)
equal(api:get("/v1/flaky", { query = flaky("l", 4), on_retry = keep(true) }).attempts, 5)
equal(requested[4].again, false)
equal(requested[4].after, nil)
equal(api:post("/v1/flaky", { query = flaky("m", 1), json = {}, on_retry = keep(0.002) }).attempts, 2)
equal(api:get("/v1/flaky", { query = flaky("n", 0), on_retry = keep(true) }).attempts, 1)
equal(#requested, 0)
misuse("on_retry must return nil, true, false or a number of seconds, got string", api.get, api, "/v1/flaky",
  { query = flaky("o", 1), on_retry = keep "x" })
misuse("on_retry must return a non-negative number of seconds, got -1.0", api.get, api, "/v1/flaky", { query = flaky("p", 1), on_retry = keep(-1) })
misuse("not there", api.get, api, "/v1/flaky", { query = flaky("q", 1), on_retry = function() error "not there" end })

-- Cancelled during the delay, or during the callback.
local task = nightjar.spawn(function() api:get("/v1/flaky", { query = flaky("r", 1), on_retry = function() return 60 end }) end)
local other = nightjar.spawn(function() api:get("/v1/flaky", { query = flaky("s", 1), on_retry = function() nightjar.sleep(60) end }) end)
nightjar.sleep(0.02)
task:cancel()
other:cancel()
for _, cancelled in ipairs { task, other } do fails("cancelled", "the task was cancelled", cancelled.join, cancelled) end

-- A body from a function cannot be sent again, unless it can be restarted.
local function parts(list)
  local place = 0
  return function()
    place = place + 1
    nightjar.sleep(0)
    return list[place]
  end
end
_, err = nightjar.try(api.put, api, "/v1/flaky", { query = flaky("t", 1), body = parts { "a", "b" } })
equal(err.attempts, 1)
assert(tostring(err:explain()):find "body", tostring(err:explain()))
local started = 0
local function each()
  started = started + 1
  return parts { "one, ", "two" }
end
res = api:put("/v1/flaky", { query = flaky("u", 2), body = { each = each } })
equal(started, 3)
equal(table.concat(res.json.body_bytes, " "), "8 8 8")
res = api:put("/v1/flaky", { query = flaky("v", 1), body = { each = each, length = 8 }, on_retry = keep(nil) })
equal(table.concat(res.json.body_bytes, " "), "8 8")
equal(started, 5)
equal(api:post("/echo", { body = { each = each, length = 8 } }).json.body, "one, two")
equal(api:get("/echo", { body = { each = each }, allow_body_on_get = true }).json.body, "one, two")

-- Also if the attempt ends while a part is being sent: each order that is created has the complete body.
api:delete "/v1/orders"
local slow = 0
nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8 }, function(number)
  local made = writer:post("/v1/orders", {
    query = { drop = 0.5, seed = 3 }, idempotency_key = true, headers = { ["Content-Type"] = "application/json" },
    body = { each = function()
      local sent = 0
      return function()
        sent = sent + 1
        nightjar.sleep(0.002)
        slow = slow + 1
        return ({ '{"number": ', tostring(number), ', "text": "', ("x"):rep(1000), '"}' })[sent]
      end
    end },
  })
  equal(made.json.body_bytes, 1025)
end, { concurrency = 8 })
equal(api:get("/v1/orders/count").json.created, 8)

misuse("put: body.each is missing", api.put, api, "/echo", { body = {} })
misuse("put: body.each must be a function, got string", api.put, api, "/echo", { body = { each = "x" } })
misuse("put: body.length must be a number of bytes", api.put, api, "/echo", { body = { each = each, length = -1 } })
misuse("put: unknown option 'body.eech'; did you mean 'body.each'?", api.put, api, "/echo", { body = { eech = each } })
misuse("body.each must return a function, got nil", api.put, api, "/echo", { body = { each = function() end } })
misuse("get: on_retry must be a function, got boolean", api.get, api, "/echo", { on_retry = true })
fails("invalid_argument", 'option "retry" must be true, false, a number of attempts or a table, found a string', api.get, api,
  "/echo", { retry = "often" })

res = start:join()
equal(res.attempts, 2)
assert(res.timing.total >= 1)
