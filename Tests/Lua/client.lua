-- Calls: requests, responses and errors. Needs the demo API, whose /echo returns the request that it received.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse, fails = check.misuse, check.fails

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

testing.test("each method has a function, and request sends any method", function(t)
  for _, method in ipairs { "get", "post", "put", "patch", "delete" } do
    t:equal(echo(method).method, method:upper())
  end
  local head = api:head "/echo"
  t:equal(head.status, 200)
  t:equal(#head.body, 0)
  t:equal(api:request { path = "/echo" }.json.method, "GET")
  t:equal(api:request { method = "REPORT", path = "/echo" }.json.method, "REPORT")
end)

testing.test("a query is a table in the order of its names, or pairs in their order, and is encoded", function(t)
  local function target(query, path) return echo("get", { query = query }, path).target end
  t:equal(target { page = 1, tag = "iOS & Swift" }, "/echo?page=1&tag=iOS%20%26%20Swift")
  t:equal(target { z = 1, a = 2, m = { 3, "x" } }, "/echo?a=2&m=3&m=x&z=1")
  t:equal(target { { "z", 1 }, { "a", 2 }, { "z", true } }, "/echo?z=1&a=2&z=true")
  t:equal(target({ b = 2 }, "/echo?a=1"), "/echo?a=1&b=2")
  t:equal(target {}, "/echo")
  t:equal(target { ["ü"] = "+&=#/?%" }, "/echo?%C3%BC=%2B%26%3D%23%2F%3F%25")
end)

testing.test("the headers of the client and of the call are sent", function(t)
  local seen = echo("get", { headers = { ["X-One"] = "1", ["X-Many"] = { "a", "b" } } })
  t:equal(header(seen, "x-default"), "yes")
  t:equal(header(seen, "x-one"), "1")
  t:equal(header(seen, "x-many"), "a|b")
  t:equal(header(seen, "user-agent"), "nightjar/" .. nightjar.version)
  t:equal(header(echo("get", { headers = { ["x-default"] = "no" } }), "x-default"), "no")
end)

testing.test("json, form and body are sent with their media types", function(t)
  local seen = echo("post", { json = { a = { 1, nightjar.null } } })
  t:equal(header(seen, "content-type"), "application/json")
  t:equal(seen.body, '{"a":[1,null]}')
  seen = echo("post", { form = { name = "a b&c", list = { 1, 2 } } })
  t:equal(header(seen, "content-type"), "application/x-www-form-urlencoded")
  t:equal(seen.body, "list=1&list=2&name=a+b%26c")
  seen = echo("put", { body = "plain", headers = { ["Content-Type"] = "text/plain" } })
  t:equal(seen.body, "plain")
  t:equal(header(seen, "content-type"), "text/plain")
  seen = echo("post", { json = 1, headers = { ["content-type"] = "application/merge-patch+json" } })
  t:equal(header(seen, "content-type"), "application/merge-patch+json")
  t:equal(echo("post", { json = false }).body, "false")
end)

testing.test("idempotency keys are generated or chosen", function(t)
  local key = header(echo("post", { idempotency_key = true }), "idempotency-key")
  t:truthy(key:match "^%x%x%x%x%x%x%x%x%-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$", key)
  t:truthy(key ~= header(echo("post", { idempotency_key = true }), "idempotency-key"))
  t:equal(header(echo("post", { idempotency_key = "mine" }), "idempotency-key"), "mine")
end)

testing.test("a response has a status, headers, a body, JSON, a URL and times", function(t)
  local res = api:get("/v1/articles/1")
  t:equal(res.status, 200)
  t:equal(res.headers["Content-Type"], "application/json")
  t:equal(res.headers.content_type, "application/json")
  t:equal(res.headers.nothing, nil)
  t:equal(res.json.id, 1)
  t:truthy(rawequal(res.json, res.json))
  t:equal(res.text, res.body)
  t:equal(#res.body, tonumber(res.headers.content_length))
  t:equal(res.url, origin .. "/v1/articles/1")
  t:equal(res.source, "network")
  t:equal(res.attempts, 1)
  t:truthy(res.timing.total >= res.timing.first_byte and res.timing.first_byte >= res.timing.sent)
  t:equal(type(res.timing.reused), "boolean")
  local names = {}
  for name, value in pairs(res.headers) do names[name] = value end
  t:equal(names["content-type"], "application/json")
  t:equal(#api:get("/bytes/100000").body, 100000)
end)

testing.test("unknown fields and bodies that are not JSON are errors of the response", function()
  local res = api:get("/v1/articles/1")
  misuse("a response has no field 'jsn'; did you mean 'json'?", function() return res.jsn end)
  fails("decoding", "the response is not JSON: expected a value at line 1 column 1",
    function() return api:get("/bytes/10").json end)
end)

testing.test("an error of the server has its kind, status, texts and response", function(t)
  local err = fails("not_found", [[GET returned 404 Not Found: "there is no article 9999"]],
    api.get, api, "/v1/articles/9999")
  t:equal(err.status, 404)
  t:equal(err.phase, "receive")
  t:equal(err.retryable, false)
  t:equal(err.attempts, 1)
  t:equal(err.url, origin .. "/v1/articles/9999")
  t:equal(err.user_message, "This could not be found.")
  t:equal(err.response.json.detail, "there is no article 9999")
  t:equal(err.response, err.response)
  t:equal(tostring(err), [[GET returned 404 Not Found: "there is no article 9999" (]] .. err.url .. ")")
  t:equal(err.nothing, nil)
end)

testing.test("the status determines the kind of the error, unless expect allows the status", function(t)
  for status, kind in pairs {
    [401] = "unauthorized", [403] = "forbidden", [404] = "not_found", [409] = "client", [429] = "rate_limited",
    [500] = "server", [503] = "server",
  } do
    local _, failure = nightjar.try(api.get, api, "/status/" .. status)
    t:equal(failure.kind, kind)
    t:equal(failure.status, status)
    t:equal(api:get("/status/" .. status, { expect = { 200, status } }).status, status)
    t:equal(api:get("/status/" .. status, { expect = status }).status, status)
  end
end)

testing.test("an error without a response has its kind and phase", function(t)
  local err = select(2, nightjar.try(api.get, api, "/delay/5", { timeout = 0.1 }))
  t:equal(err.kind, "timeout")
  t:equal(err.phase, "total")
  t:equal(err.retryable, true)
  err = select(2, nightjar.try(api.get, api, "/delay/5", { timeout = { idle = 0.1 } }))
  t:equal(err.phase, "idle")
  local nowhere = nightjar.client { base_url = "http://127.0.0.1:1", retry = false }
  err = select(2, nightjar.try(nowhere.get, nowhere, "/"))
  t:equal(err.kind, "connect")
  fails("invalid_url", "the target is relative, but there is no base URL; set base_url, or use an absolute URL",
    function() nightjar.client():get("/") end)
end)

testing.test("requests that are not valid HTTP are not sent", function()
  fails("invalid_request", "the value of header \"A\" contains a control character such as CR, LF or NUL; remove it",
    function() api:get("/echo", { headers = { A = "x\r\ny" } }) end)
  fails("invalid_request", "a query value is not valid UTF-8",
    function() api:get("/echo", { query = { a = "\xff" } }) end)
  fails("invalid_argument", "json.f: a function cannot be represented in JSON",
    function() api:post("/echo", { json = { f = print } }) end)
end)

testing.test("messages for invalid use name the function, the expected type and the actual type", function()
  local misuses = {
    { "get: path must be a string, got no value", function() api:get() end },
    { "get: options must be a table, got string", function() api:get("/", "x") end },
    { "get: unknown option 'qurey'; did you mean 'query'?", function() api:get("/", { qurey = {} }) end },
    { "get: query must be a table, got string", function() api:get("/", { query = "a=1" }) end },
    { "get: query 'a' must be a string, a number or a boolean, got function",
      function() api:get("/", { query = { a = print } }) end },
    { "post: only one of json, form, multipart, file and body may be set",
      function() api:post("/", { json = 1, body = "x" }) end },
    { "post: body must be a string, a function or { each = FUNCTION }, got number",
      function() api:post("/", { body = 1 }) end },
    {
      "get: expect must be a status from 100 to 999 or a list of statuses",
      function() api:get("/", { expect = 20 }) end,
    },
    { "get: timeout must be a number of seconds or false, got string", function() api:get("/", { timeout = "1" }) end },
    { "get: unknown option 'timeout.totl'; did you mean 'timeout.total'?",
      function() api:get("/", { timeout = { totl = 1 } }) end },
    { "request: a table expected, got string", function() api:request "x" end },
    { "request: path is missing", function() api:request {} end },
    { "client expected, got string; call methods with a colon, as in api:get(\"/path\")", function() api.get "/" end },
    { "a client has no field 'gte'; did you mean 'get'?", function() api:gte "/" end },
  }
  for _, case in ipairs(misuses) do misuse(case[1], case[2]) end
end)

testing.test("an unknown option of the client is reported", function()
  local ok, message = pcall(nightjar.client, { on_step = print })
  assert(not ok and tostring(message):find("client: the option 'on_step' is unknown, or cannot be a function", 1, true), message)
  fails("invalid_argument", 'unknown option "base_ulr"; did you mean "base_url"?',
    function() nightjar.client { base_ulr = "x" } end)
end)

testing.test("clients share an event loop", function(t)
  local clients = {}
  for number = 1, 5 do clients[number] = nightjar.client { base_url = origin, shared_loop = "lua" } end
  local calls = nightjar.map(clients, function(client) return client:get("/echo").status end)
  t:equal(calls, { 200, 200, 200, 200, 200 })
  clients[1]:close()
  t:equal(clients[2]:get("/echo").status, 200)
  fails("invalid_argument", "the name of the shared loop is empty", function()
    nightjar.client { base_url = origin, shared_loop = "" }
  end)
  for number = 2, 5 do clients[number]:close() end
end)

testing.test("a closed client cannot be used", function(t)
  local closed = nightjar.client { base_url = origin }
  t:equal(closed:get("/echo").status, 200)
  closed:close()
  closed:close()
  fails("closed", "the client is closed", function() closed:get "/echo" end)
  do
    local scoped <close> = nightjar.client { base_url = origin }
    closed = scoped
  end
  fails("closed", "the client is closed", function() closed:get "/echo" end)
end)

assert(testing.run().ok, "a case failed")
