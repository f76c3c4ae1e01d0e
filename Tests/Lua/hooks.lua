-- Hooks: before, after, on_redirect. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local same = check.equal -- identity; t:equal compares tables by content

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local plain = nightjar.client { base_url = origin }

-- The calls of the hooks in the current case.
local seen = {}
testing.before(function() seen = {} end)

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

test("before and after are called for each call, and changes by before are sent", function(t)
  local options = { headers = { A = "b" }, json = { 1 } }
  local echo = api:post("/echo", options).json
  t:equal(echo.method, "POST")
  local function header(name)
    for _, field in ipairs(echo.headers) do
      if (field.name or field[1]):lower() == name:lower() then return field.value or field[2] end
    end
    return echo.headers[name] or echo.headers[name:lower()]
  end
  t:equal(header "X-Signature", "signed")
  t:equal(header "A", "b")
  t:equal(options.headers["X-Signature"], nil) -- the table of the caller is unchanged
  t:equal(api:get("/echo").status, 200)
  t:equal(api:request { path = "/echo" }.status, 200)
  local err = fails("not_found", [[GET returned 404 Not Found: "there is no article 0"]],
    api.get, api, "/v1/articles/0")
  t:equal(err.status, 404)
  t:equal(table.concat(seen, "\n"), [[
POST /echo
200 /echo
GET /echo
200 /echo
GET /echo
200 /echo
GET /v1/articles/0
404 /v1/articles/0]])
end)

test("an error of before ends the call, and after is not called", function(t)
  misuse("refused", api.get, api, "/never")
  t:equal(#seen, 1)
end)

test("invalid options of a call with hooks raise an error", function()
  misuse("request: unknown option 'quary'; did you mean 'query'?", api.get, api, "/echo", { quary = {} })
  misuse("get: path is not allowed in the options", api.get, api, "/echo", { path = "/x" })
  misuse("client: before must be a function, got string", nightjar.client, { before = "x" })
end)

test("on_request reads the whole request and sets headers", function(t)
  local requests = {}
  local signed = nightjar.client { base_url = origin, on_request = function(request)
    nightjar.sleep(0.001)
    requests[#requests + 1] = request
    return { ["X-Signature"] = request.method .. " " .. #request.body, ["X-Time"] = 7, ["User-Agent"] = false }
  end }
  local res = signed:post("/echo", { query = { b = "2 3", a = "1" }, json = { 1 }, headers = { ["X-Own"] = { "a", "b" } } })
  local sent = {}
  for _, field in ipairs(res.json.headers) do sent[field[1]:lower()] = field[2] end
  t:equal(sent["x-signature"], "POST 3")
  t:equal(sent["x-time"], "7")
  t:equal(sent["user-agent"], nil)
  local request = requests[1]
  t:equal(request.url, origin .. res.json.target)
  t:equal(request.path, "/echo")
  t:equal(request.body, "[1]")
  t:equal(request.headers["content-type"], "application/json")
  t:equal(request.headers.host, (origin:gsub("^http://", "")))
  t:equal(request.headers["x-own"], { "a", "b" })
  t:equal(res.call_id, request.call_id)
  local err = select(2, nightjar.try(signed.get, signed, "/status/404"))
  t:equal(err.call_id, requests[2].call_id)
  t:equal(requests[2].body, "")
  t:equal(err.call_id > res.call_id, true)
end)

test("on_request is called for streams, pages and transfers, and not for a body that is read while it is sent", function(t)
  local requests = {}
  local counted = nightjar.client { base_url = origin, on_request = function(request)
    requests[#requests + 1] = request.method .. " " .. request.path .. " " .. tostring(request.body)
    return {}
  end }
  for _ in counted:lines "/lines/1" do end
  counted:paginate("/v1/articles", { query = { limit = 2 } }):take(3)
  counted:post("/echo", { body = function() end })
  while #requests < 4 do nightjar.sleep(0.001) end
  table.sort(requests)  -- the list requests its next page while its current one is used
  t:equal(requests, { "GET /lines/1 ", "GET /v1/articles ", "GET /v1/articles ", "POST /echo nil" })
end)

test("on_request rejects a request, and its errors fail the call", function()
  local answer
  local strict = nightjar.client { base_url = origin, on_request = function() return answer() end }
  answer = function() return false, "not signed" end
  fails("cancelled", "the function on_request rejected the request: not signed", strict.get, strict, "/echo")
  answer = function() return false end
  fails("cancelled", "the function on_request rejected the request", strict.get, strict, "/echo")
  answer = function() error("no key", 0) end
  fails("script", "no key", strict.get, strict, "/echo")
  answer = function() return 7 end
  fails("script", "on_request must return nil, false or a table, got 7", strict.get, strict, "/echo")
  answer = function() return { A = {} } end
  fails("invalid_argument", 'on_request: the header "A" must be a string, an integer, or false to remove it',
    strict.get, strict, "/echo")
  answer = function() return { ["Content-Length"] = "1" } end
  fails("invalid_request", 'header "Content-Length" cannot be set: it is derived from the body',
    strict.get, strict, "/echo")
  misuse("client: on_request must be a function, got boolean", nightjar.client, { on_request = true })
end)

test("trailers can be read and listed", function(t)
  local res = plain:get "/trailers?bytes=10"
  local listed = {}
  for name, value in pairs(res.trailers) do listed[#listed + 1] = name .. "=" .. value end
  t:equal(#res.trailers, 2)
  t:equal(res.trailers.x_length, "10")
  t:equal(listed, { "x-length=10", "x-crc32=" .. res.trailers["X-CRC32"] })
  local err = select(2, nightjar.try(plain.get, plain, "/trailers?bytes=10", { expect = { 201 } }))
  t:equal(err.response.trailers["x-length"], "10")
  local streamed = plain:get("/trailers?bytes=10", { stream = true })
  for _ in streamed:chunks() do end
  t:equal(streamed.trailers.x_length, "10")
end)

test("hooks run in the task of the call: other tasks run meanwhile, and the call can be cancelled", function(t)
  local task = nightjar.spawn(function() api:get "/delay/5" end)
  nightjar.sleep(0.05)
  task:cancel()
  nightjar.try(task.join, task)
  t:equal(#seen, 1)
  t:equal(#nightjar.map({ 1, 2, 3 }, function() return api:get("/echo").status end), 3)
  t:equal(#seen, 7)
end)

test("on_redirect is called for each redirect, and can wait", function(t)
  local redirects = {}
  local res = plain:get("/redirect/2", { on_redirect = function(redirect)
    nightjar.sleep(0.001)
    local from, to = redirect.from:sub(#origin + 1), redirect.url:sub(#origin + 1)
    redirects[#redirects + 1] = ("%d %s %s -> %s"):format(redirect.status, redirect.method, from, to)
    return true
  end })
  t:equal(res.status, 200)
  t:equal(table.concat(redirects, "\n"), "302 GET /redirect/2 -> /redirect/1\n302 GET /redirect/1 -> /echo")
  t:equal(#res.redirects, 2)
end)

test("on_redirect can refuse a redirect: the response is the redirect", function(t)
  local res = plain:get("/redirect/2", { expect = { 302 }, on_redirect = function() return false end })
  t:equal(res.status, 302)
  t:equal(#res.redirects, 0)
  t:equal(res.url, origin .. "/redirect/2")
end)

test("on_redirect can return another URL", function(t)
  local res = plain:get("/redirect/2", { on_redirect = function() return "/v1/articles/1" end })
  t:equal(res.json.id, 1)
  t:equal(res.url, origin .. "/v1/articles/1")
end)

test("a refused redirect is an error without expect", function()
  fails("client", "GET returned 302 Found", plain.get, plain, "/redirect/1",
    { on_redirect = function() return false end })
end)

test("a URL of another scheme, an error and an invalid result of on_redirect end the call", function(t)
  t:raises({ kind = "protocol" }, plain.get, plain, "/redirect/1", { on_redirect = function() return "ftp://x/" end })
  misuse("not there", plain.get, plain, "/redirect/1", { on_redirect = function() error "not there" end })
  misuse("on_redirect must return true, false or a URL, got table", plain.get, plain, "/redirect/1",
    { on_redirect = function() return {} end })
end)

test("on_redirect must be a function", function()
  misuse("get: on_redirect must be a function, got number", plain.get, plain, "/", { on_redirect = 1 })
end)

test("the total timeout includes the time of on_redirect", function(t)
  t:raises({ kind = "timeout" }, plain.get, plain, "/redirect/1",
    { timeout = 0.05, on_redirect = function() nightjar.sleep(0.2) return true end })
end)

test("a call with a body from a function can have an on_redirect", function(t)
  local parts = { "a", "b" }
  local function body() return table.remove(parts, 1) end
  local res = plain:post("/redirect/1", { body = body, on_redirect = function() end })
  t:equal(res.json.method, "GET")
end)

test("a streamed call can have an on_redirect, which can refuse the redirect", function(t)
  local text = {}
  local res = plain:get("/redirect/1", { stream = true, on_redirect = function() end })
  for chunk in res:chunks() do text[#text + 1] = chunk end
  t:truthy(#table.concat(text) > 0)
  text = {}
  res = plain:get("/redirect/1", { stream = true, expect = 302, on_redirect = function() return false end })
  for chunk in res:chunks() do text[#text + 1] = chunk end
  t:equal(res.status, 302)
  t:equal(#table.concat(text), tonumber(res.headers.content_length))
end)

-- Lists: each page is a call with hooks, regardless of the task that takes from the list. /echo returns what the server
-- received.
local run = nightjar.idempotency_key()
local function set(name) return ("/v1/lists/%s-%s/cursor"):format(run, name) end
local function requested(path) return (plain:get("/__stats").json.paths[path] or { requests = 0 }).requests end
local function hooked(before, after)
  return nightjar.client { base_url = origin, retry = false, before = before, after = after }
end
local function cursor(name, options)
  options.style, options.items, options.next = "cursor", "/results", "/next_cursor"
  return set(name), options
end

test("each page of a list is a call with hooks", function(t)
  local listing = hooked(function(request)
    nightjar.sleep(0.001)
    seen[#seen + 1] = request.method .. " " .. request.path:gsub("cursor=.*", "cursor=")
  end, function(result, request) seen[#seen + 1] = tostring(result.status or result.kind) end)
  t:equal(#listing:paginate(cursor("plain", { query = { count = 25, limit = 10 } })):collect(), 25)
  t:equal(table.concat(seen, "\n"), (([[
GET %s?count=25&limit=10
200
GET %s?count=25&limit=10&cursor=
200
GET %s?count=25&limit=10&cursor=
200]]):gsub("%%s", (set "plain"))))
  t:equal(requested(set "plain"), 3)
end)

test("changes by before are sent: a header, a replaced query item of the list, another query item", function(t)
  local number = 0
  local changing = hooked(function(request)
    number = number + 1
    request.headers["X-Number"] = number
    request.query.limit, request.query.extra = 7, { "a b", "c" }
  end)
  local echoed = {}
  local caller = { headers = { ["X-List"] = "mine" }, query = { limit = 10, a = "b" }, items = "/headers", prefetch = 0,
    next = function(page) return page.number < 2 and { query = { page = page.number + 1 } } or nil end }
  for page in changing:paginate("/echo", caller):pages() do
    local fields = {}
    for _, field in ipairs(page.response.json.headers) do
      local name = (field.name or field[1]):lower()
      if name:sub(1, 2) == "x-" then fields[#fields + 1] = name .. "=" .. (field.value or field[2]) end
    end
    table.sort(fields)
    echoed[#echoed + 1] = page.response.url:sub(#origin + 1) .. " " .. table.concat(fields, " ")
  end
  t:equal(table.concat(echoed, "\n"), [[
/echo?a=b&extra=a%20b&extra=c&limit=7 x-list=mine x-number=1
/echo?a=b&page=2&extra=a%20b&extra=c&limit=7 x-list=mine x-number=2]])
  t:equal(caller.headers["X-Number"], nil)
  t:equal(caller.query.extra, nil)
end)

test("the next page is requested while the current one is used", function(t)
  local prefetching = hooked(function() end)
  local list = prefetching:paginate(cursor("prefetch", { query = { count = 30, limit = 10 } }))
  t:equal(list().id, 1000)
  repeat nightjar.sleep(0.002) until requested(set "prefetch") == 2
  list:close()
end)

test("an error of a hook is raised unchanged, and the page is requested again for the next caller", function(t)
  local refuses, thrown = nil, { why = "not now" }
  for _, place in ipairs { "before", "after" } do
    local function object(at, path) if refuses == at and path:find "cursor=" then refuses = nil error(thrown) end end
    local objecting = hooked(function(request) object("before", request.path) end,
      function(_, request) object("after", request.path) end)
    local list = objecting:paginate(cursor("raise-" .. place, { query = { count = 25, limit = 10 }, prefetch = 0 }))
    refuses = place
    local got = {}
    local ok, raised = pcall(function() for item in list do got[#got + 1] = item.id end end)
    t:equal(ok, false)
    same(raised, thrown)
    t:equal(#got, 10)
    for item in list do got[#got + 1] = item.id end
    t:equal(#got, 25)
    t:equal(got[25], 25000)
    t:equal(requested(set("raise-" .. place)), place == "before" and 3 or 4)
  end
end)

test("an error of before and an invalid option that it sets are raised by the list", function()
  misuse("not today", function() hooked(function() error("not today") end):paginate("/v1/lists/x/cursor")() end)
  misuse("request: unknown option 'quary'; did you mean 'query'?", function()
    hooked(function(request) request.quary = {} end):paginate("/v1/lists/x/cursor")()
  end)
  misuse("request: stream is not supported for pages and documents", function()
    hooked(function(request) request.stream = true end):paginate("/v1/lists/x/cursor")()
  end)
end)

test("a failed page is passed to after, and only this page is requested again", function(t)
  local list = hooked(nil, function(result) seen[#seen + 1] = result.status or result.kind end)
    :paginate(cursor("fails", { prefetch = 0, query = { count = 25, limit = 10, fail = 2, times = 1 } }))
  local err = fails("server", [[GET returned 503 Service Unavailable: "page 2 was configured to fail"]],
    list.collect, list)
  t:equal(err.status, 503)
  t:equal(#list:collect(), 15)
  t:equal(table.concat(seen, " "), "200 503 200 200")
end)

test("hooks can make calls and use other lists", function(t)
  local inner = 0
  local nesting
  nesting = hooked(function(request)
    if not request.path:find "outer" then return end
    plain:get "/echo"
    inner = inner + #plain:paginate(cursor("inner", { query = { count = 12, limit = 10 } })):collect()
  end)
  t:equal(#nesting:paginate(cursor("outer", { query = { count = 15, limit = 10 } })):collect(), 15)
  t:equal(inner, 24)
end)

test("hooks must not take from the list whose page they are called for, not even in another task", function()
  local own
  own = hooked(function() own() end):paginate(cursor("own", { query = { count = 3 } }))
  misuse("paginate: a before or after hook must not take from the list whose page it was called for", own)
  own = hooked(function() nightjar.spawn(function() own() end):join() end)
    :paginate(cursor("own", { query = { count = 3 } }))
  misuse("paginate: a before or after hook must not take from the list whose page it was called for", own)
end)

test("closing a list ends a hook that runs, or a page in transit", function(t)
  for _, stage in ipairs { "hook", "wire" } do
    local started, went_on = 0, false
    local slow = hooked(function()
      started = started + 1
      if stage == "hook" and started == 1 then
        nightjar.sleep(60)
        went_on = true
      end
    end)
    local query = { count = 3, delay = stage == "wire" and 5000 or 0 }
    local list = slow:paginate(cursor("close-" .. stage, { query = query }))
    local first = nightjar.spawn(function() return list() end)
    repeat nightjar.sleep(0.002) until started == 1
    list:close()
    fails("closed", "the list is closed", first.join, first)
    nightjar.sleep(0.01)
    t:equal(went_on, false)
  end
end)

test("a cancelled hook runs again after refresh", function(t)
  local started = 0
  local list = hooked(function()
    started = started + 1
    if started == 1 then nightjar.sleep(60) end
  end):paginate(cursor("anew", { query = { count = 3 } }))
  fails("timeout", "timeout: the function did not return within 0.02 seconds", nightjar.timeout, 0.02, list)
  t:equal(started, 1)
  list:refresh()
  t:equal(list().id, 1000)
  t:equal(started, 2)
end)

test("after a timeout of the waiting task, the page is returned to the next one", function(t)
  local started = 0
  local list = hooked(function()
    started = started + 1
    nightjar.sleep(0.05)
  end):paginate(cursor("waits", { query = { count = 3 } }))
  fails("timeout", "timeout: the function did not return within 0.02 seconds", nightjar.timeout, 0.02, list)
  t:equal(#list:collect(), 3)
  t:equal(started, 1)
end)

test("closing the client ends a waiting task", function()
  local closing = hooked(function() nightjar.sleep(60) end)
  local list = closing:paginate(cursor("client", { query = { count = 3 } }))
  local waiter = nightjar.spawn(function() return list() end)
  nightjar.sleep(0.02)
  closing:close()
  fails("closed", "the client is closed", waiter.join, waiter)
end)

test("many tasks load one page at a time", function(t)
  local most, running = 0, 0
  local list = hooked(function()
    running = running + 1
    most = math.max(most, running)
    nightjar.sleep(0.001)
  end, function() running = running - 1 end):paginate(cursor("many", { query = { count = 100, limit = 10 } }))
  local total = 0
  nightjar.map({ 1, 2, 3, 4, 5 }, function() for _ in list do total = total + 1 end end)
  t:equal(total, 100)
  t:equal(most, 1)
end)

test("a list of an endpoint calls the hooks with the name of the endpoint", function(t)
  local described = nightjar.client {
    base_url = origin,
    before = function(request) seen[#seen + 1] = request.endpoint .. " " .. request.path end,
    endpoints = {
      items = {
        path = "/v1/lists/{set}/cursor",
        parameters = { set = { type = "string" }, count = { type = "integer" }, limit = { type = "integer" } },
        pagination = { style = "cursor", items = "/results", next = "/next_cursor" },
      },
    },
  }
  local list = described.endpoints.items:paginate({ set = run .. "-e", count = 12, limit = 10 }, { prefetch = 0 })
  t:equal(#list:collect(), 12)
  t:equal(#seen, 2)
  t:equal(seen[1], ("items /v1/lists/%s-e/cursor?count=12&limit=10"):format(run))
end)

test("an unreferenced list is collected together with its pending load", function()
  for _ = 1, 20 do hooked(function() nightjar.sleep(60) end):paginate("/v1/lists/x/cursor") end
  collectgarbage()
  collectgarbage()
end)

assert(testing.run().ok, "a case failed")
