-- The methods of uploads, states, and files that change: api:start_upload. Needs the demo API:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/upload_methods.lua
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local sources = require "sources"
local cases = require "upload_cases"
local fs, process, test = nightjar.fs, nightjar.process, testing.test
local upload, count = cases.upload, cases.count
local api, size, large, protocols = cases.api, cases.size, cases.large, cases.protocols
local check_content, start_slow, stopped = cases.check_content, cases.start_slow, cases.stopped

local folder, file
testing.before(function() folder, file = cases.folder, cases.file end)

-- --- Methods ---

for _, protocol in ipairs(protocols) do
  test(protocol .. ": a paused upload sends nothing, and continues where it was paused", function(t)
    local started <close>, run = start_slow(protocol)
    started:pause()
    nightjar.sleep(0.1)
    local before = sources.log(run)[1].offset
    local sent = started.progress.sent
    t:equal(started.progress.state, "paused")
    nightjar.sleep(0.2)
    t:equal(sources.log(run)[1].offset, before)
    t:equal(started.progress.sent, sent)
    started:resume()
    t:equal(started:wait(), started)
    t:equal(started.progress.state, "ended")
    check_content(t, sources.log(run))
  end)

  test(protocol .. ": an upload that is paused again and again continues each time", function(t)
    local started <close>, run = start_slow(protocol, { chunk_size = 150000 })
    for _ = 1, 20 do
      started:pause()
      nightjar.sleep(0.005)
      started:resume()
      nightjar.sleep(0.02)
    end
    started:wait()
    local log = sources.log(run)
    check_content(t, log)
    t:equal(#log, 1)
  end)

  test(protocol .. ": an upload that is paused at once sends no content until it is resumed", function(t)
    sources.write(file, large)
    local path, all, run = cases.plan { protocol = protocol, options = { max_rate = 2000000 } }
    local started <close> = api:start_upload(path, file, all)
    started:pause()
    nightjar.sleep(0.1)
    t:equal(started.progress.state, "paused")
    local log = sources.log(run)
    t:truthy(#log == 0 or log[1].offset < large, sources.describe(log))
    started:resume()
    started:wait()
    check_content(t, sources.log(run))
  end)

  test(protocol .. ": the end of a variable cancels the upload, and the server keeps it", function(t)
    local run
    do
      local started <close>, name = start_slow(protocol)
      run = name
    end
    nightjar.sleep(0.1)
    local log = sources.log(run)
    t:equal(log[1].complete, false)
    t:equal(log[1].removed, false)
  end)

  test(protocol .. ": cancel { keep = false } removes the upload", function(t)
    local started <close>, run = start_slow(protocol)
    started:cancel { keep = false }
    t:raises("cancelled", started.wait, started)
    for _ = 1, 100 do
      if sources.log(run)[1].removed then break end
      nightjar.sleep(0.02)
    end
    local log = sources.log(run)
    t:equal(log[1].removed, true, sources.describe(log))
    t:equal(count(log, "DELETE"), 1)
  end)

  test(protocol .. ": a state continues the upload in another client", function(t)
    local all, run, path = stopped(protocol)
    local other = nightjar.client { base_url = sources.origin }
    local result = other:upload(path, file, all)
    local log = sources.log(run)
    check_content(t, log, 0)
    t:equal(#log, 1)
    t:truthy(result.resumed > 0 and result.resumed < large, result.resumed)
    t:equal(result.resumed + result.sent, large)
  end)

  test(protocol .. ": a state continues the upload with another chunk size", function(t)
    local all, run, path = stopped(protocol, { chunk_size = 64000 })
    all.chunk_size = 150000
    t:truthy(api:upload(path, file, all).resumed > 0)
    check_content(t, sources.log(run))
    t:equal(#sources.log(run), 1)
  end)

  test(protocol .. ": the state of a complete upload does not upload again", function(t)
    local started <close>, run, path, all = start_slow(protocol)
    local state = started:state()
    started:wait()
    all.resume = state
    local ok, result = pcall(api.upload, api, path, file, all)
    local log = sources.log(run)
    t:truthy(ok, tostring(result) .. "\n" .. sources.describe(log))
    t:equal(#log, 1)
    check_content(t, log)
    t:equal(result.resumed, large)
    t:equal(result.sent, 0)
  end)

  local changes = {
    ["was appended to"] = function() fs.append(file, "x") end,
    ["was truncated"] = function() sources.write(file, large - 1) end,
    ["was replaced by a file of the same size"] = function()
      sources.write(file .. ".new", large, 2)
      fs.rename(file .. ".new", file)
    end,
    ["was changed in place"] = function()
      local changed = assert(io.open(file, "r+b"))
      changed:write "change"
      changed:close()
    end,
  }
  for name, change in pairs(changes) do
    test(("%s: a file that %s is not continued"):format(protocol, name), function(t)
      local all, run, path = stopped(protocol)
      nightjar.sleep(0.02)
      change()
      t:raises("content_changed", api.upload, api, path, file, all)
      local log = sources.log(run)
      t:equal(#log, 1)
      t:equal(log[1].complete, false)
    end)
    -- An open file that was replaced has its old content.
    if not name:match "replaced" then
      test(("%s: a file that %s while it is sent is an error"):format(protocol, name), function(t)
        local started <close> = start_slow(protocol)
        change()
        t:raises("content_changed", started.wait, started, 20)
      end)
    end
  end
  test(protocol .. ": a file that is replaced while it is sent is uploaded unchanged, or is an error", function(t)
    local started <close>, run = start_slow(protocol)
    local expected = sources.hash(file)
    changes["was replaced by a file of the same size"]()
    local ok, err = pcall(started.wait, started, 20)
    t:truthy(ok or err.kind == "content_changed", tostring(err))
    local log = sources.log(run)
    for _, one in ipairs(log) do t:truthy(not one.complete or one.sha256 == expected, sources.describe(log)) end
  end)

  -- Removes the upload on the server.
  local function remove(run)
    local log = sources.log(run)
    api:delete(log[1].path, { headers = { ["Tus-Resumable"] = "1.0.0" } })
  end
  for _, gone in ipairs { 0, 1 } do
    test(("%s: an upload that the server has removed starts over: gone=%d"):format(protocol, gone), function(t)
      local all, run, path = stopped(protocol, nil, { gone = gone })
      remove(run)
      local result = api:upload(path, file, all)
      t:equal(result.resumed, 0)
      local log = sources.log(run)
      t:equal(#log, 2, sources.describe(log))
      check_content(t, log, log[1].body_bytes)
    end)
    test(("%s: with restart = false, an upload that was removed is an error: gone=%d"):format(protocol, gone), function(t)
      local all, run, path = stopped(protocol, nil, { gone = gone })
      remove(run)
      all.restart = false
      t:raises("content_changed", api.upload, api, path, file, all)
      t:equal(#sources.log(run), 1)
    end)
  end

  test(protocol .. ": an upload that is removed while it is paused starts over", function(t)
    local started <close>, run = start_slow(protocol)
    started:pause()
    nightjar.sleep(0.05)
    remove(run)
    started:resume()
    started:wait()
    local log = sources.log(run)
    t:equal(#log, 2, sources.describe(log))
    check_content(t, log, log[1].body_bytes)
  end)

  test(protocol .. ": an upload that expires starts over", function(t)
    local started <close>, run = start_slow(protocol, nil, { lifetime = 0.5 })
    started:pause()
    local expires = started.progress.expires
    t:truthy(expires and math.abs(expires - os.time()) <= 2, expires)
    nightjar.sleep(0.55)
    started:resume()
    started:wait()
    local log = sources.log(run)
    t:equal(#log, 2, sources.describe(log))
    check_content(t, log, log[1].body_bytes)
  end)

  test(protocol .. ": max_rate limits the rate", function(t)
    local start = nightjar.time.monotonic()
    local result, err = upload { protocol = protocol, options = { max_rate = size } }
    local seconds = nightjar.time.monotonic() - start
    t:truthy(result, tostring(err))
    t:truthy(seconds > 0.6 and seconds < 2, seconds)
  end)

  test(protocol .. ": progress increases up to the size", function(t)
    local last, number = nil, 0
    local result, err = upload {
      protocol = protocol,
      options = {
        max_rate = 600000,
        on_progress = function(progress, self)
          t:equal(type(self), "userdata")
          t:equal(progress.total, size)
          t:truthy(progress.sent <= size, progress.sent)
          if last then t:truthy(progress.sent >= last.sent) end
          last, number = progress, number + 1
        end,
      },
    }
    t:truthy(result, tostring(err))
    t:truthy(number >= 3, number)
    t:equal(last.sent, size)
    t:equal(last.state, "ended")
  end)
end

test("tus: an upload is cancelled although the server cannot remove it", function(t)
  local started <close> = start_slow("tus", nil, { extensions = "creation" })
  started:cancel { keep = false }
  t:raises("cancelled", started.wait, started)
end)

test("wait with a timeout does not end the upload", function(t)
  local started <close>, run = start_slow "tus"
  t:raises("timeout", started.wait, started, 0.01)
  started:wait()
  check_content(t, sources.log(run))
end)

-- --- Files and settings ---

test("a file that cannot be read is an error", function(t)
  for _, path in ipairs { folder.path .. "/missing", folder.path, "/dev/null" } do
    t:raises("invalid_request", api.upload, api, "/upload", path)
  end
  process.run { "mkfifo", folder.path .. "/fifo" }
  t:raises("invalid_request", api.upload, api, "/upload", folder.path .. "/fifo")
end)

test("invalid states and settings are errors", function(t)
  sources.write(file, 10)
  for name, value in pairs {
    resume = "no state", checksum = "sha256:123", chunk_size = 0, max_rate = 0, attempts = 0, retry_delay = -1,
    protocol = "ftp", unknown = 1,
  } do
    local options = { protocol = "tus", query = { run = sources.new_run "settings" } }
    options[name] = value
    local ok, err = pcall(api.upload, api, "/tus", file, options)
    t:equal(ok, false, name)
    t:matches(tostring(err), name, tostring(err))
  end
end)

test("the state of another protocol is an error", function(t)
  local all = stopped "tus"
  all.protocol = "resumable"
  local ok, err = pcall(api.upload, api, "/resumable", file, all)
  t:equal(ok, false)
  t:matches(tostring(err), "protocol")
end)

assert(testing.run().ok, "a case failed")
