-- Runs all features concurrently and repeatedly until the time is over: soak.lua ORIGIN SECONDS
-- Prints a line per second: the number of completed works, and Lua's memory after a collection in KiB.
local nightjar = require "nightjar"
local origin, seconds = arg[1], tonumber(arg[2])
local json, fs, hash = nightjar.json, nightjar.fs, nightjar.hash

local WORKERS = 32

local notified = 0
local api = nightjar.client {
  base_url = origin .. "/v1", timeout = { total = 30 }, coalesce = true, cookies = true, cache = { memory = "4MB" },
  retry = { attempts = 4, base = 0.001, budget = { reserve = 1000000 } }, log = { level = "info", write = function() notified = notified + 1 end },
}
local plain = nightjar.client { base_url = origin, retry = false }

local function expect(kind, f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok and err.kind == kind, err)
end

local function sum(list)
  local total = 0
  for _, value in ipairs(list) do total = total + value end
  return total
end

local works = {
  function() assert(api:get("/articles/" .. math.random(20)).json.title) end,
  function(number)
    local made = api:post("/articles", {
      json = { title = "Soak " .. number, body = ("x"):rep(math.random(5000)), author_id = 1, tags = { "soak" } },
      idempotency_key = true,
    })
    assert(api:delete("/articles/" .. made.json.id).status == 204)
  end,
  function()
    local list = {}
    for place = 1, math.random(2000) do list[place] = { id = place, name = "Item " .. place, ratio = place / 7 } end
    local text = plain:post("/echo", { json = { list = list } }).text
    assert(#text > 0 and #json.decode(json.encode(list)) == #list)
  end,
  function() expect("not_found", api.get, api, "/articles/999999") end,
  function() expect("timeout", plain.get, plain, "/v1/slow", { query = { ms = 2000 }, timeout = { total = 0.02 } }) end,
  function(number) assert(api:get("/flaky", { query = { times = 2, key = "soak-" .. number } }).attempts == 3) end,
  function()
    local task = nightjar.spawn(plain.get, plain, "/v1/slow", { query = { ms = 2000 } })
    nightjar.sleep(0.002)
    task:cancel()
    expect("cancelled", task.join, task)
  end,
  function()
    local length, res = 0, plain:get("/bytes/" .. math.random(500000), { stream = true })
    for chunk in res:chunks() do length = length + #chunk end
    assert(length == tonumber(res.headers.content_length))
  end,
  function()
    local res <close> = plain:get("/bytes/50000000", { stream = true })
    for chunk in res:chunks() do if #chunk > 0 then break end end
  end,
  function()
    local count = 0
    for _ in api:paginate("/lists/soak/cursor", { items = "/results", next = "/next_cursor", query = { count = 60, limit = 10 } }) do
      count = count + 1
    end
    assert(count == 60)
  end,
  function()
    local ids = nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8 }, function(id) return api:get("/articles/" .. id).json.id end, { concurrency = 3 })
    assert(sum(ids) == 36)
  end,
  function()
    local responses = api:batch { { path = "/articles/1" }, { path = "/articles/2" }, { path = "/articles" } }
    assert(#responses == 3)
  end,
  function()
    local jobs = nightjar.channel(2)
    local consumers = {}
    for place = 1, 3 do
      consumers[place] = function()
        local total = 0
        for value in jobs:values() do total = total + value nightjar.sleep(0) end
        return total
      end
    end
    nightjar.spawn(function()
      for value = 1, 100 do jobs:send(value) end
      jobs:close()
    end)
    assert(sum { nightjar.all(consumers) } == 5050)
  end,
  function()
    assert(nightjar.race { function() return plain:get("/bytes/10").status end, function() nightjar.sleep(5) end } == 200)
  end,
  function()
    local file <close> = fs.temp_file { prefix = "soak-" }
    local text = ("0123456789"):rep(math.random(20000))
    fs.write(file.path, text)
    assert(hash.sha256(fs.read(file.path)) == hash.sha256(text))
    assert(plain:put("/upload", { file = file.path }).status < 300)
  end,
  function()
    local rows = {}
    for place = 1, 200 do rows[place] = { id = tostring(place), name = 'a "quoted", name' } end
    assert(#nightjar.csv.parse(nightjar.csv.write(rows), { header = true }) == 200)
    assert(nightjar.base64.decode(nightjar.base64.encode "moonlight") == "moonlight")
  end,
  function()
    local client <close> = nightjar.client { base_url = origin .. "/v1", auth = {
      type = "login", url = "/auth/login", json = { email = "ada@example.org", password = "moonlight" },
      refresh = { url = "/auth/refresh" },
    } }
    assert(client:get("/me").status == 200)
  end,
  function() assert(nightjar.process.run { "cat", input = "x" }.stdout == "x") end,
  function()
    local mock = nightjar.mock { { path = "/a", response = { json = { ok = true } } } }
    local client <close> = nightjar.client { base_url = "http://mocked.test", mock = mock }
    assert(client:get("/a").json.ok)
  end,
  function()
    local co = coroutine.wrap(function() for id = 1, 3 do coroutine.yield(plain:get("/bytes/" .. id).body) end end)
    for length = 1, 3 do assert(#co() == length) end
  end,
  function() assert(not pcall(error, setmetatable({}, { __gc = function() error "in a finalizer" end }))) end,
}

local done, stop = 0, false
local function work(worker)
  for number = 1, math.huge do
    if stop then return end
    local place = math.random(#works)
    local ok, err = xpcall(works[place], debug.traceback, worker .. "-" .. number)
    if not ok then error(("work %d: %s"):format(place, err), 0) end
    done = done + 1
  end
end

local workers = {}
for worker = 1, WORKERS do workers[worker] = nightjar.spawn(work, worker) end
io.stdout:setvbuf "line"
for _ = 1, seconds do
  nightjar.sleep(1)
  collectgarbage()
  print(done, collectgarbage "count" // 1 | 0)
end
stop = true
for _, worker in ipairs(workers) do worker:join() end
assert(notified > 0)
print(done, "ended")
