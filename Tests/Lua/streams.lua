-- Streamed request and response bodies. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local same = check.equal -- identity; t:equal compares tables by content

local api = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL" }

local function gather(res)
  local parts = {}
  for chunk in res:chunks() do parts[#parts + 1] = chunk end
  return table.concat(parts), #parts
end

test("the parts of a streamed response are the complete body", function(t)
  for _, path in ipairs { "/bytes/0", "/bytes/1", "/bytes/1000000", "/stream/300000?chunk=1000" } do
    t:equal(gather(api:get(path, { stream = true })), api:get(path).body)
  end
end)

test("the response is available before its body, and the parts arrive as they are sent", function(t)
  local res = api:get("/drip", { query = { bytes = 3, delay = 0.3 }, stream = true })
  t:equal(res.status, 200)
  t:equal(res.headers.content_length, "3")
  t:equal(res.timing.total, nil)
  local parts = select(2, gather(res))
  t:equal(parts, 3)
  t:truthy(res.timing.total >= 0.5)
  t:equal(res:chunks()(), nil)
end)

test("the response has its URL and its connection before its body", function(t)
  local res = api:get("/redirect/2", { stream = true })
  t:equal(res.url, os.getenv "NIGHTJAR_DEMO_URL" .. "/echo")
  t:equal(#res.redirects, 2)
  t:truthy(res.peer:find "^[%d.:%[%]]+$")
  t:truthy(res.timing.first_byte >= res.timing.sent)
  gather(res)
end)

test("other tasks run while one waits for a part", function(t)
  local ticks = 0
  local ticker = nightjar.spawn(function() while true do nightjar.sleep(0.01) ticks = ticks + 1 end end)
  gather(api:get("/drip", { query = { bytes = 3, delay = 0.3 }, stream = true }))
  t:truthy(ticks >= 3, ticks)
  ticker:cancel()
  pcall(ticker.join, ticker)
end)

test("a response whose head arrives when its task is cancelled does not keep its connection", function(t)
  local single <close> = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", max_connections_per_host = 1 }
  local reader
  nightjar.spawn(function()
    single:get "/delay/0.1"
    reader:cancel()
  end)
  reader = nightjar.spawn(function()
    local res <close> = single:get("/stream/100000000?chunk=1000", { stream = true })
    gather(res)
  end)
  nightjar.sleep(0.01)
  -- Both responses arrive before the loop runs again, so that both tasks can continue and the first one cancels the other.
  local start = os.clock()
  while os.clock() - start < 0.5 do end
  t:equal(pcall(reader.join, reader), false)
  collectgarbage()
  collectgarbage()
  t:equal(single:get("/echo", { timeout = 10 }).status, 200)
end)

test("a response that is not streamed has one part", function(t)
  t:equal(gather(api:get "/bytes/100"), api:get("/bytes/100").body)
  t:equal(select(2, gather(api:get "/bytes/0")), 0)
end)

test("the body of a streamed response is not available in other ways", function()
  local res = api:get("/bytes/10", { stream = true })
  for _, field in ipairs { "body", "json", "text" } do
    misuse("the body of a streamed response must be read with res:chunks(), res:lines(), res:ndjson(), res:events() or res:download()", function() return res[field] end)
  end
  res:close()
end)

test("a response can be closed twice, and its parts can then not be read", function()
  local res = api:get("/bytes/10", { stream = true })
  res:close()
  res:close()
  fails("cancelled", "the response was closed", function() for _ in res:chunks() do end end)
end)

test("a slow reader slows the server down, and memory use stays constant", function(t)
  local res = api:get("/bytes/200000000", { stream = true })
  nightjar.sleep(0.1)
  collectgarbage()
  local length, count = 0, 0
  for chunk in res:chunks() do
    length, count = length + #chunk, count + 1
    if length > 20000000 then break end
  end
  res:close()
  t:truthy(length > 20000000 and count > 100)
end)

test("leaving the scope ends the response", function(t)
  local scoped <close> = api:get("/drip", { query = { bytes = 1000, delay = 1 }, stream = true })
  t:equal(scoped:chunks()(), api:get("/bytes/1").body)
end)

test("a timeout of the reading function ends the response", function()
  fails("timeout", "timeout: the function did not return within 0.05 seconds", nightjar.timeout, 0.05, function()
    gather(api:get("/drip", { query = { bytes = 1000, delay = 1 }, stream = true }))
  end)
end)

test("the timeout of the call ends the response", function(t)
  local res = api:get("/drip", { query = { bytes = 1000, delay = 0.02 }, stream = true, timeout = 0.1 })
  t:raises({ kind = "timeout" }, gather, res)
end)

test("an error status is an error with its body, also for a streamed call", function(t)
  local err = select(2, pcall(api.get, api, "/v1/articles/9999", { stream = true }))
  t:equal(err.kind, "not_found")
  t:equal(err.response.json.detail, "there is no article 9999")
end)

test("a response has only one reader at a time", function(t)
  local res = api:get("/drip", { query = { bytes = 2, delay = 1 }, stream = true })
  local first = nightjar.spawn(gather, res)
  nightjar.sleep(0.01)
  misuse("another task already reads this response", function() for _ in res:chunks() do end end)
  t:equal(#first:join(), 2)
end)

-- Returns a body function that returns the parts of the list.
local function source(list)
  local place = 0
  return function()
    place = place + 1
    return list[place]
  end
end

test("a body function is called for parts until it returns nil", function(t)
  local seen = api:post("/echo", { body = source { "one ", "", "two ", "three" } }).json
  t:equal(seen.body, "one two three")
  t:equal(api:post("/echo", { body = function() end }).json.body_bytes, 0)
  t:equal(api:request { method = "PUT", path = "/echo", body = source { "x" } }.json.body, "x")
  local big = ("0123456789abcdef"):rep(65536)
  t:equal(api:post("/upload", { body = source { big, big, big } }).status, 200)
end)

test("the response can be read while the body is sent", function(t)
  local turns = nightjar.channel(1)
  local sent = 0
  -- The function waits for the response to the previous part.
  local res <close> = api:post("/duplex", { stream = true, body = function()
    if sent > 0 and not turns:receive() then return nil end
    sent = sent + 1
    return "question " .. sent
  end })
  t:equal(res.status, 200)
  local answers = {}
  for part in res:chunks() do
    answers[#answers + 1] = part
    if #answers == 5 then turns:close() else turns:send(true) end
  end
  t:equal(table.concat(answers, ", "), "question 1, question 2, question 3, question 4, question 5")
  t:equal(sent, 5)
end)

test("an error of a body function after the response has begun is an error of the reader", function(t)
  local calls = 0
  local res <close> = api:post("/duplex", { stream = true, body = function()
    calls = calls + 1
    nightjar.sleep(0.02)
    return calls < 3 and "x" or error "no more data"
  end })
  local _, err = nightjar.try(gather, res)
  t:equal(err.kind, "invalid_request")
  t:truthy(err.message:find("no more data", 1, true), err.message)
  local thrown = {}
  local ok, caught = pcall(api.post, api, "/echo", { stream = true, body = function() error(thrown) end })
  t:equal(ok, false)
  same(caught, thrown)
  misuse("the body function must return a string or nil, got number",
    function() api:post("/echo", { stream = true, body = function() return 1 end }) end)
end)

test("a response whose request was sent completely does not stop a virtual clock", function(t)
  local left = 12
  local res <close> = api:post("/duplex", { stream = true, body = function()
    left = left - 1
    return left >= 0 and ("x"):rep(50000) or nil
  end })
  nightjar.timeout(20, function() while left >= 0 do nightjar.sleep(0.005) end end)
  do
    local clock <close> = testing.clock { auto = true }
    nightjar.sleep(5) -- a virtual clock stands still while a call is in flight
    t:equal(clock:now(), 5)
  end
  local length = 0
  for part in res:chunks() do length = length + #part end
  t:equal(length, 600000)
end)

test("too many nested uploads that cannot yield raise an error", function(t)
  local function upload()
    return (("x"):gsub("x", function()
      local res <close> = api:post("/echo", { stream = true, body = function() upload() end })
    end))
  end
  local ok, message = pcall(upload)
  t:equal(ok, false)
  t:matches(tostring(message), "too many nested waits that cannot yield$")
end)

test("a body function that waits is ended with its call", function(t)
  local never = nightjar.channel(0)
  local started = 0
  local function body()
    started = started + 1
    if started > 1 then never:receive() end
    return "x"
  end
  local res = api:post("/duplex", { stream = true, body = body })
  for part in res:chunks() do
    t:equal(part, "x")
    res:close()
    break
  end
  started = 1
  fails("timeout", "no complete response within 0.1 s; raise timeout.total, or set it to 0", api.post, api, "/upload",
    { stream = true, timeout = 0.1, body = body })
  started = 1
  fails("timeout", "timeout: the function did not return within 0.05 seconds", nightjar.timeout, 0.05, function()
    api:post("/echo", { stream = true, body = body })
  end)
  local reading = nightjar.spawn(function() api:post("/echo", { stream = true, body = body }) end)
  nightjar.sleep(0.01)
  reading:cancel()
  pcall(reading.join, reading)
end)

test("a body is sent again after a redirect of a streamed call", function(t)
  local begun = 0
  local res = api:post("/redirect/1?status=308", { stream = true, body = { each = function()
    begun = begun + 1
    local place = 0
    return function()
      place = place + 1
      return place <= 3 and tostring(place) or nil
    end
  end } })
  t:equal(nightjar.json.decode((gather(res))).body, "123")
  t:truthy(begun >= 2, begun)
end)

test("a server can end the response before it has received the body", function(t)
  local count = 0
  local res = api:post("/duplex", { stream = true, query = { stop = 6 }, body = function()
    count = count + 1
    nightjar.sleep(0.01)
    return "abcd"
  end })
  t:equal(gather(res), "abcdab")
  t:truthy(count < 100, count)
  t:equal(api:get("/bytes/1").status, 200)
end)

test("a body function can wait, and can make calls", function(t)
  local seen = api:post("/echo", { body = coroutine.wrap(function()
    nightjar.sleep(0.01)
    coroutine.yield "slow "
    coroutine.yield("of " .. #api:get("/bytes/4").body)
  end) }).json
  t:equal(seen.body, "slow of 4")
end)

test("an error of a body function ends the call, and is raised in the caller", function(t)
  local thrown = {}
  local ok, caught = pcall(api.post, api, "/echo", { body = function() error(thrown) end })
  t:equal(ok, false)
  same(caught, thrown)
end)

test("a body function must return a string or nil", function()
  misuse("the body function must return a string or nil, got number",
    function() api:post("/echo", { body = function() return 1 end }) end)
end)

test("a timeout ends a body function that waits", function()
  fails("timeout", "timeout: the function did not return within 0.05 seconds", nightjar.timeout, 0.05, function()
    api:post("/echo", { body = function() nightjar.sleep(10) end })
  end)
end)

test("the timeout of a call that expires during the wait of a body function is reported when it returns", function(t)
  local parts = 0
  local function body()
    parts = parts + 1
    if parts == 2 then nightjar.sleep(0.3) end
    return parts < 3 and "x" or nil
  end
  fails("timeout", "no complete response within 0.1 s; raise timeout.total, or set it to 0", api.post, api, "/upload",
    { timeout = 0.1, body = body })
  t:equal(parts, 2)
end)

test("invalid stream options raise an error", function()
  misuse("post: body.each is missing", function() api:post("/echo", { body = {} }) end)
  misuse("get: stream must be a boolean, got number", function() api:get("/", { stream = 1 }) end)
end)

test("a response that is arriving keeps its client alive", function(t)
  local function open()
    local client = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL" }
    return client:get("/drip", { query = { bytes = 3, delay = 0.05 }, stream = true })
  end
  local res = open()
  collectgarbage()
  collectgarbage()
  t:equal(#gather(res), 3)
end)

test("unreferenced responses are ended by the garbage collector", function(t)
  for _ = 1, 200 do api:get("/bytes/100000000", { stream = true }) end
  collectgarbage()
  collectgarbage()
  t:equal(api:get("/bytes/1").status, 200)
end)

assert(testing.run().ok, "a case failed")
