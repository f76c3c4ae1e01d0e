-- Retries: which calls are repeated, how often, and the callback. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local same = check.equal -- identity; t:equal compares tables by content

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, retry = { attempts = 3, base = 0.001, cap = 0.002 } }
local run = nightjar.idempotency_key() -- unique, because a server from an earlier run has stored the old keys

local function flaky(name, times, more)
  local query = { key = run .. name, times = times }
  for option, value in pairs(more or {}) do query[option] = value end
  return query
end

test("a call succeeds after temporary failures, and each attempt counts", function(t)
  local res = api:get("/v1/flaky", { query = flaky("a", 2) })
  t:equal(res.status, 200)
  t:equal(res.attempts, 3)
end)

test("the error of the last attempt has the errors of the earlier attempts", function(t)
  local _, err = nightjar.try(api.get, api, "/v1/flaky", { query = flaky("b", 3) })
  t:equal(err.kind, "server")
  t:equal(err.attempts, 3)
  t:equal(#err.earlier, 2)
  t:equal(err.earlier[1].status, 503)
  t:equal(err.earlier[2].message,
    [[GET returned 503 Service Unavailable: "attempt 2 of 3 that are configured to fail"]])
  t:equal(#err.earlier[1].earlier, 0)
  same(err.earlier, err.earlier)
end)

test("a call has its own number of attempts", function(t)
  local _, err = nightjar.try(api.get, api, "/v1/flaky", { query = flaky("c", 1), retry = false })
  t:equal(err.attempts, 1)
  t:equal(api:get("/v1/flaky", { query = flaky("d", 4), retry = { attempts = 5, base = 0.001 } }).attempts, 5)
end)

test("a call waits for Retry-After before its next attempt", function(t)
  local polite = nightjar.client { base_url = origin, retry = { max_wait = 5 } }
  local res = polite:get("/v1/flaky", { query = flaky("e", 1, { status = 429, retry_after = 1 }) })
  t:equal(res.attempts, 2)
  t:truthy(res.timing.total >= 1)
end)

test("an error has the wait that the server requested, or none", function(t)
  local _, err = nightjar.try(api.get, api, "/status/429", { retry = false })
  t:equal(err.retry_after, nil)
end)

test("a Retry-After beyond max_wait ends the call", function(t)
  local hasty = nightjar.client { base_url = origin, retry = { max_wait = 1 } }
  local query = flaky("f", 1, { status = 429, retry_after = 7 })
  local _, err = nightjar.try(hasty.get, hasty, "/v1/flaky", { query = query })
  t:equal(err.retry_after, 7)
  t:equal(err.attempts, 1)
end)

test("a POST without an idempotency key is not repeated", function(t)
  local _, err = nightjar.try(api.post, api, "/v1/flaky", { query = flaky("g", 1), json = {} })
  t:equal(err.attempts, 1)
  t:equal(err.idempotency_key, nil)
end)

test("a POST with an idempotency key is repeated with the same key", function(t)
  local res = api:post("/v1/flaky", { query = flaky("h", 2), json = {}, idempotency_key = true })
  t:equal(res.attempts, 3)
  for _, key in ipairs(res.json.idempotency_keys) do t:equal(key, res.idempotency_key) end
end)

test("idempotency_key returns a new UUID, which errors repeat", function(t)
  local key = nightjar.idempotency_key()
  t:matches(key, "^%x%x%x%x%x%x%x%x%-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$")
  t:truthy(key ~= nightjar.idempotency_key())
  local _, err = nightjar.try(api.post, api, "/v1/flaky", { query = flaky("i", 9), json = {}, idempotency_key = key })
  t:equal(err.idempotency_key, key)
  t:equal(err.earlier[1].idempotency_key, key)
end)

local writer = nightjar.client {
  base_url = origin, retry = { attempts = 20, base = 0.001, cap = 0.005, budget = { reserve = 10000 } },
}

test("a call that is declared idempotent is retried without a key", function(t)
  local query = flaky("declared", 2)
  local _, err = nightjar.try(api.post, api, "/v1/flaky", { query = flaky("undeclared", 2), json = {} })
  t:equal(err.attempts, 1)
  local res = api:post("/v1/flaky", { query = query, json = {}, idempotent = true })
  t:equal(res.attempts, 3)
  t:equal(res.idempotency_key, nil)
end)

test("two hundred orders over connections that are dropped: each order is created once", function(t)
  local orders = {}
  for i = 1, 200 do orders[i] = i end
  api:delete "/v1/orders"
  nightjar.map(orders, function(number)
    writer:post("/v1/orders", { query = { drop = 0.3 }, json = { number = number }, idempotency_key = true })
  end, { concurrency = 20 })
  local count = api:get("/v1/orders/count").json
  t:equal(count.created, 200)
  t:equal(count.repeated_bodies, 0)
  t:truthy(count.requests > 230, count.requests)
end)

-- keep returns a callback that waits and returns `decision`. The callback adds the descriptions it receives to `requested`.
local requested = {}
local function keep(decision)
  requested = {}
  return function(info)
    requested[#requested + 1] = info
    nightjar.sleep(0.001)
    return decision
  end
end

test("the callback runs for each failed attempt, and can wait", function(t)
  local res = api:get("/v1/flaky", { query = flaky("j", 2), on_retry = keep(nil) })
  t:equal(#requested, 2)
  t:equal(requested[1].error.status, 503)
  t:equal(requested[2].attempt, 2)
  t:equal(requested[1].again, true)
  t:truthy(requested[1].after >= 0 and requested[1].after <= 0.002)
end)

test("the callback can end the call, extend its attempts or set the delay", function(t)
  local _, err = nightjar.try(api.get, api, "/v1/flaky", { query = flaky("k", 2), on_retry = keep(false) })
  t:equal(err.attempts, 1)
  t:equal(api:get("/v1/flaky", { query = flaky("l", 4), on_retry = keep(true) }).attempts, 5)
  t:equal(requested[4].again, false)
  t:equal(requested[4].after, nil)
  t:equal(api:post("/v1/flaky", { query = flaky("m", 1), json = {}, on_retry = keep(0.002) }).attempts, 2)
end)

test("the callback is not called for a call that succeeds", function(t)
  t:equal(api:get("/v1/flaky", { query = flaky("n", 0), on_retry = keep(true) }).attempts, 1)
  t:equal(#requested, 0)
end)

test("an invalid result or an error of the callback ends the call", function()
  misuse("on_retry must return nil, true, false or a number of seconds, got string", api.get, api, "/v1/flaky",
    { query = flaky("o", 1), on_retry = keep "x" })
  misuse("on_retry must return from 0 to 1e9 seconds, got -1.0", api.get, api, "/v1/flaky",
    { query = flaky("p", 1), on_retry = keep(-1) })
  misuse("not there", api.get, api, "/v1/flaky",
    { query = flaky("q", 1), on_retry = function() error "not there" end })
end)

test("a call can be cancelled during the delay, and during the callback", function()
  local task = nightjar.spawn(function()
    api:get("/v1/flaky", { query = flaky("r", 1), on_retry = function() return 60 end })
  end)
  local other = nightjar.spawn(function()
    api:get("/v1/flaky", { query = flaky("s", 1), on_retry = function() nightjar.sleep(60) end })
  end)
  nightjar.sleep(0.02)
  task:cancel()
  other:cancel()
  for _, cancelled in ipairs { task, other } do
    fails("cancelled", "the task was cancelled", cancelled.join, cancelled)
  end
end)

-- Returns a body function that returns the parts of the list, with a wait before each.
local function parts(list)
  local place = 0
  return function()
    place = place + 1
    nightjar.sleep(0)
    return list[place]
  end
end

test("a body from a function cannot be sent again", function(t)
  local _, err = nightjar.try(api.put, api, "/v1/flaky", { query = flaky("t", 1), body = parts { "a", "b" } })
  t:equal(err.attempts, 1)
  t:matches(tostring(err:explain()), "body")
end)

-- Returns a new body function, and counts the calls.
local started = 0
local function each()
  started = started + 1
  return parts { "one, ", "two" }
end

test("a body that can be restarted is sent again", function(t)
  started = 0
  local res = api:put("/v1/flaky", { query = flaky("u", 2), body = { each = each } })
  t:equal(started, 3)
  t:equal(table.concat(res.json.body_bytes, " "), "8 8 8")
  res = api:put("/v1/flaky", { query = flaky("v", 1), body = { each = each, length = 8 }, on_retry = keep(nil) })
  t:equal(table.concat(res.json.body_bytes, " "), "8 8")
  t:equal(started, 5)
  t:equal(api:post("/echo", { body = { each = each, length = 8 } }).json.body, "one, two")
  t:equal(api:get("/echo", { body = { each = each }, allow_body_on_get = true }).json.body, "one, two")
end)

test("each order has the complete body, also if an attempt ends while a part is being sent", function(t)
  api:delete "/v1/orders"
  nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8 }, function(number)
    local made = writer:post("/v1/orders", {
      query = { drop = 0.5, seed = 3 }, idempotency_key = true, headers = { ["Content-Type"] = "application/json" },
      body = { each = function()
        local sent = 0
        return function()
          sent = sent + 1
          nightjar.sleep(0.002)
          return ({ '{"number": ', tostring(number), ', "text": "', ("x"):rep(1000), '"}' })[sent]
        end
      end },
    })
    t:equal(made.json.body_bytes, 1025)
  end, { concurrency = 8 })
  t:equal(api:get("/v1/orders/count").json.created, 8)
end)

test("a refused request is not sent again without the parts of its body that were taken", function(t)
  local client <close> = nightjar.client { base_url = origin, retry = false, http = { versions = { "2" } } }
  local function parts()
    local count = 0
    return function()
      count = count + 1
      nightjar.sleep(0.001)
      return count <= 20 and ("x"):rep(300) or nil
    end
  end
  local path = "/h2/reset?code=refused_stream&at=head&key=" .. nightjar.idempotency_key()
  local _, err = nightjar.try(client.post, client, path .. "1", { body = parts() })
  t:equal(err.kind, "connection_lost")
  -- The retry policy starts the body again.
  local res = client:post(path .. "2", { body = { each = parts }, retry = 2 })
  t:equal(res.attempts, 2)
  local bytes = {}
  for _, exchange in ipairs(client:get("/__stats").json.log) do
    if exchange.target:find(path, 1, true) then bytes[#bytes + 1] = exchange.body_bytes end
  end
  t:equal(bytes, { 6000, 6000, 6000 })
end)

test("invalid options raise an error that names the option", function()
  misuse("put: body.each is missing", api.put, api, "/echo", { body = {} })
  misuse("put: body.each must be a function, got string", api.put, api, "/echo", { body = { each = "x" } })
  misuse("put: body.length must be a non-negative integer, got -1", api.put, api, "/echo",
    { body = { each = each, length = -1 } })
  misuse("put: unknown option 'body.eech'; did you mean 'body.each'?", api.put, api, "/echo",
    { body = { eech = each } })
  misuse("body.each must return a function, got nil", api.put, api, "/echo", { body = { each = function() end } })
  misuse("get: on_retry must be a function, got boolean", api.get, api, "/echo", { on_retry = true })
  fails("invalid_argument", 'option "retry" must be true, false, a number of attempts or a table, found a string',
    api.get, api, "/echo", { retry = "often" })
end)

assert(testing.run().ok, "a case failed")
