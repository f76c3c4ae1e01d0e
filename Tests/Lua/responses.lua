-- The results of calls: response and error objects. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse
local same = check.equal -- identity; t:equal compares tables by content

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, retry = false }

-- A response over a new connection, and the client of the call.
local function first_response()
  local own = nightjar.client { base_url = origin, retry = false }
  return own:get("/v1/articles", { query = { per_page = 2 } }), own
end

test("a response has the status, the URL, the source and the number of attempts", function(t)
  local res = first_response()
  t:equal(res.status, 200)
  t:equal(res.ok, true)
  t:equal(res.url, origin .. "/v1/articles?per_page=2")
  t:equal(res.source, "network")
  t:equal(res.attempts, 1)
  t:equal(tostring(res), ("response: 200, %d bytes from %s"):format(#res.body, res.url))
end)

test("a response has the body as text and as JSON, which is decoded once", function(t)
  local res = first_response()
  t:equal(type(res.body), "string")
  t:equal(res.text, res.body)
  t:equal(#res.json.results, 2)
  same(res.json, res.json)
  same(res.headers, res.headers)
end)

test("a response has the timing of the call and the address of the peer", function(t)
  local res, own = first_response()
  t:truthy(res.timing.total > 0 and res.timing.first_byte > 0 and res.timing.sent >= 0)
  t:truthy(res.timing.connect > 0 and res.timing.dns == nil and res.timing.tls == nil)
  t:equal(res.peer, (origin:gsub("http://", "")))
  local again = own:get("/echo")
  t:equal(again.timing.reused, true)
  t:equal(again.timing.connect, nil)
  t:equal(again.peer, res.peer)
end)

test("an unknown field of a response raises an error", function()
  local res = first_response()
  misuse("a response has no field 'stauts'; did you mean 'status'?", function() return res.stauts end)
  misuse("a response has no field '1'", function() return res[1] end)
end)

test("curl returns a command without secrets, or with them on request", function(t)
  local post = api:post("/echo", {
    headers = { Authorization = "Bearer hunter2" }, json = { token = "hunter2", n = 1 },
  })
  t:truthy(post:curl():find("-H 'Authorization: Bearer ***'", 1, true), post:curl())
  t:truthy(not post:curl():find("hunter2"), post:curl())
  t:truthy(post:curl { show_secrets = true }:find([[{"n":1,"token":"hunter2"}]], 1, true))
  t:equal(post:curl { show_secrets = false }, post:curl())
  misuse("curl: unknown option 'secrets'", function() return post:curl { secrets = true } end)
  misuse("curl: show_secrets must be a boolean, got number", function() return post:curl { show_secrets = 1 } end)
end)

test("headers are read by any form of their names, and enumerated in lower case", function(t)
  local res = first_response()
  t:equal(res.headers["content-type"], "application/json")
  t:equal(res.headers["Content-Type"], "application/json")
  t:equal(res.headers.content_type, "application/json")
  t:equal(res.headers.nothing, nil)
  t:equal(res.headers[1], nil)
  local names = {}
  for name, value in pairs(res.headers) do
    t:equal(name, name:lower())
    t:equal(type(value), "string")
    names[#names + 1] = name
  end
  t:equal(#names, #res.headers)
end)

test("the JSON of a body that is not JSON raises an error", function(t)
  t:raises({ kind = "decoding" }, function() return api:get("/bytes/10").json end)
end)

test("a body can be long, and a response to HEAD has an empty body", function(t)
  t:equal(#api:get("/bytes/100000").body, 100000)
  t:equal(api:head("/bytes/10").body, "")
end)

local function missing() return select(2, nightjar.try(api.get, api, "/v1/articles/999")) end

test("an error has the kind, the phase, the messages and the status", function(t)
  local ok, err = pcall(api.get, api, "/v1/articles/999")
  t:equal(ok, false)
  t:equal(type(err), "userdata")
  t:equal(err.kind, "not_found")
  t:equal(err.phase, "receive")
  t:equal(err.message, [[GET returned 404 Not Found: "there is no article 999"]])
  t:equal(err.user_message, "This could not be found.")
  t:equal(err.status, 404)
  t:equal(err.retryable, false)
  t:equal(err.url, origin .. "/v1/articles/999")
  t:equal(err.attempts, 1)
  t:equal(err:curl(), api:get("/v1/articles/999", { expect = 404 }):curl())
  t:equal(err.may_have_been_processed, true)
  t:equal(err.code, nil)
  t:equal(err.retry_after, nil)
  t:equal(err.nothing, nil)
end)

test("an error has the details of the server's response", function(t)
  local err = missing()
  t:equal(err.details.detail, "there is no article 999")
  same(err.details, err.details)
  t:equal(#err.details.fields, 0)
  local _, invalid = nightjar.try(api.post, api, "/v1/articles", { json = { title = "" } })
  t:equal(invalid.details.fields[1].name, "/title")
  t:equal(invalid.details.fields[1].message, "must not be empty")
end)

test("an error has the response", function(t)
  local err = missing()
  t:equal(err.response.status, 404)
  same(err.response, err.response)
  t:equal(err.response.json.detail, "there is no article 999")
end)

test("an error is converted to text and can be concatenated", function(t)
  local err = missing()
  t:equal(tostring(err), [[GET returned 404 Not Found: "there is no article 999" (]] .. origin .. "/v1/articles/999)")
  t:equal("so: " .. err, "so: " .. tostring(err))
  t:equal(err .. "!", tostring(err) .. "!")
end)

test("the kind of an error follows from the status", function(t)
  for status, kind in pairs {
    [401] = "unauthorized", [403] = "forbidden", [429] = "rate_limited", [400] = "client", [503] = "server",
  } do
    local _, err = pcall(api.get, api, "/status/" .. status)
    t:equal(err.kind, kind)
    t:equal(err.status, status)
    t:equal(type(err.retryable), "boolean")
  end
end)

test("an error without a response has no status, no response and no details", function(t)
  local nobody = nightjar.client { base_url = "http://127.0.0.1:1", retry = false }
  local _, err = pcall(nobody.get, nobody, "/")
  t:equal(err.kind, "connect")
  t:equal(err.status, nil)
  t:equal(err.response, nil)
  t:equal(err.retryable, true)
  t:equal(select(2, nightjar.try(api.get, api, "http://127.0.0.1:1/")).details, nil)
end)

test("try returns nil and the error, or all results", function(t)
  local value, why = nightjar.try(api.get, api, "/status/404")
  t:equal(value, nil)
  t:equal(why.kind, "not_found")
  t:equal(nightjar.try(function(...) return select("#", ...) end, 1, nil, 3), 3)
  t:equal(select("#", nightjar.try(function() return nil, nil end)), 2)
  value, why = nightjar.try(error, "plain")
  t:equal(value, nil)
  t:equal(why, "plain")
  misuse("bad argument #1 to 'try' (function expected, got nil)", function() nightjar.try(nil) end)
end)

test("a response remains valid after its client is closed", function(t)
  local kept
  do
    local brief = nightjar.client { base_url = origin }
    kept = brief:get("/bytes/100")
  end
  collectgarbage()
  t:equal(#kept.body, 100)
end)

-- Calls a server that responds with an error.
local function failing(response)
  return nightjar.client { base_url = "http://errors.test", retry = false, headers = { ["X-Api-Key"] = "k3y-99999" },
    mock = nightjar.mock { { path = "/", response = response } } }
end
local function failure(response)
  local _, err = nightjar.try(function() return failing(response):get "/" end)
  return err
end

test("the error has the code and the message of an XML body", function(t)
  local xml = failure { status = 404, headers = { ["Content-Type"] = "application/xml" }, body = "<?xml version='1.0'?>"
    .. "<Error><Code>NoSuchKey</Code><Message>The key &lt;a&gt; does not exist.</Message></Error>" }
  t:equal(xml.details.code, "NoSuchKey")
  t:equal(xml.details.message, "The key <a> does not exist.")
  t:equal(xml.message, 'GET returned 404 Not Found: "The key <a> does not exist. (NoSuchKey)"')
end)

test("the error has the message of a plain text body", function(t)
  local plain = failure { status = 400, headers = { ["Content-Type"] = "text/plain" }, body = "bad range\n" }
  t:equal(plain.message, 'GET returned 400 Bad Request: "bad range"')
end)

test("the error has the required authentication, and does not repeat credentials", function(t)
  local denied = failure {
    status = 401, headers = { ["WWW-Authenticate"] = 'Bearer realm="api", error="invalid_token"' },
    json = { errcode = "M_UNKNOWN_TOKEN", error = "unknown k3y-99999" },
  }
  t:equal(denied.message,
    'GET returned 401 Unauthorized: "unknown *** (M_UNKNOWN_TOKEN)"; the server requires Bearer (realm "api")')
  t:equal(denied.details.code, "M_UNKNOWN_TOKEN")
end)

assert(testing.run().ok, "a case failed")
