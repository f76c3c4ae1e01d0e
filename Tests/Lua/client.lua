-- Calls: what goes out, what comes back. The demo's /echo tells what it got.
local nightjar = require "nightjar"
local check = require "check"
local equal = check.equal

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, retry = false, headers = { ["X-Default"] = "yes" } }

local function echo(method, options, path)
  return api[method](api, path or "/echo", options).json
end

local function header(seen, name)
  local values = {}
  for _, pair in ipairs(seen.headers) do
    if pair[1]:lower() == name then values[#values + 1] = pair[2] end
  end
  return table.concat(values, "|")
end

-- The verbs.
for _, method in ipairs { "get", "post", "put", "patch", "delete" } do
  equal(echo(method).method, method:upper())
end
local head = api:head "/echo"
equal(head.status, 200)
equal(#head.body, 0)
equal(api:request { path = "/echo" }.json.method, "GET")
equal(api:request { method = "REPORT", path = "/echo" }.json.method, "REPORT")

-- Query: names in the order of their bytes, or pairs as written; lists repeat the name; everything is encoded.
local function target(query, path) return echo("get", { query = query }, path).target end
equal(target { page = 1, tag = "iOS & Swift" }, "/echo?page=1&tag=iOS%20%26%20Swift")
equal(target { z = 1, a = 2, m = { 3, "x" } }, "/echo?a=2&m=3&m=x&z=1")
equal(target { { "z", 1 }, { "a", 2 }, { "z", true } }, "/echo?z=1&a=2&z=true")
equal(target({ b = 2 }, "/echo?a=1"), "/echo?a=1&b=2")
equal(target {}, "/echo")
equal(target { ["ü"] = "+&=#/?%" }, "/echo?%C3%BC=%2B%26%3D%23%2F%3F%25")

-- Headers: defaults and the call's own.
local seen = echo("get", { headers = { ["X-One"] = "1", ["X-Many"] = { "a", "b" } } })
equal(header(seen, "x-default"), "yes")
equal(header(seen, "x-one"), "1")
equal(header(seen, "x-many"), "a|b")
equal(header(seen, "user-agent"), "nightjar/" .. nightjar.version)
equal(header(echo("get", { headers = { ["x-default"] = "no" } }), "x-default"), "no")

-- Bodies.
seen = echo("post", { json = { a = { 1, nightjar.null } } })
equal(header(seen, "content-type"), "application/json")
equal(seen.body, '{"a":[1,null]}')
seen = echo("post", { form = { name = "a b&c", list = { 1, 2 } } })
equal(header(seen, "content-type"), "application/x-www-form-urlencoded")
equal(seen.body, "list=1&list=2&name=a+b%26c")
seen = echo("put", { body = "plain", headers = { ["Content-Type"] = "text/plain" } })
equal(seen.body, "plain")
equal(header(seen, "content-type"), "text/plain")
equal(header(echo("post", { json = 1, headers = { ["content-type"] = "application/merge-patch+json" } }), "content-type"),
  "application/merge-patch+json")
equal(echo("post", { json = false }).body, "false")

-- Idempotency keys.
local key = header(echo("post", { idempotency_key = true }), "idempotency-key")
assert(key:match "^%x%x%x%x%x%x%x%x%-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$", key)
assert(key ~= header(echo("post", { idempotency_key = true }), "idempotency-key"))
equal(header(echo("post", { idempotency_key = "mine" }), "idempotency-key"), "mine")

-- Responses.
local res = api:get("/v1/articles/1")
equal(res.status, 200)
equal(res.headers["Content-Type"], "application/json")
equal(res.headers.content_type, "application/json")
equal(res.headers.nothing, nil)
equal(res.json.id, 1)
equal(res.json, res.json)
equal(res.text, res.body)
equal(#res.body, tonumber(res.headers.content_length))
equal(res.url, origin .. "/v1/articles/1")
equal(res.source, "network")
equal(res.attempts, 1)
assert(res.timing.total >= res.timing.first_byte and res.timing.first_byte >= res.timing.sent)
equal(type(res.timing.reused), "boolean")
local names = {}
for name, value in pairs(res.headers) do names[name] = value end
equal(names["content-type"], "application/json")
equal(#api:get("/bytes/100000").body, 100000)
check.misuse("a response has no field 'jsn'; did you mean 'json'?", function() return res.jsn end)
check.fails("decoding", "the response is not JSON: expected a value at line 1 column 1",
  function() return api:get("/bytes/10").json end)

-- Errors.
local err = check.fails("not_found", [[GET returned 404 Not Found: "there is no article 9999"]], api.get, api, "/v1/articles/9999")
equal(err.status, 404)
equal(err.phase, "receive")
equal(err.retryable, false)
equal(err.attempts, 1)
equal(err.url, origin .. "/v1/articles/9999")
equal(err.user_message, "This could not be found.")
equal(err.response.json.detail, "there is no article 9999")
equal(err.response, err.response)
equal(tostring(err), [[GET returned 404 Not Found: "there is no article 9999" (]] .. err.url .. ")")
equal(err.nothing, nil)
for status, kind in pairs { [401] = "unauthorized", [403] = "forbidden", [404] = "not_found", [409] = "client",
  [429] = "rate_limited", [500] = "server", [503] = "server" } do
  local _, failure = nightjar.try(api.get, api, "/status/" .. status)
  equal(failure.kind, kind)
  equal(failure.status, status)
  equal(api:get("/status/" .. status, { expect = { 200, status } }).status, status)
  equal(api:get("/status/" .. status, { expect = status }).status, status)
end
err = select(2, nightjar.try(api.get, api, "/delay/5", { timeout = 0.1 }))
equal(err.kind, "timeout")
equal(err.phase, "total")
equal(err.retryable, true)
err = select(2, nightjar.try(api.get, api, "/delay/5", { timeout = { idle = 0.1 } }))
equal(err.phase, "idle")
err = select(2, nightjar.try(nightjar.client { base_url = "http://127.0.0.1:1", retry = false }.get, nightjar.client {
  base_url = "http://127.0.0.1:1", retry = false }, "/"))
equal(err.kind, "connect")
check.fails("invalid_url", "the target is a path, but there is no base URL; set base_url, or use an absolute URL",
  function() nightjar.client():get("/") end)

-- What cannot be sent.
check.fails("invalid_request", "the value of header \"A\" contains a control character such as CR, LF or NUL; remove it",
  function() api:get("/echo", { headers = { A = "x\r\ny" } }) end)
check.fails("invalid_request", "a query value is not valid UTF-8", function() api:get("/echo", { query = { a = "\xff" } }) end)
check.fails("invalid_argument", "json.f: a function cannot be represented in JSON", function() api:post("/echo", { json = { f = print } }) end)

-- Misuse says what it was called, what it wants and what it got.
local misuses = {
  { "get: path must be a string, got no value", function() api:get() end },
  { "get: options must be a table, got string", function() api:get("/", "x") end },
  { "get: unknown option 'qurey'; did you mean 'query'?", function() api:get("/", { qurey = {} }) end },
  { "get: query must be a table, got string", function() api:get("/", { query = "a=1" }) end },
  { "get: query 'a' must be a string, a number or a boolean, got function",
    function() api:get("/", { query = { a = print } }) end },
  { "post: only one of json, form, multipart, file and body may be set",
    function() api:post("/", { json = 1, body = "x" }) end },
  { "post: body must be a string, a function or { each = FUNCTION }, got number", function() api:post("/", { body = 1 }) end },
  { "get: expect must be a status from 100 to 999 or a list of them", function() api:get("/", { expect = 20 }) end },
  { "get: timeout must be a number of seconds or false, got string", function() api:get("/", { timeout = "1" }) end },
  { "get: unknown option 'timeout.totl'; did you mean 'timeout.total'?",
    function() api:get("/", { timeout = { totl = 1 } }) end },
  { "request: a table expected, got string", function() api:request "x" end },
  { "request: path is missing", function() api:request {} end },
  { "client expected, got string; call it with a colon, as in api:get(\"/path\")", function() api.get "/" end },
  { "a client has no field 'gte'; did you mean 'get'?", function() api:gte "/" end },
}
for _, case in ipairs(misuses) do check.misuse(case[1], case[2]) end
check.fails("invalid_argument", 'unknown option "base_ulr"; did you mean "base_url"?',
  function() nightjar.client { base_ulr = "x" } end)

-- A closed client.
local closed = nightjar.client { base_url = origin }
equal(closed:get("/echo").status, 200)
closed:close()
closed:close()
check.fails("closed", "the client is closed", function() closed:get "/echo" end)
do
  local scoped <close> = nightjar.client { base_url = origin }
  closed = scoped
end
check.fails("closed", "the client is closed", function() closed:get "/echo" end)
