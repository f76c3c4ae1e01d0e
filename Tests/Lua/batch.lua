-- Batches: api:batch, and nightjar.map with collect_errors. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local plain = nightjar.client { base_url = origin }
local api = nightjar.client { base_url = origin, retry = false }
local run = nightjar.idempotency_key()

-- A request to /v1/slow with a key of this run.
local function slow(key, ms) return { path = "/v1/slow", query = { ms = ms or 40, key = run .. key } } end
local function counted(what, key) return plain:get("/__stats").json[what]["/v1/slow?key=" .. run .. key] or 0 end
local function requests(path) return (plain:get("/__stats").json.paths[path] or { requests = 0 }).requests end

-- Responses are in the order of the requests. A request is a table as for api:request, or the path of a GET.
local responses = api:batch {
  { path = "/echo", method = "POST", json = { number = 1 } },
  "/v1/articles/2",
  { path = "/v1/articles/{id}", params = { id = 1 } },
}
equal(#responses, 3)
equal(responses.n, nil)
equal(responses[1].json.method, "POST")
equal(responses[2].json.id, 2)
equal(responses[3].json.id, 1)
equal(#api:batch {}, 0)

-- At most six requests run at a time, or the given number, and that number is reached.
for _, case in ipairs { { "six", count = 20, most = 6 }, { "two", count = 9, most = 2, concurrency = 2 },
  { "few", count = 3, most = 3, concurrency = 100 } } do
  local key, list = case[1], { concurrency = case.concurrency }
  for i = 1, case.count do list[i] = slow(key, 5) end
  equal(#api:batch(list), case.count)
  assert(counted("in_progress_max", key) <= case.most, key)
  key = key .. "-kept"
  for i = 1, case.count do list[i] = slow(key, 60000) end
  local task = nightjar.spawn(function() api:batch(list) end)
  repeat nightjar.sleep(0.005) until counted("in_progress", key) >= case.most
  equal(counted("in_progress_max", key), case.most)
  task:cancel()
  fails("cancelled", "the task was cancelled", task.join, task)
end

-- The first failure cancels the others: running calls are cancelled, and no more are started. The error names the request.
local untouched = requests "/v1/articles/7"
-- The failing request is sent when the server has received the others. Otherwise its response could arrive before they can be
-- cancelled.
local list = { slow("stop", 60000), slow("stop", 60000), "/status/503", concurrency = 3 }
for i = 4, 30 do list[i] = "/v1/articles/7" end
local started = os.time()
local last = nightjar.client { base_url = origin, retry = false, before = function(request)
  if request.path == "/status/503" then repeat nightjar.sleep(0.002) until counted("in_progress", "stop") == 2 end
end }
local err = fails("server", [[GET returned 503 Service Unavailable: "this response was requested"]], last.batch, last, list)
equal(err.index, 3)
equal(err.status, 503)
assert(tostring(err):find("request 3 of the batch: ", 1, true) == 1, tostring(err))
assert(os.time() - started < 50)
equal(requests "/v1/articles/7", untouched)
repeat nightjar.sleep(0.005) until counted("in_progress", "stop") == 0
equal(counted("abandoned", "stop"), 2)
equal(select(2, nightjar.try(api.get, api, "/status/503")).index, nil)

-- With collect_errors, each request has its own result.
local results, errors = api:batch { "/v1/articles/1", "/status/404", "/v1/articles/3", "http://127.0.0.1:1/", collect_errors = true }
equal(results.n, 4)
equal(results[1].json.id, 1)
equal(results[2], nil)
equal(results[3].json.id, 3)
equal(errors[1], nil)
equal(errors[2].kind, "not_found")
equal(errors[2].index, 2)
equal(errors[4].kind, "connect")
results, errors = api:batch { collect_errors = true }
equal(results.n, 0)
equal(next(errors), nil)

-- Invalid requests are reported before any is sent.
untouched = requests "/v1/articles/8"
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
misuse("batch: concurrency must be an integer of at least 1", function() api:batch { "/v1/articles/8", concurrency = 0 } end)
misuse("batch: collect_errors must be a boolean, got number", function() api:batch { collect_errors = 1 } end)
misuse("batch: the list of requests contains nil", function() api:batch { [1] = "/v1/articles/8", [5] = "/" } end)
misuse("batch: a list of requests expected, got string", function() api:batch "/v1/articles/8" end)
misuse("client expected, got no value; call it with a colon, as in api:get(\"/path\")", function() api.batch() end)
equal(requests "/v1/articles/8", untouched)
-- Invalid values are reported when the request starts.
misuse("request 2 of the batch: request: query must be a table, got number",
  function() api:batch { "/v1/articles/1", { path = "/", query = 7 } } end)

-- Hooks and other options work as for any call.
local seen = {}
local hooked = nightjar.client { base_url = origin, before = function(request)
  nightjar.sleep(0.001)
  request.headers["X-Batch"] = request.path
end, after = function(outcome, request) seen[#seen + 1] = request.path end }
responses = hooked:batch { { path = "/echo" }, "/echo?two", { path = "/status/404", expect = 404 }, concurrency = 1 }
local marks = {}
for _, field in ipairs(responses[2].json.headers) do
  if field[1]:lower() == "x-batch" then marks[#marks + 1] = field[2] end
end
equal(table.concat(marks), "/echo?two")
equal(responses[3].status, 404)
equal(table.concat(seen, " "), "/echo /echo?two /status/404")
local objecting = nightjar.client { base_url = origin, before = function() error("not today", 0) end }
misuse("request 1 of the batch: not today", function() objecting:batch { "/" } end)

-- Cancelling the caller cancels all requests.
list = {}
for i = 1, 12 do list[i] = slow("cancel", 5000) end
local task = nightjar.spawn(function() api:batch(list) end)
repeat nightjar.sleep(0.005) until counted("in_progress", "cancel") == 6
task:cancel()
fails("cancelled", "the task was cancelled", task.join, task)
repeat nightjar.sleep(0.005) until counted("in_progress", "cancel") == 0
equal(counted("abandoned", "cancel"), 6)
fails("timeout", "timeout: the function did not return within 0.05 seconds", nightjar.timeout, 0.05, function()
  api:batch { slow("limit", 5000), collect_errors = true }
end)

-- Closing the client during a batch fails each remaining request.
local closing = nightjar.client { base_url = origin }
nightjar.spawn(function()
  repeat nightjar.sleep(0.005) until counted("in_progress", "close") == 2
  closing:close()
end)
list = { concurrency = 2, collect_errors = true }
for i = 1, 5 do list[i] = slow("close", 5000) end
results, errors = closing:batch(list)
equal(next(results), "n")
for i = 1, 5 do equal(errors[i].kind, i <= 2 and "cancelled" or "closed") end

-- map with collect_errors: results and errors by index.
results, errors = nightjar.map({ 1, 2, 3, 4 }, function(n)
  nightjar.sleep(0.001 * (5 - n))
  if n % 2 == 0 then error({ bad = n }) end
  return n > 1 and n or nil
end, { collect_errors = true, concurrency = 2 })
equal(results.n, 4)
equal(results[1], nil)
equal(errors[1], nil)
equal(errors[2].bad, 2)
equal(results[3], 3)
equal(errors[4].bad, 4)
misuse("map: unknown option 'collect_error'; did you mean 'collect_errors'?", nightjar.map, {}, print, { collect_error = true })
misuse("map: collect_errors must be a boolean, got string", nightjar.map, {}, print, { collect_errors = "yes" })
task = nightjar.spawn(function() nightjar.map({ 1, 2 }, function() nightjar.sleep(60) end, { collect_errors = true }) end)
nightjar.sleep(0.005)
task:cancel()
fails("cancelled", "the task was cancelled", task.join, task)

-- 10,000 requests: only the responses of completed requests are kept.
local many = {}
for i = 1, 10000 do many[i] = { path = "/v1/articles/" .. i % 5 + 1, method = "HEAD" } end
many.concurrency = 32
collectgarbage()
local before = collectgarbage "count"
responses = api:batch(many)
equal(#responses, 10000)
for i = 1, 10000, 997 do equal(responses[i].status, 200) end
many = nil
collectgarbage()
local kilobytes = (collectgarbage "count" - before)
assert(kilobytes < 10000 * 2, kilobytes)
