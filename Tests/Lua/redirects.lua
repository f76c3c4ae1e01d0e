-- Redirects: which are followed, with which request, and the options of a call. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, fails = testing.test, check.fails

local url = os.getenv "NIGHTJAR_DEMO_URL"
local api <close> = nightjar.client { base_url = url, cookies = true, headers = { Authorization = "Bearer s3cret" } }

-- localhost and 127.0.0.1 are different origins.
local elsewhere = url:gsub("127%.0%.0%.1", "localhost") .. "/echo"

test("the response contains the history", function(t)
  local res = api:get "/redirect/3"
  t:equal(res.status, 200)
  t:equal(#res.redirects, 3)
  t:equal(res.redirects[1].url, url .. "/redirect/3")
  t:equal(res.redirects[1].status, 302)
  t:equal(res.attempts, 4)
  t:matches(res.url, "/echo")
  t:equal(#api:get("/echo").redirects, 0)
end)

test("the method and the body after a redirect depend on its status", function(t)
  local function sent(status, method, options)
    options = options or {}
    options.method, options.path = method, "/redirect-to"
    options.query = { url = "/echo", status = status }
    local echo = api:request(options).json
    return echo.method .. " " .. (echo.body or "")
  end
  t:equal(sent(302, "POST", { body = "x" }), "GET ")
  t:equal(sent(303, "PUT", { body = "x" }), "GET ")
  t:equal(sent(307, "POST", { body = "x" }), "POST x")
  t:equal(sent(308, "PUT", { json = { a = 1 } }), 'PUT {"a":1}')
end)

test("a streamed body is sent once", function(t)
  local parts = { "a" }
  local err = select(2, nightjar.try(api.post, api, "/redirect-to",
    { query = { url = "/echo", status = 307 }, body = function() return table.remove(parts) end }))
  t:equal(err.kind, "invalid_request")
  t:matches(err.message, "a streamed body can be sent only once")
end)

test("redirects can be disabled for a call", function(t)
  t:equal(api:get("/redirect/1", { redirect = false, expect = 302 }).status, 302)
end)

test("more redirects than the limit, a loop and another scheme raise an error", function(t)
  local err = select(2, nightjar.try(api.get, api, "/redirect/3", { redirect = 2 }))
  t:equal(err.kind, "protocol")
  t:matches(err.message, "it is redirect number 3, but the limit is 2")
  err = select(2, nightjar.try(api.get, api, "/redirect-loop"))
  t:matches(err.message, "a loop")
  err = select(2, nightjar.try(api.get, api, "/redirect-to", { query = { url = "file:///etc/passwd" } }))
  t:matches(err.message, 'the scheme "file" of its Location is not http or https')
end)

test("credentials are not sent to other origins", function(t)
  local options = { query = { url = elsewhere }, headers = { ["X-Api-Key"] = "k" } }
  for _, header in ipairs(api:get("/redirect-to", options).json.headers) do
    local name = (header.name or header[1]):lower()
    t:truthy(name ~= "authorization" and name ~= "x-api-key", name)
  end
end)

test("fields that are not known to be safe are not sent to other origins, unless the program names them", function(t)
  local sent = { ["X-JWT"] = "j", Api_Key = "k", ["X-Nobody"] = "n", ["X-Client"] = "c", ["Accept-Language"] = "de" }
  local function arrived(options)
    local found = {}
    local client <close> = nightjar.client(options)
    for _, header in ipairs(client:get("/redirect-to", { query = { url = elsewhere }, headers = sent }).json.headers) do
      found[(header.name or header[1]):lower()] = header.value or header[2]
    end
    return found
  end
  local found = arrived { base_url = url }
  t:equal(found["accept-language"], "de")
  for _, name in ipairs { "x-jwt", "api_key", "x-nobody", "x-client" } do t:equal(found[name], nil) end
  found = arrived { base_url = url, forward_headers = { "X-Client" } }
  t:equal(found["x-client"], "c")
  t:equal(found["x-nobody"], nil)
end)

test("cookies of a redirect are sent with the next request", function(t)
  local res = api:get("/cookies/set", { query = { name = "a", value = "1", ["then"] = "/cookies" } })
  t:matches(res.body, '"a"')
  t:truthy(not api:get("/cookies", { cookies = false }).body:find '"a"')
end)

test("an invalid option raises an error", function()
  fails("invalid_argument", 'option "redirect" must be true, false, a number or a table, found a string',
    api.get, api, "/", { redirect = "yes" })
end)

test("a path is a template if there are params", function(t)
  t:equal(api:get("/v1/articles/{id}", { params = { id = 1 } }).json.id, 1)
  fails("invalid_request", 'the URL template has no variable "idd"; did you mean "id"?',
    api.get, api, "/v1/articles/{id}", { params = { id = 1, idd = 2 } })
end)

assert(testing.run().ok, "a case failed")
