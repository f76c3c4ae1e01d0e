-- The results of calls: response and error objects. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse = check.equal, check.misuse

local origin = DEMO or os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, retry = false }

-- Responses.
local res = api:get("/v1/articles", { query = { per_page = 2 } })
equal(res.status, 200)
equal(res.ok, true)
equal(res.url, origin .. "/v1/articles?per_page=2")
equal(res.source, "network")
equal(res.attempts, 1)
equal(type(res.body), "string")
equal(res.text, res.body)
equal(#res.json.results, 2)
equal(res.json, res.json) -- decoded once
equal(res.headers, res.headers)
assert(res.timing.total > 0 and res.timing.first_byte > 0 and res.timing.sent >= 0)
assert(res.timing.connect > 0 and res.timing.dns == nil and res.timing.tls == nil)
equal(res.peer, (origin:gsub("http://", "")))
local again = api:get("/echo")
equal(again.timing.reused, true)
equal(again.timing.connect, nil)
equal(again.peer, res.peer)
equal(tostring(res), ("response: 200, %d bytes from %s"):format(#res.body, res.url))
misuse("a response has no field 'stauts'; did you mean 'status'?", function() return res.stauts end)
misuse("a response has no field '1'", function() return res[1] end)

-- The curl command.
local post = api:post("/echo", { headers = { Authorization = "Bearer hunter2" }, json = { token = "hunter2", n = 1 } })
assert(post:curl():find("-H 'Authorization: Bearer ***'", 1, true), post:curl())
assert(not post:curl():find("hunter2"), post:curl())
assert(post:curl { show_secrets = true }:find([[{"n":1,"token":"hunter2"}]], 1, true))
equal(post:curl { show_secrets = false }, post:curl())
misuse("curl: unknown option 'secrets'", function() return post:curl { secrets = true } end)
misuse("curl: show_secrets must be a boolean, got number", function() return post:curl { show_secrets = 1 } end)

-- Headers.
equal(res.headers["content-type"], "application/json")
equal(res.headers["Content-Type"], "application/json")
equal(res.headers.content_type, "application/json")
equal(res.headers.nothing, nil)
equal(res.headers[1], nil)
local names = {}
for name, value in pairs(res.headers) do
  equal(name, name:lower())
  equal(type(value), "string")
  names[#names + 1] = name
end
equal(#names, #res.headers)

-- Bodies that are not JSON.
local ok, err = pcall(function() return api:get("/bytes/10").json end)
equal(ok, false)
equal(err.kind, "decoding")
equal(#api:get("/bytes/100000").body, 100000)
equal(api:head("/bytes/10").body, "")

-- Errors.
ok, err = pcall(api.get, api, "/v1/articles/999")
equal(ok, false)
equal(type(err), "userdata")
equal(err.kind, "not_found")
equal(err.phase, "receive")
equal(err.message, [[GET returned 404 Not Found: "there is no article 999"]])
equal(err.user_message, "This could not be found.")
equal(err.status, 404)
equal(err.retryable, false)
equal(err.url, origin .. "/v1/articles/999")
equal(err.attempts, 1)
equal(err:curl(), api:get("/v1/articles/999", { expect = 404 }):curl())
equal(err.may_have_been_processed, true)
equal(err.code, nil)
equal(err.retry_after, nil)
equal(err.details.detail, "there is no article 999")
equal(err.details, err.details)
equal(#err.details.fields, 0)
local _, invalid = nightjar.try(api.post, api, "/v1/articles", { json = { title = "" } })
equal(invalid.details.fields[1].name, "/title")
equal(invalid.details.fields[1].message, "must not be empty")
equal(select(2, nightjar.try(api.get, api, "http://127.0.0.1:1/")).details, nil)
equal(err.response.status, 404)
equal(err.response, err.response)
equal(err.response.json.detail, "there is no article 999")
equal(err.nothing, nil)
equal(tostring(err), [[GET returned 404 Not Found: "there is no article 999" (]] .. origin .. "/v1/articles/999)")
equal("so: " .. err, "so: " .. tostring(err))
equal(err .. "!", tostring(err) .. "!")
for status, kind in pairs { [401] = "unauthorized", [403] = "forbidden", [429] = "rate_limited", [400] = "client", [503] = "server" } do
  ok, err = pcall(api.get, api, "/status/" .. status)
  equal(err.kind, kind)
  equal(err.status, status)
end
equal(err.retryable ~= nil, true)

-- No response.
local nobody = nightjar.client { base_url = "http://127.0.0.1:1", retry = false }
ok, err = pcall(nobody.get, nobody, "/")
equal(err.kind, "connect")
equal(err.status, nil)
equal(err.response, nil)
equal(err.retryable, true)

-- Without pcall.
local value, why = nightjar.try(api.get, api, "/status/404")
equal(value, nil)
equal(why.kind, "not_found")
equal(nightjar.try(function(...) return select("#", ...) end, 1, nil, 3), 3)
equal(select("#", nightjar.try(function() return nil, nil end)), 2)
value, why = nightjar.try(error, "plain")
equal(why, "plain")
misuse("bad argument #1 to 'try' (function expected, got nil)", function() nightjar.try(nil) end)

-- Responses remain valid after their client is closed, and are collected.
local kept
do
  local brief = nightjar.client { base_url = origin }
  kept = brief:get("/bytes/100")
end
collectgarbage()
equal(#kept.body, 100)

-- The server's message for any media type, the requested wait, and no repeated credentials.
local function failing(answer)
  return nightjar.client { base_url = "http://errors.test", retry = false, headers = { ["X-Api-Key"] = "k3y-99999" },
    mock = nightjar.mock { { path = "/", response = answer } } }
end
local function failure(answer)
  local _, err = nightjar.try(function() return failing(answer):get "/" end)
  return err
end
local xml = failure { status = 404, headers = { ["Content-Type"] = "application/xml" },
  body = "<?xml version='1.0'?><Error><Code>NoSuchKey</Code><Message>The key &lt;a&gt; does not exist.</Message></Error>" }
check.equal(xml.details.code, "NoSuchKey")
check.equal(xml.details.message, "The key <a> does not exist.")
check.equal(xml.message, 'GET returned 404: "The key <a> does not exist. (NoSuchKey)"')
check.equal(failure({ status = 400, headers = { ["Content-Type"] = "text/plain" }, body = "bad range\n" }).message,
  'GET returned 400: "bad range"')
local denied = failure { status = 401, headers = { ["WWW-Authenticate"] = 'Bearer realm="api", error="invalid_token"' },
  json = { errcode = "M_UNKNOWN_TOKEN", error = "unknown k3y-99999" } }
check.equal(denied.message, 'GET returned 401: "unknown *** (M_UNKNOWN_TOKEN)"; the server requires Bearer (realm "api")')
check.equal(denied.details.code, "M_UNKNOWN_TOKEN")
