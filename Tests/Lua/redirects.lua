-- Redirects: which are followed, with what, and what a call can say about it.
local nightjar = require "nightjar"
local check = require "check"
local url = os.getenv "NIGHTJAR_DEMO_URL"
local api <close> = nightjar.client { base_url = url, cookies = true, headers = { Authorization = "Bearer s3cret" } }

-- The history is on the answer.
local res = api:get "/redirect/3"
check.equal(res.status, 200)
check.equal(#res.redirects, 3)
check.equal(res.redirects[1].url, url .. "/redirect/3")
check.equal(res.redirects[1].status, 302)
check.equal(res.attempts, 4)
assert(res.url:find "/echo")
check.equal(#api:get("/echo").redirects, 0)

-- What becomes of method and body.
local function sent(status, method, options)
  options = options or {}
  options.method, options.path = method, "/redirect-to"
  options.query = { url = "/echo", status = status }
  local echo = api:request(options).json
  return echo.method .. " " .. (echo.body or "")
end
check.equal(sent(302, "POST", { body = "x" }), "GET ")
check.equal(sent(303, "PUT", { body = "x" }), "GET ")
check.equal(sent(307, "POST", { body = "x" }), "POST x")
check.equal(sent(308, "PUT", { json = { a = 1 } }), 'PUT {"a":1}')

-- A streamed body is sent once.
local parts = { "a" }
local err = select(2, nightjar.try(api.post, api, "/redirect-to",
  { query = { url = "/echo", status = 307 }, body = function() return table.remove(parts) end }))
check.equal(err.kind, "invalid_request")
assert(err.message:find "a streamed body can be sent only once", err.message)

-- Not followed, or not so far.
check.equal(api:get("/redirect/1", { redirect = false, expect = 302 }).status, 302)
err = select(2, nightjar.try(api.get, api, "/redirect/3", { redirect = 2 }))
check.equal(err.kind, "protocol")
assert(err.message:find "it is redirect number 3, but the limit is 2", err.message)
err = select(2, nightjar.try(api.get, api, "/redirect-loop"))
assert(err.message:find "a loop", err.message)
err = select(2, nightjar.try(api.get, api, "/redirect-to", { query = { url = "file:///etc/passwd" } }))
assert(err.message:find 'the scheme "file" of its Location is not http or https', err.message)

-- Credentials stay with their origin: localhost is another one than 127.0.0.1.
local elsewhere = url:gsub("127%.0%.0%.1", "localhost") .. "/echo"
local headers = api:get("/redirect-to", { query = { url = elsewhere }, headers = { ["X-Api-Key"] = "k" } }).json.headers
for _, header in ipairs(headers) do
  local name = (header.name or header[1]):lower()
  assert(name ~= "authorization" and name ~= "x-api-key", name)
end

-- So does every field that nobody knows to be safe, unless the program names it (issue 19, item 13).
do
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
  check.equal(found["accept-language"], "de")
  for _, name in ipairs { "x-jwt", "api_key", "x-nobody", "x-client" } do check.equal(found[name], nil) end
  found = arrived { base_url = url, forward_headers = { "X-Client" } }
  check.equal(found["x-client"], "c")
  check.equal(found["x-nobody"], nil)
end

-- Cookies that are set on the way are sent on the way.
res = api:get("/cookies/set", { query = { name = "a", value = "1", ["then"] = "/cookies" } })
assert(res.body:find '"a"', res.body)
assert(not api:get("/cookies", { cookies = false }).body:find '"a"')

check.fails("invalid_argument", 'option "redirect" must be true, false, a number or a table, found a string',
  api.get, api, "/", { redirect = "yes" })

-- A path is a template when it is given parameters.
check.equal(api:get("/v1/articles/{id}", { params = { id = 1 } }).json.id, 1)
check.fails("invalid_request", 'the URL template has no variable "idd"; did you mean "id"?',
  api.get, api, "/v1/articles/{id}", { params = { id = 1, idd = 2 } })
