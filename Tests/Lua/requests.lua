-- The requests of calls, and the messages for invalid options. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

local origin = DEMO or os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, headers = { ["API-Version"] = "2" } }

-- The request that the server received.
local function echo(options, method) return api[method or "post"](api, "/echo", options).json end
local function header(seen, name)
  for _, field in ipairs(seen.headers) do
    if field[1]:lower() == name:lower() then return field[2] end
  end
end

-- HTTP methods.
for _, method in ipairs { "get", "post", "put", "patch", "delete" } do equal(echo(nil, method).method, method:upper()) end
equal(api:head("/echo").status, 200)
equal(api:head("/echo").body, "")
equal(api:request { path = "/echo" }.json.method, "GET")
equal(api:request { method = "OPTIONS", path = "/echo" }.json.method, "OPTIONS")
equal(api:get(origin .. "/echo").status, 200)

-- Repeated identical calls, with different calls in between.
for _ = 1, 4 do
  equal(echo(nil, "get").target, "/echo")
  equal(echo(nil, "get").method, "GET")
  equal(echo({}, "get").target, "/echo")
  equal(header(echo({ headers = { ["X-More"] = "1" } }, "get"), "X-More"), "1")
  equal(header(echo(nil, "get"), "X-More"), nil)
  equal(header(echo(nil, "get"), "API-Version"), "2")
  equal(echo().method, "POST")
  equal(header(echo(), "Content-Length"), "0")
  equal(select(2, pcall(api.get, api, "/status/404")).kind, "not_found")
end

-- Query.
equal(echo { query = { b = 2, a = "x y", c = true, d = 1.5 } }.target, "/echo?a=x%20y&b=2&c=true&d=1.5")
equal(echo { query = { tag = { "iOS & Swift", "lua" } } }.target, "/echo?tag=iOS%20%26%20Swift&tag=lua")
equal(echo { query = { { "z", 1 }, { "a", 2 }, { "z", 3 } } }.target, "/echo?z=1&a=2&z=3")
equal(echo { query = {} }.target, "/echo")
equal(api:get("/echo?x=1", { query = { y = 2 } }).json.target, "/echo?x=1&y=2")

-- Headers.
equal(header(echo(), "API-Version"), "2")
equal(header(echo { headers = { ["api-version"] = 3 } }, "API-Version"), "3")
local several = echo { headers = { ["X-A"] = { "1", "2" } } }
local count = 0
for _, field in ipairs(several.headers) do count = count + (field[1] == "X-A" and 1 or 0) end
equal(count, 2)

-- Bodies.
local sent = echo { json = { title = "Hello", tags = nightjar.array {} } }
equal(sent.body, '{"tags":[],"title":"Hello"}')
equal(header(sent, "Content-Type"), "application/json")
equal(header(echo { json = 1, headers = { ["content-type"] = "application/x" } }, "Content-Type"), "application/x")
equal(echo { json = false }.body, "false")
sent = echo { form = { a = "x y&z", b = { 1, 2 } } }
equal(sent.body, "a=x+y%26z&b=1&b=2")
equal(header(sent, "Content-Type"), "application/x-www-form-urlencoded")
equal(echo { body = "a\0b" }.body_bytes, 3)
equal(echo { body = "" }.body_bytes, 0)

-- Idempotency keys.
local key = header(echo { idempotency_key = true }, "Idempotency-Key")
assert(key:match "^%x%x%x%x%x%x%x%x%-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$", key)
assert(key ~= header(echo { idempotency_key = true }, "Idempotency-Key"))
equal(header(echo { idempotency_key = "k-1" }, "Idempotency-Key"), "k-1")

-- Expected statuses.
equal(api:get("/status/404", { expect = 404 }).status, 404)
equal(api:get("/status/418", { expect = { 200, 418 } }).ok, false)
fails("client", "GET returned 200 OK", api.get, api, "/echo", { expect = 201 })

-- Timeouts.
for _, limit in ipairs { 0.1, { total = 0.1 }, { connect = 5, idle = 0.1 } } do
  local ok, err = pcall(api.get, api, "/delay/5", { timeout = limit })
  equal(ok, false)
  equal(err.kind, "timeout")
  equal(err.phase, type(limit) == "table" and limit.idle and "idle" or "total")
end

-- 0, false and infinity disable a limit, for a client and for a call. nightjar.null selects the client's value or the default.
for _, none in ipairs { 0, 0.0, false, math.huge, { idle = 0, total = 0 }, { idle = false, total = false },
                        { idle = math.huge, total = math.huge } } do
  local one <close> = nightjar.client { base_url = origin, timeout = none }
  local limited <close> = nightjar.client { base_url = origin, retry = false, timeout = { idle = 0.05, total = 0.1 } }
  equal(one:get("/delay/0.3").status, 200)
  local all = type(none) == "table" and none or { idle = none, total = none }
  equal(limited:get("/delay/0.3", { timeout = all }).status, 200)
  fails("timeout",
    "no data was transferred for 0.05 s while waiting for a response; raise timeout.idle, or set it to 0",
    limited.get, limited, "/delay/0.3", { timeout = { idle = nightjar.null, total = 5 } })
end
check.fails("invalid_argument", "timeout must be between 0 and 3153600000 seconds, got -1", nightjar.client, { timeout = -1 })

-- json and form do not replace a Content-Type of the call or the client.
local typed <close> = nightjar.client { base_url = origin, headers = { ["Content-Type"] = "application/vnd.api+json" } }
equal(header(typed:post("/echo", { json = { 1 } }).json, "Content-Type"), "application/vnd.api+json")
equal(header(typed:post("/echo", { json = 1, headers = { ["content-type"] = "a/b" } }).json, "Content-Type"), "a/b")

-- Invalid options.
local function get(options) return function() api:get("/echo", options) end end
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
misuse("get: expect must be a status from 100 to 999 or a list of them", get { expect = "2xx" })
misuse("get: expect must be a status from 100 to 999 or a list of them", get { expect = { 200, 99 } })
misuse("get: timeout must be between 0 and 3153600000 seconds, got -1", get { timeout = -1 })
misuse("get: timeout must be between 0 and 3153600000 seconds, got nan", get { timeout = 0 / 0 })
misuse("get: timeout.total must be between 0 and 3153600000 seconds, got 1e+300", get { timeout = { total = 1e300 } })
misuse("get: timeout.idle must be a number of seconds or false, got string", get { timeout = { idle = "x" } })
misuse("get: timeout must be a number of seconds or false, got boolean", get { timeout = true })
misuse("get: unknown option 'timeout.totl'; did you mean 'timeout.total'?", get { timeout = { totl = 1 } })
check.fails("invalid_argument", 'option "idempotency_key" must be true, false or a string, found an integer',
  get { idempotency_key = 1 })
misuse("get: the method is GET; use request for others", get { method = "PUT" })
misuse("get: path must be the first argument, not an option", get { path = "/" })
misuse("get: path must be a string, got no value", function() api:get() end)
misuse("get: path must be a string, got table", function() api:get {} end)
misuse("request: a table expected, got string", function() api:request "/echo" end)
misuse("request: path is missing", function() api:request {} end)
misuse("client expected, got string; call it with a colon, as in api:get(\"/path\")", api.get, "/echo")
misuse("client expected, got no value; call it with a colon, as in api:get(\"/path\")", function() api.get() end)
misuse("a client has no field 'gte'; did you mean 'get'?", function() api:gte "/" end)

-- Errors that only the client can detect.
local function kind(of, ...)
  local ok, err = pcall(...)
  equal(ok, false)
  equal(err.kind, of)
  equal(err.attempts, 0)
end
kind("invalid_request", get { headers = { ["X-A"] = "a\r\nX-B: 1" } })
kind("invalid_request", get { headers = { ["X A"] = "1" } })
kind("invalid_request", get { headers = { ["X-A"] = "\xff" } })
kind("invalid_url", function() api:get "/a\0b" end)
kind("invalid_request", function() api:get "/\xff" end)
kind("invalid_url", function() api:get "ftp://x/" end)
kind("invalid_request", function() api:request { method = "G T", path = "/" } end)
fails("invalid_argument", "json.f: a function cannot be represented in JSON", get { json = { f = print } })

-- Clients.
misuse("bad argument #1 to 'client' (table expected, got string)", function() nightjar.client "x" end)
kind("invalid_argument", nightjar.client, { base_ur = "http://x" })
kind("invalid_url", nightjar.client, { base_url = "x" })
do
  local brief <close> = nightjar.client { base_url = origin }
  equal(brief:get("/echo").status, 200)
  brief:close()
  fails("closed", "the client is closed", brief.get, brief, "/echo")
  assert(tostring(brief):match "^nightjar.client: .* %(closed%)$")
end
local corrupt = nightjar.client { base_url = origin }
local waiting = nightjar.spawn(corrupt.get, corrupt, "/delay/5")
nightjar.sleep(0.05)
corrupt:close()
equal(select(2, pcall(waiting.join, waiting)).kind, "cancelled")
