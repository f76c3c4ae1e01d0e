-- Downloads in scripts: arguments, hooks, callbacks, tasks and the objects of downloads. Tests/Transfers has the faults of
-- servers. Needs the demo API, which closes the connection after 100,000 bytes of each response of `film`.
local nightjar = require "nightjar"
local fs = require "nightjar.fs"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api <close> = nightjar.client { base_url = origin, timeout = 60 }
local film = "/cache/film?length=300000&etag=strong&cut=100000"
local folder <close> = fs.temp_dir()

local number = 0
local function new_file()
  number = number + 1
  return folder.path .. "/" .. number
end

local function size_of(path)
  local status = fs.stat(path)
  return status and status.size
end

test("a download has the properties of its file", function(t)
  local path = new_file()
  local download = api:download(film, path, { retry_delay = 0 })
  t:equal(download.path, path)
  t:equal({ download.size, download.received, download.resumed, download.attempts }, { 300000, 300000, 0, 3 })
  t:equal(download.progress.state, "ended")
  t:equal(download.progress.received, 300000)
  t:equal(download.progress.total, 300000)
  t:equal(download:state(), nil)
  t:matches(tostring(download), "^nightjar%.download: 0x%x+ %(ended%)$")
  t:equal(size_of(path), 300000)
  t:equal(download:wait(), download)
  download:pause()
  download:resume()
  download:cancel { keep = false }
  t:equal(size_of(path), 300000)
end)

test("a download in progress has no file", function(t)
  local download <close> = api:start_download("/drip?bytes=100&delay=1", new_file())
  t:equal(download.path, nil)
  t:equal(download.size, nil)
  t:equal(download.attempts, nil)
  misuse("a download has no field 'sise'; did you mean 'size'?", function() return download.sise end)
end)

test("the hook before changes each request", function(t)
  local count = 0
  local signed = nightjar.client {
    base_url = origin,
    before = function(request)
      count = count + 1
      nightjar.sleep(0)
      request.query = { length = 300000, etag = "strong", cut = 100000, number = count }
    end,
  }
  local urls = {}
  local download = signed:download("/cache/film", new_file(), {
    retry_delay = 0, on_head = function(response) urls[#urls + 1] = response.url:match "number=(%d+)" end,
  })
  t:equal(download.size, 300000)
  t:equal(count, 3)
  t:equal(urls, { "1", "2", "3" })
end)

test("another task calls the hook if the task in the hook is cancelled", function(t)
  local count, is_waiting = 0, false
  local slow = nightjar.client {
    base_url = origin,
    before = function()
      count = count + 1
      if count == 2 then
        is_waiting = true
        nightjar.sleep(60)
      end
    end,
  }
  local download = slow:start_download(film, new_file(), { retry_delay = 0 })
  local first = nightjar.spawn(function() download:wait() end)
  local second = nightjar.spawn(function() return download:wait().size end)
  while not is_waiting do nightjar.sleep(0.01) end
  first:cancel()
  t:equal(second:join(), 300000)
  pcall(first.join, first)
end)

test("an error of the hook ends the download", function(t)
  local path, count = new_file(), 0
  local failing = nightjar.client {
    base_url = origin,
    before = function()
      count = count + 1
      if count == 2 then error("no signature", 0) end
    end,
  }
  local ok, err = pcall(failing.download, failing, film, path, { retry_delay = 0 })
  t:equal(ok, false)
  t:equal(err, "no signature")
  t:equal(size_of(path), nil)
end)

test("callbacks can wait, and run one at a time", function(t)
  local heads, reports, running, seen = 0, 0, 0, nil
  local function callback(count)
    return function(value, download)
      running = running + 1
      t:equal(running, 1)
      nightjar.sleep(0.01)
      seen = download
      count(value)
      running = running - 1
    end
  end
  local download = api:start_download(film, new_file(), {
    retry_delay = 0.05,
    on_head = callback(function(response)
      t:equal(response.body, "")
      heads = heads + 1
    end),
    on_progress = callback(function(progress) reports = reports + 1 t:truthy(progress.received <= progress.total) end),
  })
  -- Two tasks wait for the same download.
  nightjar.all { function() download:wait() end, function() download:wait() end }
  t:equal(seen, download)
  t:truthy(heads >= 1 and heads <= 3, heads)
  t:truthy(reports >= 1, reports)
end)

test("an error of a callback cancels the download and keeps its part", function(t)
  local path = new_file()
  local ok, err = pcall(api.download, api, film, path, { attempts = 5, on_head = function() error("enough", 0) end })
  t:equal(ok, false)
  t:equal(err, "enough")
  t:equal(size_of(path), nil)
end)

test("on_head can cancel", function(t)
  local err = t:raises({ kind = "cancelled" }, function()
    api:download(film, new_file(), { on_head = function(_, download) download:cancel { keep = false } end })
  end)
  t:equal(err.message, "the download was cancelled")
end)

test("the end of a task ends its download", function(t)
  local path = new_file()
  local task = nightjar.spawn(function() api:download("/drip?bytes=1000&delay=0.05", path) end)
  while not size_of(path .. ".nightjar-part") do nightjar.sleep(0.01) end
  task:cancel()
  pcall(task.join, task)
  -- The part has no validator: it is removed.
  while size_of(path .. ".nightjar-part") do nightjar.sleep(0.01) end
  t:equal(size_of(path), nil)
end)

test("a wait that expires does not end the download", function(t)
  local download <close> = api:start_download("/drip?bytes=10&delay=0.05", new_file())
  t:raises({ kind = "timeout", message = "the download has not ended in time; it continues" }, function() download:wait(0.05) end)
  t:equal(download:wait(60).size, 10)
end)

test("a paused download waits", function(t)
  local download <close> = api:start_download("/drip?bytes=10&delay=0.02", new_file())
  download:pause()
  t:raises({ kind = "timeout" }, function() download:wait(0.3) end)
  t:equal(download.progress.state, "paused")
  download:resume()
  t:equal(download:wait(60).size, 10)
end)

test("a download can be paused before its file is open", function(t)
  for _ = 1, 20 do
    local path = new_file()
    local download = api:start_download("/bytes/1000", path)
    download:pause()
    download:resume()
    -- The pause cancels the first request if the file was open already.
    t:truthy(download:wait(60).attempts <= 2)
    download = nil
    collectgarbage()
  end
end)

test("an endpoint can be downloaded", function(t)
  local described = nightjar.client { base_url = origin, endpoints = { bytes = { path = "/bytes/{count}" } } }
  local path = new_file()
  t:equal(described:download("/bytes/123", path).size, 123)
end)

test("another method is sent once", function(t)
  local path = new_file()
  t:equal(api:download("/echo", path, { method = "POST", json = { a = 1 } }).attempts, 1)
  t:matches(fs.read(path), '"POST"')
end)

test("wrong arguments are errors", function(t)
  misuse("download: file must be a string, got nil", function() api:download "/bytes/1" end)
  misuse("start_download: path must be a string, got nil", function() api:start_download(nil, "x") end)
  misuse("download: options must be a table, got string", function() api:download("/bytes/1", "x", "y") end)
  misuse("download: on_head must be a function, got number", function() api:download("/bytes/1", "x", { on_head = 1 }) end)
  t:matches(select(2, pcall(api.download, api, "/bytes/1", "x", { conections = 2 })), "unknown option 'conections'")
  local invalid = {
    { connections = 17 }, { connections = 0 }, { attempts = 0 }, { max_rate = 0 }, { retry_delay = 301 }, { mode = "888" }, { mode = 420 },
    { checksum = "sha256:12" }, { resume = "no state" }, { resume = 1 }, { restart = "no" }, { max_size = 0 },
  }
  for _, options in ipairs(invalid) do
    t:raises({ kind = "invalid_argument" }, function() api:download("/bytes/1", new_file(), options) end)
  end
  t:raises({ kind = "invalid_argument" }, function() api:download("/bytes/1", "") end)
  t:raises({ kind = "invalid_request" }, function() api:download("/bytes/1", new_file(), { headers = { Range = "bytes=0-0" } }) end)
end)

test("a closed client ends its downloads", function(t)
  local closing = nightjar.client { base_url = origin }
  local download = closing:start_download("/drip?bytes=1000&delay=0.05", new_file())
  closing:close()
  t:raises({ kind = "cancelled" }, function() download:wait() end)
end)

test("a download that nobody refers to is cancelled", function(t)
  local path = new_file()
  do local _ = api:start_download("/drip?bytes=1000&delay=0.05", path) end
  while not size_of(path .. ".nightjar-part") do nightjar.sleep(0.01) end
  collectgarbage()
  collectgarbage()
  while size_of(path .. ".nightjar-part") do nightjar.sleep(0.01) end
  t:equal(size_of(path), nil)
end)

assert(testing.run().ok, "a case failed")
