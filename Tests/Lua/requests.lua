-- The requests of calls, and the messages for invalid options. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, headers = { ["API-Version"] = "2" } }

-- The request that the server received.
local function echo(options, method) return api[method or "post"](api, "/echo", options).json end
local function header(seen, name)
  for _, field in ipairs(seen.headers) do
    if field[1]:lower() == name:lower() then return field[2] end
  end
end

test("each method sends its HTTP method", function(t)
  for _, method in ipairs { "get", "post", "put", "patch", "delete" } do
    t:equal(echo(nil, method).method, method:upper())
  end
  t:equal(api:head("/echo").status, 200)
  t:equal(api:head("/echo").body, "")
  t:equal(api:request { path = "/echo" }.json.method, "GET")
  t:equal(api:request { method = "OPTIONS", path = "/echo" }.json.method, "OPTIONS")
  t:equal(api:get(origin .. "/echo").status, 200)
end)

test("identical calls are sent identically, with different calls in between", function(t)
  for _ = 1, 4 do
    t:equal(echo(nil, "get").target, "/echo")
    t:equal(echo(nil, "get").method, "GET")
    t:equal(echo({}, "get").target, "/echo")
    t:equal(header(echo({ headers = { ["X-More"] = "1" } }, "get"), "X-More"), "1")
    t:equal(header(echo(nil, "get"), "X-More"), nil)
    t:equal(header(echo(nil, "get"), "API-Version"), "2")
    t:equal(echo().method, "POST")
    t:equal(header(echo(), "Content-Length"), "0")
    t:equal(select(2, pcall(api.get, api, "/status/404")).kind, "not_found")
  end
end)

test("query items are encoded, in the order of their names or of the list", function(t)
  t:equal(echo { query = { b = 2, a = "x y", c = true, d = 1.5 } }.target, "/echo?a=x%20y&b=2&c=true&d=1.5")
  t:equal(echo { query = { tag = { "iOS & Swift", "lua" } } }.target, "/echo?tag=iOS%20%26%20Swift&tag=lua")
  t:equal(echo { query = { { "z", 1 }, { "a", 2 }, { "z", 3 } } }.target, "/echo?z=1&a=2&z=3")
  t:equal(echo { query = {} }.target, "/echo")
  t:equal(api:get("/echo?x=1", { query = { y = 2 } }).json.target, "/echo?x=1&y=2")
end)

test("a header field of the call replaces that of the client", function(t)
  t:equal(header(echo(), "API-Version"), "2")
  t:equal(header(echo { headers = { ["api-version"] = 3 } }, "API-Version"), "3")
end)

test("a header field with several values is sent several times", function(t)
  local several = echo { headers = { ["X-A"] = { "1", "2" } } }
  local count = 0
  for _, field in ipairs(several.headers) do count = count + (field[1]:lower() == "x-a" and 1 or 0) end
  t:equal(count, 2)
end)

test("json is encoded and sets the Content-Type, unless the call sets it", function(t)
  local sent = echo { json = { title = "Hello", tags = nightjar.array {} } }
  t:equal(sent.body, '{"tags":[],"title":"Hello"}')
  t:equal(header(sent, "Content-Type"), "application/json")
  t:equal(header(echo { json = 1, headers = { ["content-type"] = "application/x" } }, "Content-Type"), "application/x")
  t:equal(echo { json = false }.body, "false")
end)

test("form is encoded and sets the Content-Type", function(t)
  local sent = echo { form = { a = "x y&z", b = { 1, 2 } } }
  t:equal(sent.body, "a=x+y%26z&b=1&b=2")
  t:equal(header(sent, "Content-Type"), "application/x-www-form-urlencoded")
end)

test("a body contains any bytes, or none", function(t)
  t:equal(echo { body = "a\0b" }.body_bytes, 3)
  t:equal(echo { body = "" }.body_bytes, 0)
end)

test("an idempotency key is a new UUID, or the given text", function(t)
  local key = header(echo { idempotency_key = true }, "Idempotency-Key")
  t:matches(key, "^%x%x%x%x%x%x%x%x%-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$")
  t:truthy(key ~= header(echo { idempotency_key = true }, "Idempotency-Key"))
  t:equal(header(echo { idempotency_key = "k-1" }, "Idempotency-Key"), "k-1")
end)

test("expect sets the statuses that are not errors", function(t)
  t:equal(api:get("/status/404", { expect = 404 }).status, 404)
  t:equal(api:get("/status/418", { expect = { 200, 418 } }).ok, false)
  fails("client", "GET returned 200 OK", api.get, api, "/echo", { expect = 201 })
end)

test("the error of a timeout has its phase", function(t)
  for _, limit in ipairs { 0.1, { total = 0.1 }, { connect = 5, idle = 0.1 } } do
    local phase = type(limit) == "table" and limit.idle and "idle" or "total"
    t:raises({ kind = "timeout", phase = phase }, api.get, api, "/delay/5", { timeout = limit })
  end
end)

-- The limits are disabled for a client and for a call. nightjar.null selects the client's value or the default.
test("0, false and infinity disable a limit, and nightjar.null in a call does not change the client's", function(t)
  for _, none in ipairs {
    0, 0.0, false, math.huge, { idle = 0, total = 0 }, { idle = false, total = false },
    { idle = math.huge, total = math.huge },
  } do
    local one <close> = nightjar.client { base_url = origin, timeout = none }
    local limited <close> = nightjar.client { base_url = origin, retry = false, timeout = { idle = 0.05, total = 0.1 } }
    t:equal(one:get("/delay/0.3").status, 200)
    local all = type(none) == "table" and none or { idle = none, total = none }
    t:equal(limited:get("/delay/0.3", { timeout = all }).status, 200)
    fails("timeout",
      "no data was transferred for 0.05 s while waiting for a response; raise timeout.idle, or set it to 0",
      limited.get, limited, "/delay/0.3", { timeout = { idle = nightjar.null, total = 5 } })
  end
end)

test("an invalid timeout of a client raises an error", function()
  fails("invalid_argument", "timeout must be between 0 and 3153600000 seconds, got -1", nightjar.client,
    { timeout = -1 })
end)

test("json and form do not replace a Content-Type of the call or the client", function(t)
  local typed <close> = nightjar.client {
    base_url = origin, headers = { ["Content-Type"] = "application/vnd.api+json" },
  }
  t:equal(header(typed:post("/echo", { json = { 1 } }).json, "Content-Type"), "application/vnd.api+json")
  t:equal(header(typed:post("/echo", { json = 1, headers = { ["content-type"] = "a/b" } }).json, "Content-Type"), "a/b")
end)

local function get(options) return function() api:get("/echo", options) end end

test("invalid options raise an error that names the option", function()
  misuse("get: unknown option 'quary'; did you mean 'query'?", get { quary = {} })
  misuse("get: unknown option 'zzzzzz'", get { zzzzzz = 1 })
  misuse("get: unknown option 'json'; did you mean 'json'?", get { ["json\0x"] = 1 })
  misuse("get: option names must be strings, got a number", get { "x" })
  misuse("get: options must be a table, got string", get "x")
  misuse("get: query must be a table, got string", get { query = "a=1" })
  misuse("get: query 'a' must be a string, a number or a boolean, got function", get { query = { a = print } })
  misuse("get: query 'a' must be a string, a number or a boolean, got table", get { query = { a = { {} } } })
  misuse("get: query must be a table whose names are strings, got boolean", get { query = { [true] = 1 } })
  misuse("get: query must be a list of {name, value} pairs, got number", get { query = { 1 } })
  misuse("get: query must be a list of {name, value} pairs whose names are strings, got nil", get { query = { {} } })
  misuse("get: headers must be a table, got number", get { headers = 1 })
  misuse("get: body must be a string, a function or { each = FUNCTION }, got number", get { body = 1 })
  misuse("get: only one of json, form, multipart, file and body may be set", get { json = {}, body = "" })
  misuse("get: expect must be a status from 100 to 999 or a list of statuses", get { expect = "2xx" })
  misuse("get: expect must be a status from 100 to 999 or a list of statuses", get { expect = { 200, 99 } })
  misuse("get: timeout must be between 0 and 3153600000 seconds, got -1", get { timeout = -1 })
  misuse("get: timeout must be between 0 and 3153600000 seconds, got nan", get { timeout = 0 / 0 })
  misuse("get: timeout.total must be between 0 and 3153600000 seconds, got 1e+300", get { timeout = { total = 1e300 } })
  misuse("get: timeout.idle must be a number of seconds or false, got string", get { timeout = { idle = "x" } })
  misuse("get: timeout must be a number of seconds or false, got boolean", get { timeout = true })
  misuse("get: unknown option 'timeout.totl'; did you mean 'timeout.total'?", get { timeout = { totl = 1 } })
  fails("invalid_argument", 'option "idempotency_key" must be true, false or a string, found an integer',
    get { idempotency_key = 1 })
end)

test("a method in the options, a missing path and a call without a colon raise an error", function()
  misuse("get: the method is always GET; use api:request for other methods", get { method = "PUT" })
  misuse("get: path must be the first argument, not an option", get { path = "/" })
  misuse("get: path must be a string, got no value", function() api:get() end)
  misuse("get: path must be a string, got table", function() api:get {} end)
  misuse("request: a table expected, got string", function() api:request "/echo" end)
  misuse("request: path is missing", function() api:request {} end)
  misuse("client expected, got string; call methods with a colon, as in api:get(\"/path\")", api.get, "/echo")
  misuse("client expected, got no value; call methods with a colon, as in api:get(\"/path\")", function() api.get() end)
  misuse("a client has no field 'gte'; did you mean 'get'?", function() api:gte "/" end)
end)

-- f(...) raises an error of this kind before anything is sent.
local function refused(t, kind, f, ...) t:raises({ kind = kind, attempts = 0 }, f, ...) end

test("a request that is not valid HTTP fails before it is sent", function(t)
  refused(t, "invalid_request", get { headers = { ["X-A"] = "a\r\nX-B: 1" } })
  refused(t, "invalid_request", get { headers = { ["X A"] = "1" } })
  refused(t, "invalid_request", get { headers = { ["X-A"] = "\xff" } })
  refused(t, "invalid_url", function() api:get "/a\0b" end)
  refused(t, "invalid_request", function() api:get "/\xff" end)
  refused(t, "invalid_url", function() api:get "ftp://x/" end)
  refused(t, "invalid_request", function() api:request { method = "G T", path = "/" } end)
  fails("invalid_argument", "json.f: a function cannot be represented in JSON", get { json = { f = print } })
end)

test("invalid options of a client raise an error", function(t)
  misuse("bad argument #1 to 'client' (table expected, got string)", function() nightjar.client "x" end)
  refused(t, "invalid_argument", nightjar.client, { base_ur = "http://x" })
  refused(t, "invalid_url", nightjar.client, { base_url = "x" })
end)

test("a call of a closed client fails with closed", function(t)
  local brief <close> = nightjar.client { base_url = origin }
  t:equal(brief:get("/echo").status, 200)
  brief:close()
  fails("closed", "the client is closed", brief.get, brief, "/echo")
  t:matches(tostring(brief), "^nightjar.client: .* %(closed%)$")
end)

test("closing a client cancels its calls", function(t)
  local corrupt = nightjar.client { base_url = origin }
  local waiting = nightjar.spawn(corrupt.get, corrupt, "/delay/5")
  nightjar.sleep(0.05)
  corrupt:close()
  t:raises({ kind = "cancelled" }, waiting.join, waiting)
end)

assert(testing.run().ok, "a case failed")
