-- Batches: api:batch, and nightjar.map with collect_errors. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse, fails = check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local plain = nightjar.client { base_url = origin }
local api = nightjar.client { base_url = origin, retry = false }
local run = nightjar.idempotency_key()

-- A request to /v1/slow with a key of this run.
local function slow(key, ms) return { path = "/v1/slow", query = { ms = ms or 40, key = run .. key } } end
local function counted(what, key) return plain:get("/__stats").json[what]["/v1/slow?key=" .. run .. key] or 0 end
local function requests(path) return (plain:get("/__stats").json.paths[path] or { requests = 0 }).requests end

-- Cancels the task and waits until it has ended.
local function cancel(task)
  task:cancel()
  fails("cancelled", "the task was cancelled", task.join, task)
end

testing.test("responses are in the order of the requests, which are tables or paths of a GET", function(t)
  local responses = api:batch {
    { path = "/echo", method = "POST", json = { number = 1 } },
    "/v1/articles/2",
    { path = "/v1/articles/{id}", params = { id = 1 } },
  }
  t:equal(#responses, 3)
  t:equal(responses.n, nil)
  t:equal(responses[1].json.method, "POST")
  t:equal(responses[2].json.id, 2)
  t:equal(responses[3].json.id, 1)
  t:equal(#api:batch {}, 0)
end)

testing.test("at most six requests run at a time, or the given number, and that number is reached", function(t)
  for _, case in ipairs {
    { "six", count = 20, most = 6 }, { "two", count = 9, most = 2, concurrency = 2 },
    { "few", count = 3, most = 3, concurrency = 100 },
  } do
    local key, list = case[1], { concurrency = case.concurrency }
    for i = 1, case.count do list[i] = slow(key, 5) end
    t:equal(#api:batch(list), case.count)
    t:truthy(counted("in_progress_max", key) <= case.most, key)
    key = key .. "-kept"
    for i = 1, case.count do list[i] = slow(key, 60000) end
    local task = nightjar.spawn(function() api:batch(list) end)
    repeat nightjar.sleep(0.005) until counted("in_progress", key) >= case.most
    t:equal(counted("in_progress_max", key), case.most)
    cancel(task)
  end
end)

testing.test("the first failure cancels running requests, starts no more, and names the request", function(t)
  local untouched = requests "/v1/articles/7"
  -- The failing request is sent after the server has received the others. Otherwise its response could arrive before
  -- they can be cancelled.
  local list = { slow("stop", 60000), slow("stop", 60000), "/status/503", concurrency = 3 }
  for i = 4, 30 do list[i] = "/v1/articles/7" end
  local started = os.time()
  local last = nightjar.client { base_url = origin, retry = false, before = function(request)
    if request.path == "/status/503" then repeat nightjar.sleep(0.002) until counted("in_progress", "stop") == 2 end
  end }
  local err = fails("server", [[GET returned 503 Service Unavailable: "this response was requested"]],
    last.batch, last, list)
  t:equal(err.index, 3)
  t:equal(err.status, 503)
  t:truthy(tostring(err):find("request 3 of the batch: ", 1, true) == 1, tostring(err))
  t:truthy(os.time() - started < 50)
  t:equal(requests "/v1/articles/7", untouched)
  repeat nightjar.sleep(0.005) until counted("in_progress", "stop") == 0
  t:equal(counted("abandoned", "stop"), 2)
  t:equal(select(2, nightjar.try(api.get, api, "/status/503")).index, nil)
end)

testing.test("with collect_errors, each request has its own result", function(t)
  local results, errors = api:batch {
    "/v1/articles/1", "/status/404", "/v1/articles/3", "http://127.0.0.1:1/", collect_errors = true,
  }
  t:equal(results.n, 4)
  t:equal(results[1].json.id, 1)
  t:equal(results[2], nil)
  t:equal(results[3].json.id, 3)
  t:equal(errors[1], nil)
  t:equal(errors[2].kind, "not_found")
  t:equal(errors[2].index, 2)
  t:equal(errors[4].kind, "connect")
  results, errors = api:batch { collect_errors = true }
  t:equal(results.n, 0)
  t:equal(next(errors), nil)
end)

testing.test("invalid requests are reported before any is sent", function(t)
  local untouched = requests "/v1/articles/8"
  for message, item in pairs {
    ["batch: request 2: path is missing"] = { method = "GET" },
    ["batch: request 2: unknown option 'qeury'; did you mean 'query'?"] = { path = "/", qeury = {} },
    ["batch: request 2: option names must be strings, got a number"] = { "GET", path = "/" },
    ["batch: request 2 is a function; use nightjar.map or nightjar.all"] = function() end,
    ["batch: request 2 must be a table or the path of a GET, got number"] = 7,
    ["batch: request 2: stream is not supported in a batch; use nightjar.map"] = { path = "/", stream = true },
  } do
    misuse(message, function() api:batch { "/v1/articles/8", item } end)
  end
  misuse("batch: unknown option 'concurency'; did you mean 'concurrency'?", function() api:batch { concurency = 3 } end)
  misuse("batch: concurrency must be an integer of at least 1",
    function() api:batch { "/v1/articles/8", concurrency = 0 } end)
  misuse("batch: collect_errors must be a boolean, got number", function() api:batch { collect_errors = 1 } end)
  misuse("batch: the list of requests contains nil", function() api:batch { [1] = "/v1/articles/8", [5] = "/" } end)
  misuse("batch: a list of requests expected, got string", function() api:batch "/v1/articles/8" end)
  misuse("client expected, got no value; call methods with a colon, as in api:get(\"/path\")",
    function() api.batch() end)
  t:equal(requests "/v1/articles/8", untouched)
end)

testing.test("invalid values are reported when the request starts", function()
  misuse("request 2 of the batch: request: query must be a table, got number",
    function() api:batch { "/v1/articles/1", { path = "/", query = 7 } } end)
end)

testing.test("hooks and other options work as for any call", function(t)
  local seen = {}
  local hooked = nightjar.client {
    base_url = origin,
    before = function(request)
      nightjar.sleep(0.001)
      request.headers["X-Batch"] = request.path
    end,
    after = function(_, request) seen[#seen + 1] = request.path end,
  }
  local responses = hooked:batch {
    { path = "/echo" }, "/echo?two", { path = "/status/404", expect = 404 }, concurrency = 1,
  }
  local marks = {}
  for _, field in ipairs(responses[2].json.headers) do
    if field[1]:lower() == "x-batch" then marks[#marks + 1] = field[2] end
  end
  t:equal(table.concat(marks), "/echo?two")
  t:equal(responses[3].status, 404)
  t:equal(table.concat(seen, " "), "/echo /echo?two /status/404")
  local objecting = nightjar.client { base_url = origin, before = function() error("not today", 0) end }
  misuse("request 1 of the batch: not today", function() objecting:batch { "/" } end)
end)

testing.test("cancelling the caller, or its timeout, cancels all requests", function(t)
  local list = {}
  for i = 1, 12 do list[i] = slow("cancel", 5000) end
  local task = nightjar.spawn(function() api:batch(list) end)
  repeat nightjar.sleep(0.005) until counted("in_progress", "cancel") == 6
  cancel(task)
  repeat nightjar.sleep(0.005) until counted("in_progress", "cancel") == 0
  t:equal(counted("abandoned", "cancel"), 6)
  fails("timeout", "timeout: the function did not return within 0.05 seconds", nightjar.timeout, 0.05, function()
    api:batch { slow("limit", 5000), collect_errors = true }
  end)
end)

testing.test("closing the client during a batch fails each remaining request", function(t)
  local closing = nightjar.client { base_url = origin }
  local closer = nightjar.spawn(function()
    repeat nightjar.sleep(0.005) until counted("in_progress", "close") == 2
    closing:close()
  end)
  local list = { concurrency = 2, collect_errors = true }
  for i = 1, 5 do list[i] = slow("close", 5000) end
  local results, errors = closing:batch(list)
  closer:join()
  t:equal(next(results), "n")
  for i = 1, 5 do t:equal(errors[i].kind, i <= 2 and "cancelled" or "closed") end
end)

testing.test("nightjar.map with collect_errors returns results and errors by index", function(t)
  local results, errors = nightjar.map({ 1, 2, 3, 4 }, function(n)
    nightjar.sleep(0.001 * (5 - n))
    if n % 2 == 0 then error({ bad = n }) end
    return n > 1 and n or nil
  end, { collect_errors = true, concurrency = 2 })
  t:equal(results.n, 4)
  t:equal(results[1], nil)
  t:equal(errors[1], nil)
  t:equal(errors[2].bad, 2)
  t:equal(results[3], 3)
  t:equal(errors[4].bad, 4)
end)

testing.test("nightjar.map reports invalid options", function()
  misuse("map: unknown option 'collect_error'; did you mean 'collect_errors'?", nightjar.map, {}, print,
    { collect_error = true })
  misuse("map: collect_errors must be a boolean, got string", nightjar.map, {}, print, { collect_errors = "yes" })
end)

testing.test("nightjar.map with collect_errors can be cancelled", function()
  local task = nightjar.spawn(function()
    nightjar.map({ 1, 2 }, function() nightjar.sleep(60) end, { collect_errors = true })
  end)
  nightjar.sleep(0.005)
  cancel(task)
end)

testing.test("a batch of 10,000 requests keeps only the responses", { timeout = 300 }, function(t)
  local many = {}
  for i = 1, 10000 do many[i] = { path = "/v1/articles/" .. i % 5 + 1, method = "HEAD" } end
  many.concurrency = 32
  collectgarbage()
  local before = collectgarbage "count"
  local responses = api:batch(many)
  t:equal(#responses, 10000)
  for i = 1, 10000, 997 do t:equal(responses[i].status, 200) end
  many = nil
  collectgarbage()
  local kilobytes = (collectgarbage "count" - before)
  t:truthy(kilobytes < 10000 * 2, kilobytes)
end)

assert(testing.run().ok, "a case failed")
