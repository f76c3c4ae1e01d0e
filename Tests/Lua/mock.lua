-- nightjar.mock: routes, sequences, faults, functions, and received requests. Needs no server.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

local function client(mock, options)
  options = options or {}
  options.base_url, options.mock = "http://api.test/v1", mock
  return nightjar.client(options)
end

-- A route for a path as given in the call, or as sent.
local mock = nightjar.mock {
  { name = "list", method = "GET", path = "/articles", query = { page = 1, debug = false }, response = { json = { results = { 1, 2 } } } },
  { name = "one", path = "/v1/articles/{id}", response = function(request)
    equal(request.method, "GET")
    equal(request.path, "/v1/articles/7")
    equal(request.headers["accept-language"], "de")
    return { json = { id = request.params.id, query = request.query }, headers = { etag = '"7"' } }
  end },
  { name = "make", method = "POST", path = "/articles", json = { title = "Hi" }, responses = { 503, { status = 201, body = "made" } } },
}
local api = client(mock, { retry = { attempts = 1 } })
local res = api:get("/articles", { query = { page = 1, more = "x" } })
equal(res.status, 200)
equal(#res.json.results, 2)
equal(res.headers.content_type, "application/json")
res = api:get("/articles/7", { query = { a = { "1", "2" } }, headers = { ["Accept-Language"] = "de" } })
equal(res.json.id, "7")
equal(res.headers.etag, '"7"')
fails("server", "POST returned 503", function() api:post("/articles", { json = { title = "Hi", n = 1 } }) end)
equal(api:post("/articles", { json = { title = "Hi" } }).body, "made")
equal(mock:uses "list", 1)
equal(mock:uses "make", 2)
equal(mock:uses(), 4)
equal(#mock:calls(), 4)
equal(mock:calls("make")[1].json.n, 1)
equal(mock:calls()[1].query.more, "x")
mock:verify()
misuse('the mock has no route "nothing"', mock.uses, mock, "nothing")

-- A call without a route is not sent, and its error names the nearest route.
fails("invalid_request",
  'no mock route matches GET http://api.test/v1/articles?page=2; the nearest is "list" (GET /articles), but the '
    .. 'query item "page" must be "1" but differs',
  function() api:get("/articles", { query = { page = 2 } }) end)
fails("invalid_request", "a call matched no route", mock.verify, mock)
mock:reset()
equal(mock:uses(), 0)
fails("invalid_request",
  'the route "list" (GET /articles) was never used; the route "one" (/v1/articles/{id}) was never used; '
    .. 'the route "make" (POST /articles) was never used', mock.verify, mock)

-- Retries, redirects, the cache and authentication work with a mock.
mock = nightjar.mock {
  { path = "/flaky", responses = { { fault = "connection_lost" }, { status = 503, headers = { ["retry-after"] = 0 } }, { body = "ok" } } },
  { path = "/old", response = { status = 307, headers = { location = "/v1/new" } } },
  { path = "/new", response = { body = "new", headers = { ["cache-control"] = "max-age=60" } } },
}
api = client(mock, { retry = { attempts = 3, base = 0.001 }, cache = true })
res = api:get "/flaky"
equal(res.body, "ok")
equal(res.attempts, 3)
equal(api:get("/old").body, "new")
equal(api:get("/new").source, "cache")
equal(mock:uses "/new", 1)

-- A table of routes is accepted as well.
api = nightjar.client { base_url = "http://x.test", mock = { { path = "/", response = 204 } } }
equal(api:get("/").status, 204)

-- Faults.
local faults = nightjar.mock {
  { path = "/{kind}", response = function(request)
    return { fault = request.params.kind, body = "x" }
  end },
}
api = client(faults, { retry = { attempts = 1 } })
for fault, kind in pairs {
  dns = "dns", connect = "connect", tls = "tls", offline = "offline", timeout = "timeout", connect_timeout = "timeout",
  connection_lost = "connection_lost", malformed = "protocol",
} do
  local ok, err = pcall(api.get, api, "/" .. fault)
  equal(ok, false)
  equal(err.kind, kind)
end
local ok, err = pcall(api.get, api, "/hang", { timeout = 0.05 })
equal(err.kind, "timeout")

-- A body that is truncated, and one that arrives in pieces.
api = client({
  { path = "/cut", response = { body = ("x"):rep(100), fault = { kind = "connection_lost", after = 40 } } },
  { path = "/slow", response = { body = "abcdef", chunk_size = 2, rate = 1000, delay = 0.01 } },
}, { retry = { attempts = 1 } })
ok, err = pcall(api.get, api, "/cut")
equal(err.kind, "connection_lost")
local parts = {}
for part in api:get("/slow", { stream = true }):chunks() do parts[#parts + 1] = part end
equal(table.concat(parts, "|"), "ab|cd|ef")

-- A function can wait, can respond with bytes that are not text, and fails its call if it raises an error.
api = client {
  { path = "/wait", response = function()
    nightjar.sleep(0.01)
    return { body = "\0\255" }
  end },
  { path = "/raise", response = function() error "no idea" end },
  { path = "/nothing", response = function() end },
  { path = "/wrong", response = function() return { sttus = 200 } end },
  { path = "/status", response = function() return 404 end },
}
equal(api:get("/wait").body, "\0\255")
ok, err = pcall(api.get, api, "/raise")
equal(err.kind, "script")
equal(err.message:match "no idea", "no idea")
fails("script", "a mock's function must return a response or a status, got nil", api.get, api, "/nothing")
fails("invalid_argument", 'unknown option "response.sttus"; did you mean "status"?', api.get, api, "/wrong")
equal(select(2, pcall(api.get, api, "/status")).kind, "not_found")

-- Many calls at once, each with its own response.
api = client { { path = "/n/{n}", response = function(request) return { body = request.params.n } end } }
local numbers = {}
for n = 1, 200 do numbers[n] = n end
for n, body in ipairs(nightjar.map(numbers, function(n) return api:get("/n/" .. n).body end, { concurrency = 50 })) do
  equal(body, tostring(n))
end

-- A cancelled call gets no response.
local task = nightjar.spawn(function() return api:get "/n/1" end)
task:cancel()
equal(select(2, pcall(task.join, task)).kind, "cancelled")

-- The complete body of an upload is compared.
api = client { { method = "POST", path = "/up", body = ("y"):rep(5), response = 204 } }
equal(api:post("/up", { body = "yyyyy" }).status, 204)

-- Simulated networks.
api = nightjar.client { base_url = "http://x.test", mock = { { response = { body = "x" } } }, network = "offline", retry = { attempts = 1 } }
equal(select(2, pcall(api.get, api, "/")).kind, "offline")
local function course()
  local api <close> = nightjar.client {
    base_url = "http://x.test", mock = { { response = { body = "x" } } }, network = { loss = 0.5, seed = 3 }, retry = { attempts = 1 },
  }
  local text = ""
  for _ = 1, 20 do text = text .. (pcall(api.get, api, "/") and "." or "x") end
  return text
end
local first = course()
equal(course(), first)
equal(first:find "%." ~= nil and first:find "x" ~= nil, true)

-- A function that responds after its client was closed prints nothing.
local interpreter = arg and arg[-1]
if interpreter then
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
  equal(result.stdout, "cancelled\n")
  equal(result.stderr, "")
end

-- Misuse.
fails("invalid_argument", 'option "mock.routes[1]" is a route without a response; set response or responses', nightjar.mock, { { path = "/" } })
fails("invalid_argument", 'unknown option "mock.routes[1].pth"; did you mean "path"?', nightjar.mock, { { pth = "/", response = 200 } })
fails("invalid_argument", 'unknown option "mock.passtrough"; did you mean "passthrough"?', nightjar.mock, { passtrough = true })
misuse("client: mock must be a mock or a table of routes, got string", nightjar.client, { mock = "x" })
misuse("bad argument #1 to 'nightjar.mock' (table expected, got no value)", nightjar.mock)
fails("invalid_argument", 'option "network" is "4g", which is not a known network profile; did you mean "3g"?', nightjar.client, { network = "4g" })
