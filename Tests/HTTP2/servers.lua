-- HTTP/2 with one server, which Tests/HTTP2/servers starts and describes in NIGHTJAR_SERVER.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local test = testing.test

local server = nightjar.json.decode(os.getenv "NIGHTJAR_SERVER")

local function client(options)
  options = options or {}
  options.base_url, options.retry, options.proxy = server.url, options.retry or false, false
  options.http = { versions = { "2", "1.1" } }
  options.tls = { ca_file = server.authority }
  return nightjar.client(options)
end
local api = client()

test("GET and HEAD", function(t)
  local res = api:get(server.small)
  t:equal(res.status, 200)
  t:equal(res.http_version, "2")
  t:equal(res.tls.alpn, "h2")
  t:equal(#res.body, 5)
  res = api:head(server.large)
  t:equal(res.http_version, "2")
  t:equal(res.headers["content-length"], "10000000")
  t:equal(res.body, "")
end)

test("a large response is complete", function(t)
  local res = api:get(server.large)
  t:equal(#res.body, 10000000)
  t:equal(nightjar.hash.sha256(res.body), server.digest)
end)

test("a file is downloaded", function(t)
  local folder = nightjar.fs.temp_dir()
  api:download(server.large, folder.path .. "/file")
  t:equal(nightjar.hash.sha256(nightjar.fs.read(folder.path .. "/file")), server.digest)
end)

test("a missing resource is an error", function(t)
  t:equal(t:raises("not_found", api.get, api, server.forwards and "/status/404" or "/missing").status, 404)
end)

if server.forwards then
  test("204 and 304 have no body", function(t)
    for _, status in ipairs { 204, 304 } do
      local res = api:get("/status/" .. status, { expect = status })
      t:equal(res.status, status)
      t:equal(res.http_version, "2")
      t:equal(res.body, "")
    end
    t:truthy(api:get(server.small).timing.reused)
  end)

  test("the server forwards the request", function(t)
    local seen = api:post("/echo", { query = { a = 1 }, json = { b = 2 } }).json
    t:equal(seen.method, "POST")
    t:equal(seen.query, { { "a", "1" } })
    t:equal(seen.body, '{"b":2}')
  end)
end

test("bodies of 1 MB are sent", function(t)
  local body = ("0123456789"):rep(100000)
  if server.forwards then
    for _, method in ipairs { "post", "put" } do
      local seen = api[method](api, "/upload", { body = body }).json
      t:equal(seen.bytes, #body)
      t:equal(seen.crc32, server.checksum)
    end
  else
    t:truthy(api:post(server.small, { body = body }).body == body)
  end
end)

test("8 bodies of 1 MB are sent concurrently", function(t)
  local body, calls = ("0123456789"):rep(100000), { 1, 2, 3, 4, 5, 6, 7, 8 }
  nightjar.map(calls, function()
    local res = api:post(server.forwards and "/upload" or server.small, { body = body })
    t:truthy(server.forwards and res.json.crc32 == server.checksum or res.body == body)
  end, { concurrency = 8 })
end)

-- Sends concurrent requests. Returns the number of opened connections.
local function parallel(t, count)
  local calls, opened = {}, 0
  for index = 1, count do calls[index] = index end
  nightjar.map(calls, function()
    local res = api:get(server.small)
    t:equal(res.http_version, "2")
    t:equal(#res.body, 5)
    if not res.timing.reused then opened = opened + 1 end
  end, { concurrency = count })
  return opened
end

test("300 calls exceed the server's limit of streams", function(t)
  local opened = parallel(t, 300)
  t:truthy(opened <= server.connections, opened)
end)

test("1,000 calls", function(t) parallel(t, 1000) end)

test("a cancelled stream leaves the others open", function(t)
  local tasks = {}
  for index = 1, 12 do
    tasks[index] = nightjar.spawn(function()
      local length = 0
      local res <close> = api:get(server.large, { stream = true })
      for part in res:chunks() do length = length + #part end
      return length
    end)
  end
  nightjar.sleep(0.02)
  for index = 1, 12, 2 do tasks[index]:cancel() end
  for index = 2, 12, 2 do t:equal(tasks[index]:join(), 10000000) end
  t:equal(#api:get(server.small).body, 5)
end)

if server.idle_timeout then
  test("after the server has closed an idle connection, a call opens another", function(t)
    -- This client has one connection. nginx does not close connections without any request after keepalive_timeout.
    local single <close> = client()
    single:get(server.small)
    t:truthy(single:get(server.small).timing.reused)
    nightjar.sleep(2.5)
    local res = single:get(server.small)
    t:equal(res.http_version, "2")
    t:falsy(res.timing.reused)
  end)

  test("calls in the moment of the idle timeout succeed", function(t)
    for index = 1, 3 do
      nightjar.sleep(0.98 + index * 0.01)
      t:equal(api:get(server.small).status, 200)
    end
  end)
end

if #server.reload > 0 then
  test("no call fails while the server is reloaded", function(t)
    local reloading <close> = client { retry = not server.reloads_posts }
    local stopped, sent, opened, tasks = false, 0, 0, {}
    for index = 1, 20 do
      tasks[index] = nightjar.spawn(function()
        while not stopped do
          local write = server.reloads_posts and api.post or api.put
          local res = index > 10 and write(reloading, "/upload", { body = "content" }) or reloading:get(server.small)
          t:equal(res.http_version, "2")
          sent = sent + 1
          if not res.timing.reused then opened = opened + 1 end
        end
      end)
    end
    for _ = 1, 3 do
      nightjar.sleep(0.5)
      local result = nightjar.process.run { table.unpack(server.reload) }
      t:truthy(result.ok, result.stderr)
    end
    nightjar.sleep(1)
    stopped = true
    for _, task in ipairs(tasks) do task:join() end
    print(sent .. " calls, " .. opened .. " connections")
    t:truthy(sent > 100, sent)
    t:truthy(opened > 1, opened)
  end)

  test("a response in progress is complete after a reload", function(t)
    local length, reloaded = 0, false
    for part in api:get(server.large, { stream = true }):chunks() do
      length = length + #part
      if not reloaded then
        reloaded = nightjar.process.run({ table.unpack(server.reload) }).ok
        nightjar.sleep(0.3)
      end
    end
    t:equal(length, 10000000)
    t:equal(api:get(server.small).http_version, "2")
  end)
end

assert(testing.run().ok, "a case failed")
