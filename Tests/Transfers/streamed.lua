-- Streamed responses that become downloads: res:download and res:start_download. Needs the demo API:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/streamed.lua
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local files = require "files"
local fs, test = nightjar.fs, testing.test

local size = 1000000
local api = nightjar.client { base_url = files.origin, timeout = { idle = 1 } }

local folder, target
testing.before(function()
  folder = fs.temp_dir { prefix = "streamed-" }
  target = folder.path .. "/file.bin"
end)
testing.after(function() folder:remove() end)

-- Requests /file. Returns the streamed response, the query, and the name of the run.
local function stream(query, options, client)
  local all = { size = size, seed = 7, run = files.new_run "streamed" }
  for name, value in pairs(query or {}) do all[name] = value end
  local call = { stream = true, query = all }
  for name, value in pairs(options or {}) do call[name] = value end
  return (client or api):get("/file", call), all
end

local function check_file(t, query)
  t:equal(files.hash(target), files.digest(query))
  t:equal(files.names(folder.path), "file.bin")
end

test("the body is written to the file", function(t)
  local res, query = stream()
  t:equal(res.status, 200)
  local result = res:download(target)
  t:equal(result.path, target)
  t:equal(result.size, size)
  t:equal(result.received, size)
  t:equal(result.attempts, 1)
  check_file(t, query)
  t:equal(files.log(query.run).count, 1)
end)

test("a body that is cut is continued with a range", function(t)
  local res, query = stream { faults = "cut@300000" }
  local result = res:download(target, { retry_delay = 0.01 })
  t:equal(result.attempts, 2)
  check_file(t, query)
  local log = files.log(query.run)
  t:equal(log.count, 2, files.describe(log))
  t:truthy(log.requests[2].range and log.requests[2].if_range, files.describe(log))
  t:truthy(log.body_bytes < 1.05 * size, files.describe(log))
end)

test("a body that waits in the window is not lost", function(t)
  local res, query = stream()
  nightjar.sleep(0.2)
  res:download(target)
  check_file(t, query)
end)

test("a response that has ended becomes a file", function(t)
  for _, bytes in ipairs { 0, 1000 } do
    local res, query = stream { size = bytes }
    nightjar.sleep(0.1)
    local result = res:download(target)
    t:equal(result.size, bytes)
    check_file(t, query)
  end
end)

test("a body that was read in part is not downloaded, and can be read to its end", function(t)
  local res, query = stream()
  local count = 0
  for chunk in res:chunks() do
    count = count + #chunk
    if count == #chunk then t:raises("invalid_argument", res.download, res, target) end
  end
  t:equal(count, size)
  t:equal(files.log(query.run).count, 1)
  t:equal(files.names(folder.path), "")
end)

test("a collected response is not downloaded", function(t)
  local res = api:get "/bytes/100"
  t:raises("invalid_argument", res.download, res, target)
end)

test("a response becomes one download", function(t)
  local res, query = stream()
  local download = res:start_download(target)
  t:raises("invalid_argument", res.download, res, target)
  t:equal(pcall(res:chunks()), false)
  download:wait()
  check_file(t, query)
end)

test("a task that waits for the body is woken", function(t)
  local res, query = stream { faults = "stall@0", stall_time = 5 }
  local reader = nightjar.spawn(function() return pcall(res:chunks()) end)
  nightjar.sleep(0.1)
  local download = res:start_download(target, { retry_delay = 0.01 })
  local start = nightjar.time.monotonic()
  t:equal(select(1, reader:join()), false)
  t:truthy(nightjar.time.monotonic() - start < 0.5)
  download:cancel()
end)

test("the end of the response's variable does not cancel the download", function(t)
  local res, query = stream { faults = "stall@500000", stall_time = 0.3 }
  local download = res:start_download(target)
  res:close()
  res = nil
  collectgarbage()
  collectgarbage()
  download:wait()
  check_file(t, query)
end)

test("the total timeout of the call does not apply", function(t)
  local client <close> = nightjar.client { base_url = files.origin, timeout = { idle = 5, total = 0.3 } }
  local res, query = stream(nil, nil, client)
  local start = nightjar.time.monotonic()
  res:download(target, { max_rate = size })
  t:truthy(nightjar.time.monotonic() - start > 0.4)
  check_file(t, query)
  t:equal(files.log(query.run).count, 1)
end)

test("a cancelled download keeps its part, which api:download continues", function(t)
  local res, query = stream()
  local download = res:start_download(target, { max_rate = 100000 })
  while download.progress.received == 0 do nightjar.sleep(0.01) end
  download:cancel()
  t:raises("cancelled", download.wait, download)
  local result = api:download("/file", target, { query = query })
  t:truthy(result.resumed > 0)
  check_file(t, query)
end)

test("a part of an earlier download is discarded", function(t)
  local query = { size = size, seed = 7, run = files.new_run "streamed", faults = "cut@300000" }
  t:raises("connection_lost", api.download, api, "/file", target, { query = query, attempts = 1 })
  local res = api:get("/file", { query = query, stream = true })
  local result = res:download(target)
  t:equal(result.resumed, 0)
  check_file(t, query)
end)

test("a file with another checksum is an error", function(t)
  local res = stream()
  t:raises("checksum_mismatch", res.download, res, target, { checksum = "sha256:" .. ("0"):rep(64), restart = false })
  t:equal(fs.exists(target), false)
end)

test("a folder that does not exist is an error, and ends the call", function(t)
  local res, query = stream()
  t:raises("storage", res.download, res, folder.path .. "/none/file.bin")
  t:equal(files.log(query.run).count, 1)
end)

test("the folder gives no name, and the URL does", function(t)
  local res, query = stream()
  local result = res:download(folder.path .. "/")
  t:equal(result.path, folder.path .. "/file")
  t:equal(files.hash(result.path), files.digest(query))
end)

test("a response with a content coding is decoded", function(t)
  local res = api:get("/encoded/gzip", { stream = true })
  local result = res:download(target)
  t:equal(fs.read(target), api:get("/encoded/gzip").text)
  t:equal(result.size, fs.stat(target).size)
end)

test("a request with Range and other statuses are rejected", function(t)
  local res = stream(nil, { headers = { Range = "bytes=0-99999" } })
  t:raises("invalid_request", res.download, res, target)
  fs.write(target .. ".nightjar-part", "x")
  res = api:get("/status/202", { stream = true })
  t:raises("invalid_argument", res.download, res, target)
  t:equal(fs.exists(target .. ".nightjar-part"), "file")
  res = api:get("/encoded/gzip", { stream = true, decompress = false, headers = { ["Accept-Encoding"] = "gzip" } })
  t:raises("invalid_argument", res.download, res, target)
  t:truthy(#res:chunks()() > 0)
end)

test("progress is reported", function(t)
  local res, query = stream()
  local last
  res:download(target, { on_progress = function(progress) last = progress end })
  t:equal(last.state, "ended")
  t:equal(last.received, size)
  check_file(t, query)
end)

test("options are checked", function(t)
  local res = stream()
  t:raises("must be a string", res.download, res, nil)
  t:raises("must be a table", res.download, res, target, 1)
  t:raises("connections", res.download, res, target, { connections = 2 })
  t:raises("resume", res.download, res, target, { resume = false })
  t:raises("invalid_argument", res.download, res, target, { attempts = 0 })
  t:equal(res:download(target).size, size)
end)

assert(testing.run().ok, "a case failed")
