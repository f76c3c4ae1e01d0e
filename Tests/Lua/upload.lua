-- Uploads in scripts: arguments, hooks, callbacks, tasks and the objects of uploads. Tests/Transfers has the faults of
-- servers. Needs the demo API.
local nightjar = require "nightjar"
local fs = require "nightjar.fs"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api <close> = nightjar.client { base_url = origin, timeout = 60 }
local folder <close> = fs.temp_dir()
local file = folder.path .. "/content"
fs.write(file, ("0123456789"):rep(30000))
local tus = { protocol = "tus", retry_delay = 0 }

local function tus_with(options)
  for name, value in pairs(tus) do options[name] = options[name] or value end
  return options
end

test("an upload has the properties of its content", function(t)
  local upload = api:upload("/tus?faults=none,cut@100000", file, tus)
  t:equal({ upload.size, upload.resumed, upload.attempts }, { 300000, 0, 4 })
  t:equal({ upload.progress.state, upload.progress.sent, upload.progress.total }, { "ended", 300000, 300000 })
  t:matches(upload.url, "^http://.*/tus/%d+$")
  t:equal(upload.response.status, 204)
  t:equal(upload:state(), nil)
  t:matches(tostring(upload), "^nightjar%.upload: 0x%x+ %(ended%)$")
  t:equal(upload:wait(), upload)
  upload:pause()
  upload:resume()
  upload:cancel { keep = false }
  t:matches(select(2, pcall(function() return upload.sizes end)), "an upload has no field 'sizes'; did you mean 'size'")
end)

test("the hook before makes each request", function(t)
  local count = 0
  local hooked <close> = nightjar.client {
    base_url = origin,
    before = function(request)
      count = count + 1
      request.headers["X-Count"] = tostring(count)
      nightjar.sleep(0)
    end,
  }
  t:equal(hooked:upload("/tus?faults=none,cut@100000", file, tus).attempts, 4)
  t:equal(count, 4)
end)

test("an error in a hook ends the upload", function(t)
  local count = 0
  local hooked <close> = nightjar.client {
    base_url = origin,
    before = function()
      count = count + 1
      if count == 2 then error("no request", 0) end
    end,
  }
  t:equal({ pcall(hooked.upload, hooked, "/tus", file, tus) }, { false, "no request" })
end)

test("on_progress is called by the task that waits", function(t)
  local reports, last = 0, nil
  api:upload("/tus", file, tus_with {
    max_rate = 1000000,
    on_progress = function(progress, upload)
      reports, last = reports + 1, progress
      t:truthy(progress.sent <= progress.total and upload.progress.sent >= progress.sent)
      nightjar.sleep(0)
    end,
  })
  t:truthy(reports >= 1, reports)
  t:equal(last.state, "ended")
end)

test("a function provides the content", function(t)
  local parts = { "one ", "", "two ", "three" }
  local upload = api:upload("/resumable", function()
    nightjar.sleep(0)
    return table.remove(parts, 1)
  end, { protocol = "resumable", chunk_size = 5 })
  t:equal(upload.size, 13)
  t:equal(upload.response.json.bytes, 13)
  t:equal(api:upload("/echo", function() return nil end, { protocol = "post" }).response.json.body_bytes, 0)
end)

test("errors of the function end the upload", function(t)
  t:equal({ pcall(api.upload, api, "/tus", function() error("broken", 0) end, tus) }, { false, "broken" })
  t:matches(select(2, pcall(api.upload, api, "/tus", function() return 5 end, tus)),
    "upload: the function must return a string or nil, got number")
end)

test("a function of an upload cannot wait for it", function(t)
  local upload
  upload = api:start_upload("/tus", function() return upload:wait() end, tus)
  t:matches(select(2, pcall(upload.wait, upload)), "wait: not available in a function of the upload")
end)

test("a paused upload waits", function(t)
  local upload <close> = api:start_upload("/tus", file, tus)
  upload:pause()
  t:raises({ kind = "timeout", message = "the upload has not ended in time; it continues" }, function() upload:wait(0.3) end)
  t:equal(upload.progress.state, "paused")
  upload:resume()
  t:equal(upload:wait(60).size, 300000)
end)

test("another client continues with the state", function(t)
  local first = api:start_upload("/tus?faults=none,cut@100000", file, { protocol = "tus", attempts = 1 })
  t:raises({ kind = "connection_lost" }, function() first:wait() end)
  local other <close> = nightjar.client { base_url = origin }
  t:equal(other:upload("/tus", file, tus_with { resume = first:state() }).resumed, 100000)
end)

test("cancelling the task cancels the upload", function(t)
  local run = "lua-cancel-" .. os.time()
  local task = nightjar.spawn(function() api:upload("/tus?run=" .. run, file, tus_with { max_rate = 50000 }) end)
  while #api:get("/__uploads/" .. run).json.uploads == 0 do nightjar.sleep(0.01) end
  task:cancel()
  t:raises({ kind = "cancelled" }, function() task:join() end)
end)

test("wrong arguments are rejected", function()
  misuse("upload: path must be a string, got nil", function() api:upload(nil, file) end)
  misuse("upload: file must be a string or a function, got nil", function() api:upload("/tus") end)
  misuse("start_upload: options must be a table, got string", function() api:start_upload("/tus", file, "tus") end)
  misuse("upload: on_progress must be a function, got number", function() api:upload("/tus", file, { on_progress = 1 }) end)
end)

test("wrong options are reported", function(t)
  t:matches(select(2, pcall(api.upload, api, "/tus", file, { protocl = "tus" })), "unknown option 'protocl'")
  local invalid = {
    { protocol = "ftp" }, { chunk_size = 5 }, { protocol = "tus", chunk_size = 0 }, { attempts = 0 }, { retry_delay = 301 },
    { checksum = "sha256:12" }, { checksum = "crc" }, { protocol = "oci", checksum = "md5" }, { max_rate = 0 },
    { protocol = "tus", resume = "no state" }, { resume = "{}" }, { protocol = "tus", metadata = { ["a b"] = "c" } },
  }
  for _, options in ipairs(invalid) do
    t:raises({ kind = "invalid_argument" }, function() api:upload("/tus", file, options) end)
  end
  t:raises({ kind = "invalid_request" }, function() api:upload("/tus", file, { protocol = "tus", body = "x" }) end)
  t:raises({ kind = "invalid_request" }, function() api:upload("/tus", folder.path) end)
  t:raises({ kind = "invalid_request" }, function() api:upload("/tus", folder.path .. "/missing") end)
end)

test("a closed client ends its uploads", function(t)
  local closing = nightjar.client { base_url = origin }
  local upload = closing:start_upload("/tus", file, tus_with { max_rate = 50000 })
  closing:close()
  t:raises({ kind = "cancelled" }, function() upload:wait() end)
end)

assert(testing.run().ok, "a case failed")
