-- Bodies in parts, both ways.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse = check.equal, check.misuse

local api = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL" }

local function gather(res)
  local parts = {}
  for chunk in res:chunks() do parts[#parts + 1] = chunk end
  return table.concat(parts), #parts
end

-- An answer in parts is the answer.
for _, path in ipairs { "/bytes/0", "/bytes/1", "/bytes/1000000", "/stream/300000?chunk=1000" } do
  equal(gather(api:get(path, { stream = true })), api:get(path).body)
end

-- The head is there before the body, and the parts come as they are sent.
local res = api:get("/drip", { query = { bytes = 3, delay = 0.05 }, stream = true })
equal(res.status, 200)
equal(res.headers.content_length, "3")
equal(res.timing.total, nil)
local parts = select(2, gather(res))
equal(parts, 3)
assert(res.timing.total >= 0.1)
equal(res:chunks()(), nil)

-- Other tasks run while one waits for a part.
local ticks = 0
local ticker = nightjar.spawn(function() while true do nightjar.sleep(0.01) ticks = ticks + 1 end end)
gather(api:get("/drip", { query = { bytes = 3, delay = 0.05 }, stream = true }))
assert(ticks >= 3, ticks)
ticker:cancel()

-- An answer that was not asked for in parts comes in one.
equal(gather(api:get "/bytes/100"), api:get("/bytes/100").body)
equal(select(2, gather(api:get "/bytes/0")), 0)

-- The body is not to be had otherwise.
res = api:get("/bytes/10", { stream = true })
for _, field in ipairs { "body", "json", "text" } do
  misuse("the body of a streamed response must be read with res:chunks()", function() return res[field] end)
end
res:close()
res:close()
check.fails("cancelled", "the response was closed", function() for _ in res:chunks() do end end)

-- Who reads slowly holds the server back, and memory stays flat.
res = api:get("/bytes/200000000", { stream = true })
nightjar.sleep(0.1)
collectgarbage()
local length, count = 0, 0
for chunk in res:chunks() do
  length, count = length + #chunk, count + 1
  if length > 20000000 then break end
end
res:close()
assert(length > 20000000 and count > 100)

-- Leaving the scope ends it.
do
  local scoped <close> = api:get("/drip", { query = { bytes = 1000, delay = 1 }, stream = true })
  equal(scoped:chunks()(), api:get("/bytes/1").body)
end
-- So does cancelling the task that reads, and a limit of time.
check.fails("timeout", "timeout: the function did not return within 0.05 seconds", nightjar.timeout, 0.05, function()
  gather(api:get("/drip", { query = { bytes = 1000, delay = 1 }, stream = true }))
end)
res = api:get("/drip", { query = { bytes = 1000, delay = 0.02 }, stream = true, timeout = 0.1 })
equal(select(2, pcall(gather, res)).kind, "timeout")

-- An error status is an error with its body, in parts or not.
local err = select(2, pcall(api.get, api, "/v1/articles/9999", { stream = true }))
equal(err.kind, "not_found")
equal(err.response.json.detail, "there is no article 9999")

-- One reader at a time.
res = api:get("/drip", { query = { bytes = 2, delay = 0.05 }, stream = true })
local first = nightjar.spawn(gather, res)
nightjar.sleep(0.01)
misuse("another task already reads this response", function() for _ in res:chunks() do end end)
equal(#first:join(), 2)

-- A request whose body is a function is asked for parts until nil.
local function source(list)
  local place = 0
  return function()
    place = place + 1
    return list[place]
  end
end
local seen = api:post("/echo", { body = source { "one ", "", "two ", "three" } }).json
equal(seen.body, "one two three")
equal(api:post("/echo", { body = function() end }).json.body_bytes, 0)
equal(api:request { method = "PUT", path = "/echo", body = source { "x" } }.json.body, "x")
local big = ("0123456789abcdef"):rep(65536)
equal(api:post("/upload", { body = source { big, big, big } }).status, 200)

-- The function may wait, and even make calls.
seen = api:post("/echo", { body = coroutine.wrap(function()
  nightjar.sleep(0.01)
  coroutine.yield "slow "
  coroutine.yield("of " .. #api:get("/bytes/4").body)
end) }).json
equal(seen.body, "slow of 4")

-- What goes wrong in it ends the call, and is what the caller gets.
local thrown = {}
local ok, caught = pcall(api.post, api, "/echo", { body = function() error(thrown) end })
equal(ok, false)
equal(caught, thrown)
misuse("the body function must return a string or nil, got number",
  function() api:post("/echo", { body = function() return 1 end }) end)
check.fails("timeout", "timeout: the function did not return within 0.05 seconds", nightjar.timeout, 0.05, function()
  api:post("/echo", { body = function() nightjar.sleep(10) end })
end)
-- What happens while it waits is told when it returns: the end of the call, or an answer that did not wait for the body.
local parts = 0
check.fails("timeout", "no complete response within 0.1 s; raise timeout.total, or set it to 0", api.post, api, "/upload", { timeout = 0.1, body = function()
  parts = parts + 1
  if parts == 2 then nightjar.sleep(0.3) end
  return parts < 3 and "x" or nil
end })
equal(parts, 2)
misuse("post: body.each is missing", function() api:post("/echo", { body = {} }) end)
misuse("get: stream must be a boolean, got number", function() api:get("/", { stream = 1 }) end)

-- An answer that comes in keeps its client.
local function open()
  local client = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL" }
  return client:get("/drip", { query = { bytes = 3, delay = 0.05 }, stream = true })
end
res = open()
collectgarbage()
collectgarbage()
equal(select(2, gather(res)), 3)

-- What is dropped is ended by the collector.
for _ = 1, 200 do api:get("/bytes/100000000", { stream = true }) end
collectgarbage()
collectgarbage()
equal(api:get("/bytes/1").status, 200)
