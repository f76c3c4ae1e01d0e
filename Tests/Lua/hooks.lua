-- Functions that see calls: before, after, on_redirect. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

local origin = DEMO or os.getenv "NIGHTJAR_DEMO_URL"

-- Before and after.
local seen = {}
local api = nightjar.client {
  base_url = origin,
  before = function(request)
    nightjar.sleep(0.001)
    seen[#seen + 1] = request.method .. " " .. request.path
    request.headers["X-Signature"] = "signed"
    if request.path == "/never" then error "refused" end
  end,
  after = function(result, request)
    seen[#seen + 1] = (result.status or result.kind) .. " " .. request.path
    nightjar.sleep(0.001)
  end,
}
local options = { headers = { A = "b" }, json = { 1 } }
local echo = api:post("/echo", options).json
equal(echo.method, "POST")
local function header(name)
  for _, field in ipairs(echo.headers) do
    if (field.name or field[1]):lower() == name:lower() then return field.value or field[2] end
  end
  return echo.headers[name] or echo.headers[name:lower()]
end
equal(header "X-Signature", "signed")
equal(header "A", "b")
equal(options.headers["X-Signature"], nil) -- the caller's table is the caller's
equal(api:get("/echo").status, 200)
equal(api:request { path = "/echo" }.status, 200)
local err = fails("not_found", [[GET answered 404 Not Found: "there is no article 0"]], api.get, api, "/v1/articles/0")
equal(err.status, 404)
equal(table.concat(seen, "\n"), [[
POST /echo
200 /echo
GET /echo
200 /echo
GET /echo
200 /echo
GET /v1/articles/0
404 /v1/articles/0]])
seen = {}
misuse("refused", api.get, api, "/never")
equal(#seen, 1)
misuse("request: there is no option 'quary'; did you mean 'query'?", api.get, api, "/echo", { quary = {} })
misuse("get: path is not for its options", api.get, api, "/echo", { path = "/x" })
misuse("client: before must be a function, got string", nightjar.client, { before = "x" })

-- They run in the coroutine of the call, so others go on meanwhile and a cancel reaches them.
seen = {}
local task = nightjar.spawn(function() api:get "/delay/5" end)
nightjar.sleep(0.05)
task:cancel()
nightjar.try(task.join, task)
equal(#seen, 1)
equal(#nightjar.map({ 1, 2, 3 }, function() return api:get("/echo").status end), 3)
equal(#seen, 7)

-- Redirects.
local plain = nightjar.client { base_url = origin }
local hops = {}
local res = plain:get("/redirect/2", { on_redirect = function(hop)
  nightjar.sleep(0.001)
  hops[#hops + 1] = ("%d %s %s -> %s"):format(hop.status, hop.method, hop.from:sub(#origin + 1), hop.url:sub(#origin + 1))
  return true
end })
equal(res.status, 200)
equal(table.concat(hops, "\n"), "302 GET /redirect/2 -> /redirect/1\n302 GET /redirect/1 -> /echo")
equal(#res.redirects, 2)

res = plain:get("/redirect/2", { expect = { 302 }, on_redirect = function() return false end })
equal(res.status, 302)
equal(#res.redirects, 0)
equal(res.url, origin .. "/redirect/2")
res = plain:get("/redirect/2", { on_redirect = function() return "/v1/articles/1" end })
equal(res.json.id, 1)
equal(res.url, origin .. "/v1/articles/1")
fails("client", "GET answered 302 Found", plain.get, plain, "/redirect/1", { on_redirect = function() return false end })
local _, protocol = nightjar.try(plain.get, plain, "/redirect/1", { on_redirect = function() return "ftp://x/" end })
equal(protocol.kind, "protocol")
misuse("not there", plain.get, plain, "/redirect/1", { on_redirect = function() error "not there" end })
misuse("on_redirect must return true, false or a URL, got table", plain.get, plain, "/redirect/1",
  { on_redirect = function() return {} end })
misuse("get: on_redirect must be a function, got number", plain.get, plain, "/", { on_redirect = 1 })

-- The total timeout goes on while the function waits.
local _, late = nightjar.try(plain.get, plain, "/redirect/1",
  { timeout = 0.05, on_redirect = function() nightjar.sleep(0.2) return true end })
equal(late.kind, "timeout")

-- A body from a function, and an answer in parts, with a redirect that is asked about.
local parts = { "a", "b" }
res = plain:post("/redirect/1", { body = function() return table.remove(parts, 1) end, on_redirect = function() end })
equal(res.json.method, "GET")
local text = {}
for chunk in plain:get("/redirect/1", { stream = true, on_redirect = function() end }):chunks() do text[#text + 1] = chunk end
assert(#table.concat(text) > 0)
text = {}
res = plain:get("/redirect/1", { stream = true, expect = 302, on_redirect = function() return false end })
for chunk in res:chunks() do text[#text + 1] = chunk end
equal(res.status, 302)
equal(#table.concat(text), tonumber(res.headers.content_length))
