-- nightjar.mock: routes, sequences, faults, functions, and received requests. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails

local function client(mock, options)
  options = options or {}
  options.base_url, options.mock = "http://api.test/v1", mock
  return nightjar.client(options)
end

-- A mock of three routes, and a client that does not retry.
local function articles(t)
  local mock = nightjar.mock {
    { name = "list", method = "GET", path = "/articles", query = { page = 1, debug = false },
      response = { json = { results = { 1, 2 } } } },
    { name = "one", path = "/v1/articles/{id}", response = function(request)
      t:equal(request.method, "GET")
      t:equal(request.path, "/v1/articles/7")
      t:equal(request.headers["accept-language"], "de")
      return { json = { id = request.params.id, query = request.query }, headers = { etag = '"7"' } }
    end },
    { name = "make", method = "POST", path = "/articles", json = { title = "Hi" },
      responses = { 503, { status = 201, body = "made" } } },
  }
  return mock, client(mock, { retry = { attempts = 1 } })
end

test("a route matches a path as given in the call", function(t)
  local mock, api = articles(t)
  local res = api:get("/articles", { query = { page = 1, more = "x" } })
  t:equal(res.status, 200)
  t:equal(#res.json.results, 2)
  t:equal(res.headers.content_type, "application/json")
  t:equal(mock:calls()[1].query.more, "x")
end)

test("a route matches a path as sent, and its function receives the request", function(t)
  local _, api = articles(t)
  local res = api:get("/articles/7", { query = { a = { "1", "2" } }, headers = { ["Accept-Language"] = "de" } })
  t:equal(res.json.id, "7")
  t:equal(res.headers.etag, '"7"')
end)

test("a route with several responses returns them in order", function(t)
  local mock, api = articles(t)
  fails("server", "POST returned 503 Service Unavailable", function() api:post("/articles", { json = { title = "Hi", n = 1 } }) end)
  t:equal(api:post("/articles", { json = { title = "Hi" } }).body, "made")
  t:equal(mock:calls("make")[1].json.n, 1)
end)

test("a mock counts its calls, and verifies that each route was used", function(t)
  local mock, api = articles(t)
  api:get("/articles", { query = { page = 1, more = "x" } })
  api:get("/articles/7", { headers = { ["Accept-Language"] = "de" } })
  for _ = 1, 2 do pcall(api.post, api, "/articles", { json = { title = "Hi" } }) end
  t:equal(mock:uses "list", 1)
  t:equal(mock:uses "make", 2)
  t:equal(mock:uses(), 4)
  t:equal(#mock:calls(), 4)
  mock:verify()
  misuse('the mock has no route "nothing"', mock.uses, mock, "nothing")
end)

test("a call without a route is not sent, and its error names the nearest route", function(t)
  local _, api = articles(t)
  fails("invalid_request",
    'no mock route matches GET http://api.test/v1/articles?page=2; the nearest is "list" (GET /articles), but the '
      .. 'query item "page" must be "1" but differs',
    function() api:get("/articles", { query = { page = 2 } }) end)
end)

test("verify fails if a call matched no route", function()
  local mock = nightjar.mock { { path = "/articles", response = 204 } }
  local api = client(mock)
  api:get "/articles"
  pcall(api.get, api, "/nothing")
  fails("invalid_request", "a call matched no route", mock.verify, mock)
end)

test("verify after reset names the routes that were not used", function(t)
  local mock, api = articles(t)
  api:get("/articles", { query = { page = 1 } })
  pcall(api.get, api, "/articles", { query = { page = 2 } })
  mock:reset()
  t:equal(mock:uses(), 0)
  fails("invalid_request",
    'the route "list" (GET /articles) was never used; the route "one" (/v1/articles/{id}) was never used; '
      .. 'the route "make" (POST /articles) was never used', mock.verify, mock)
end)

test("retries, redirects and the cache work with a mock", function(t)
  local mock = nightjar.mock {
    { path = "/flaky",
      responses = {
        { fault = "connection_lost" }, { status = 503, headers = { ["retry-after"] = 0 } }, { body = "ok" },
      } },
    { path = "/old", response = { status = 307, headers = { location = "/v1/new" } } },
    { path = "/new", response = { body = "new", headers = { ["cache-control"] = "max-age=60" } } },
  }
  local api = client(mock, { retry = { attempts = 3, base = 0.001 }, cache = true })
  local res = api:get "/flaky"
  t:equal(res.body, "ok")
  t:equal(res.attempts, 3)
  t:equal(api:get("/old").body, "new")
  t:equal(api:get("/new").source, "cache")
  t:equal(mock:uses "/new", 1)
end)

test("a client accepts a table of routes", function(t)
  local api = nightjar.client { base_url = "http://x.test", mock = { { path = "/", response = 204 } } }
  t:equal(api:get("/").status, 204)
end)

for _, row in ipairs {
  { "dns", "dns" }, { "connect", "connect" }, { "tls", "tls" }, { "offline", "offline" }, { "timeout", "timeout" },
  { "connect_timeout", "timeout" }, { "connection_lost", "connection_lost" }, { "malformed", "protocol" },
} do
  local fault, kind = row[1], row[2]
  test(("the fault %s ends the call with an error of the kind %s"):format(fault, kind), function(t)
    local api = client({
      { path = "/{kind}", response = function(request) return { fault = request.params.kind, body = "x" } end },
    }, { retry = { attempts = 1 } })
    t:raises({ kind = kind }, api.get, api, "/" .. fault)
  end)
end

test("the fault hang never responds, so that the timeout of the call expires", function(t)
  local api = client({
    { path = "/{kind}", response = function(request) return { fault = request.params.kind, body = "x" } end },
  }, { retry = { attempts = 1 } })
  t:raises({ kind = "timeout" }, api.get, api, "/hang", { timeout = 0.05 })
end)

test("a fault can truncate the body", function(t)
  local api = client({
    { path = "/cut", response = { body = ("x"):rep(100), fault = { kind = "connection_lost", after = 40 } } },
  }, { retry = { attempts = 1 } })
  t:raises({ kind = "connection_lost" }, api.get, api, "/cut")
end)

test("a body arrives in chunks of chunk_size", function(t)
  local api = client({
    { path = "/slow", response = { body = "abcdef", chunk_size = 2, rate = 1000, delay = 0.01 } },
  }, { retry = { attempts = 1 } })
  local parts = {}
  for part in api:get("/slow", { stream = true }):chunks() do parts[#parts + 1] = part end
  t:equal(table.concat(parts, "|"), "ab|cd|ef")
end)

test("a function can wait, and respond with bytes that are not text", function(t)
  local api = client {
    { path = "/wait", response = function()
      nightjar.sleep(0.01)
      return { body = "\0\255" }
    end },
  }
  t:equal(api:get("/wait").body, "\0\255")
end)

test("a function can return a status", function(t)
  local api = client { { path = "/status", response = function() return 404 end } }
  t:raises({ kind = "not_found" }, api.get, api, "/status")
end)

test("a function that raises an error or returns an invalid response fails its call", function(t)
  local api = client {
    { path = "/raise", response = function() error "no idea" end },
    { path = "/nothing", response = function() end },
    { path = "/wrong", response = function() return { sttus = 200 } end },
  }
  t:matches(t:raises({ kind = "script" }, api.get, api, "/raise").message, "no idea")
  fails("script", "a mock's function must return a response or a status, got nil", api.get, api, "/nothing")
  fails("invalid_argument", 'unknown option "response.sttus"; did you mean "status"?', api.get, api, "/wrong")
end)

local function numbered()
  return client { { path = "/n/{n}", response = function(request) return { body = request.params.n } end } }
end

test("each of many concurrent calls gets its own response", function(t)
  local api, numbers = numbered(), {}
  for n = 1, 200 do numbers[n] = n end
  local bodies = nightjar.map(numbers, function(n) return api:get("/n/" .. n).body end, { concurrency = 50 })
  for n, body in ipairs(bodies) do t:equal(body, tostring(n)) end
end)

test("a cancelled call gets no response", function(t)
  local api = numbered()
  local task = nightjar.spawn(function() return api:get "/n/1" end)
  task:cancel()
  t:raises({ kind = "cancelled" }, task.join, task)
end)

test("the complete body of an upload is compared", function(t)
  local api = client { { method = "POST", path = "/up", body = ("y"):rep(5), response = 204 } }
  t:equal(api:post("/up", { body = "yyyyy" }).status, 204)
end)

test("a client with the network profile offline fails with offline", function(t)
  local api = nightjar.client {
    base_url = "http://x.test", mock = { { response = { body = "x" } } }, network = "offline", retry = { attempts = 1 },
  }
  t:raises({ kind = "offline" }, api.get, api, "/")
end)

test("the same seed loses the same calls", function(t)
  local function course()
    local api <close> = nightjar.client {
      base_url = "http://x.test", mock = { { response = { body = "x" } } }, network = { loss = 0.5, seed = 3 },
      retry = { attempts = 1 },
    }
    local text = ""
    for _ = 1, 20 do text = text .. (pcall(api.get, api, "/") and "." or "x") end
    return text
  end
  local first = course()
  t:equal(course(), first)
  t:truthy(first:find "%." and first:find "x", first)
end)

-- The interpreter that runs this script, or nil in a host program.
local interpreter = arg and arg[-1]
local options = { skip = not interpreter and "no interpreter runs this script" }

test("a function that responds after its client was closed prints nothing", options, function(t)
  local result = nightjar.process.run { interpreter, "-e", [[
    local nightjar = require "nightjar"
    local api = nightjar.client { base_url = "http://api.test", retry = { attempts = 1 }, mock = {
      { response = function() nightjar.sleep(0.02) return 200 end },
    } }
    local call = nightjar.spawn(function() return api:get "/" end)
    nightjar.sleep(0.005)
    api:close()
    print(select(2, pcall(call.join, call)).kind)
    nightjar.sleep(0.05)
  ]] }
  t:equal(result.stdout, "cancelled\n")
  t:equal(result.stderr, "")
end)

test("invalid routes and options raise an error", function()
  fails("invalid_argument", 'option "mock.routes[1]" is a route without a response; set response or responses',
    nightjar.mock, { { path = "/" } })
  fails("invalid_argument", 'unknown option "mock.routes[1].pth"; did you mean "path"?',
    nightjar.mock, { { pth = "/", response = 200 } })
  fails("invalid_argument", 'unknown option "mock.passtrough"; did you mean "passthrough"?',
    nightjar.mock, { passtrough = true })
  misuse("client: mock must be a mock or a table of routes, got string", nightjar.client, { mock = "x" })
  misuse("bad argument #1 to 'nightjar.mock' (table expected, got no value)", nightjar.mock)
  fails("invalid_argument", 'option "network" is "4g", which is not a known network profile; did you mean "3g"?',
    nightjar.client, { network = "4g" })
end)

assert(testing.run().ok, "a case failed")
