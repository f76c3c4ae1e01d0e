-- The targets, settings and methods of downloads: api:download and api:start_download. Needs the demo API:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/targets.lua
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local files = require "files"
local fs, process, test = nightjar.fs, nightjar.process, testing.test

local api = nightjar.client { base_url = files.origin, timeout = { idle = 5 } }
local size = 1000000
local expected = files.digest { size = size, seed = 3 }

local folder, root, target
testing.before(function()
  folder = fs.temp_dir { prefix = "targets-" }
  root, target = folder.path, folder.path .. "/file.bin"
end)
testing.after(function()
  process.run { "chmod", "-R", "u+rwx", root }
  folder:remove()
end)

-- Adds the query of the content to the options of a download.
local function options(query, settings)
  local all = { query = { size = size, seed = 3, run = files.new_run "targets" }, retry_delay = 0.01 }
  for name, value in pairs(query or {}) do all.query[name] = value end
  for name, value in pairs(settings or {}) do all[name] = value end
  return all
end

local function download(path, query, settings) return api:download("/file", path, options(query, settings)) end

-- Checks that a download fails with an error of this kind. Returns the error.
local function fails(t, kind, path, query, settings)
  local ok, err = pcall(download, path, query, settings)
  t:equal(ok, false)
  t:equal(err.kind, kind, tostring(err))
  return err
end

-- Starts a slow download, and waits until it has received some bytes.
local function start_slow(query, settings)
  local all = options(query, settings)
  all.max_rate = 2000000
  local started = api:start_download("/file", target, all)
  while started.progress.received < 100000 do nightjar.sleep(0.01) end
  return started, all
end

-- Targets.
test("a file with the name is replaced", function(t)
  fs.write(target, "old")
  download(target)
  t:equal(files.hash(target), expected)
end)

test("a file with the name stays until the download is complete, and after an error", function(t)
  fs.write(target, "old")
  fails(t, "checksum_mismatch", target, { repr_digest = "wrong" })
  t:equal(fs.read(target), "old")
end)

test("with overwrite = false, a file with the name is an error", function(t)
  fs.write(target, "old")
  fails(t, "storage", target, nil, { overwrite = false })
  t:equal(fs.read(target), "old")
end)

test("a folder that does not exist is an error", function(t) fails(t, "storage", root .. "/missing/file.bin") end)

test("a folder without a name in the response has the name of the URL", function(t)
  local got = download(root)
  t:equal(got.path, root .. "/file")
  t:equal(files.hash(root .. "/file"), expected)
end)

local names = {
  { 'attachment; filename="a b.txt"', "a b.txt" },
  { "attachment; filename=plain.txt", "plain.txt" },
  { "attachment; filename=\"x\"; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt" },
  { 'attachment; filename="../../etc/passwd"', "passwd" },
  { 'attachment; filename="/etc/passwd"', "passwd" },
  { "attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", "passwd" },
  { 'attachment; filename="C:\\\\Windows\\\\evil.exe"', "evil.exe" },
  { "attachment; filename*=UTF-8''a%00b%0Ac.txt", "abc.txt" },
  { "attachment", "file" },
  { 'attachment; filename=".."', "file" },
  { 'attachment; filename=""', "file" },
  { "attachment; filename*=UTF-8''gpj%E2%80%AE.exe", "gpj.exe" },
}
for _, row in ipairs(names) do
  test("the name of Content-Disposition is made safe: " .. row[1]:gsub("\u{202e}", ""), function(t)
    local got = download(root .. "/", { disposition = row[1] })
    t:equal(got.path, root .. "/" .. row[2])
    t:equal(files.names(root), row[2])
  end)
end

test("the name of a dot file is not hidden", function(t)
  local got = download(root .. "/", { disposition = "attachment; filename=.bashrc" })
  t:equal(got.path:match "[^/]*$":sub(1, 1) ~= ".", true)
end)

test("a long name is shortened", function(t)
  local got = download(root .. "/", { disposition = "attachment; filename=" .. ("x"):rep(400) .. ".iso" })
  t:truthy(#got.path:match "[^/]*$" <= 255)
  t:matches(got.path, "%.iso$")
end)

test("a name from the server does not replace a file", function(t)
  fs.write(root .. "/a.txt", "old")
  local got = download(root .. "/", { disposition = "attachment; filename=a.txt" })
  t:equal(fs.read(root .. "/a.txt"), "old")
  t:truthy(got.path ~= root .. "/a.txt", got.path)
  t:equal(files.hash(got.path), expected)
end)

test("a symbolic link is followed", function(t)
  fs.mkdir(root .. "/real")
  fs.write(root .. "/real/file", "old")
  process.run { "ln", "-s", "real/file", target }
  download(target)
  t:equal(files.hash(root .. "/real/file"), expected)
  t:equal(process.run { "readlink", target }.stdout, "real/file\n")
  t:equal(files.names(root .. "/real"), "file")
end)

test("a part that is a symbolic link is not written", function(t)
  fs.write(root .. "/victim", "safe")
  process.run { "ln", "-s", "victim", target .. ".nightjar-part" }
  fails(t, "storage", target)
  t:equal(fs.read(root .. "/victim"), "safe")
end)

test("a device is not replaced", function(t)
  local ok = pcall(download, "/dev/null")
  t:equal(ok, false)
  t:equal(process.run { "test", "-c", "/dev/null" }.ok, true)
end)

test("a FIFO does not block", function(t)
  process.run { "mkfifo", target .. ".nightjar-part" }
  fails(t, "storage", target)
end)

test("a read-only folder is an error", function(t)
  local command = { arg[-1], files.folder .. "/download.lua", target, nightjar.json.encode(options().query) }
  if process.run { "id", "-u" }.stdout == "0\n" then
    -- Permissions apply to root only without this capability.
    command = { "setpriv", "--bounding-set", "-dac_override", table.unpack(command) }
  end
  process.run { "chmod", "a-w", root }
  local result = process.run(command)
  t:equal(result.ok, false)
  t:equal(fs.exists(target), false)
  t:truthy(result.stderr:find("cannot be opened: Permission denied", 1, true), result.stderr)
end)

test("a file system of another kind is used", { skip = not fs.exists "/dev/shm" and "there is no /dev/shm" }, function(t)
  local path = ("/dev/shm/nightjar-%d.bin"):format(os.time())
  download(path)
  t:equal(files.hash(path), expected)
  os.remove(path)
end)

-- The limits are in KiB. The large content is written without the page cache, where the disk allows it.
for _, row in ipairs { { limit = 400, size = size }, { limit = 9999, size = 80000001 } } do
  test(("a limit of the size of files is an error, and the part is kept: %d bytes"):format(row.size), function(t)
    local script = ("ulimit -f %d; exec \"$0\" \"$@\""):format(row.limit)
    local all = options { size = row.size }
    local query = nightjar.json.encode(all.query)
    local result = process.run { "bash", "-c", script, arg[-1], files.folder .. "/download.lua", target, query }
    t:equal(result.ok, false)
    t:equal(result.signal, nil)
    t:equal(fs.exists(target), false)
    t:truthy(fs.exists(target .. ".nightjar-part"))
    t:truthy(api:download("/file", target, all).resumed > 0)
    t:equal(files.hash(target), files.digest { size = row.size, seed = 3 })
  end)
end

test("a second download to the same file is an error", function(t)
  local first = start_slow()
  fails(t, "storage", target)
  first:wait()
  t:equal(files.hash(target), expected)
end)

test("two processes that download the same file do not mix it", function(t)
  local query = nightjar.json.encode { size = size, seed = 3, rate = 5000000, run = files.new_run "two" }
  local results = nightjar.map({ 1, 2 }, function()
    return process.run { arg[-1], files.folder .. "/download.lua", target, query }
  end)
  t:truthy(results[1].ok or results[2].ok, results[1].stderr)
  t:equal(files.hash(target), expected)
  t:equal(files.names(root), "file.bin")
end)

-- Settings.
test("mode sets the permissions", function(t)
  download(target, nil, { mode = "640" })
  t:equal(fs.stat(target).mode, tonumber("640", 8))
end)

test("keep_time sets the time of Last-Modified", function(t)
  download(target, { modified = 1600000000 }, { keep_time = true })
  t:equal(math.floor(fs.stat(target).modified), 1600000000)
end)

test("max_size limits the size that the server announces", function(t)
  local all = options(nil, { max_size = size - 1 })
  local ok, err = pcall(api.download, api, "/file", target, all)
  t:equal(ok, false)
  t:equal(err.kind, "too_large")
  t:equal(files.names(root), "")
end)

test("max_size limits a content of unknown size", function(t)
  fails(t, "too_large", target, { length = "chunked" }, { max_size = 100000 })
  t:equal(fs.exists(target), false)
  download(root .. "/other", { length = "chunked" }, { max_size = size })
end)

test("max_rate limits the rate", function(t)
  for _, connections in ipairs { 1, 3 } do
    local start = nightjar.time.monotonic()
    download(target, { size = 3000000 }, { max_rate = 3000000, connections = connections })
    local seconds = nightjar.time.monotonic() - start
    t:truthy(seconds > 0.7 and seconds < 2, ("%d connections: %.2f s"):format(connections, seconds))
  end
end)

-- Contents of at least 64 MiB are written without the page cache, where the disk allows it.
for _, connections in ipairs { 1, 3 } do
  test(("a large content is right: %d connections"):format(connections), function(t)
    local query = { size = 80000001, faults = "reset@3000001,cut@7000003" }
    local download = download(target, query, { connections = connections })
    t:equal(download.size, query.size)
    t:equal(files.hash(target), files.digest { size = query.size, seed = 3 })
  end)
end

-- Progress.
for _, length in ipairs { "known", "chunked" } do
  test("progress increases up to the size: length " .. length, function(t)
    local last, count = nil, 0
    download(target, { rate = 2000000, length = length }, {
      on_progress = function(progress, self)
        t:equal(type(self), "userdata")
        if last then t:truthy(progress.received >= last.received) end
        if length == "known" and progress.received > 0 then t:equal(progress.total, size) end
        last, count = progress, count + 1
      end,
    })
    t:truthy(count >= 3, count)
    t:equal(last.received, size)
  end)
end

test("the rate and the time that is left are those of the server", function(t)
  local rates, times = {}, {}
  download(target, { rate = 500000 }, {
    on_progress = function(progress)
      if progress.received > 500000 and progress.received < 900000 then
        rates[#rates + 1], times[#times + 1] = progress.rate, progress.time_left
      end
    end,
  })
  t:truthy(#rates > 0)
  for index, rate in ipairs(rates) do
    t:truthy(rate > 300000 and rate < 800000, rate)
    t:truthy(times[index] > 0 and times[index] < 2, times[index])
  end
end)

-- Methods.
test("a paused download sends no request, and continues where it was paused", function(t)
  local started, all = start_slow { rate = 2000000 }
  started:pause()
  nightjar.sleep(0.2)
  local received = started.progress.received
  nightjar.sleep(0.3)
  t:equal(started.progress.received, received)
  t:equal(started.progress.state, "paused")
  started:resume()
  t:equal(started:wait(), started)
  t:equal(files.hash(target), expected)
  local log = files.log(all.query.run)
  t:equal(log.count, 2)
  t:truthy(log.body_bytes < 1.2 * size, log.body_bytes)
end)

test("a content without a validator starts over after a pause", function(t)
  local started = start_slow { etag = "weak" }
  started:pause()
  started:resume()
  started:wait()
  t:equal(files.hash(target), expected)
end)

for _, keep in ipairs { true, false } do
  test(("cancel { keep = %s } keeps or removes the part"):format(keep), function(t)
    local started, all = start_slow()
    started:cancel { keep = keep }
    local ok, err = pcall(started.wait, started)
    t:equal(ok, false)
    t:equal(err.kind, "cancelled")
    t:equal(files.names(root), keep and "file.bin.nightjar-part file.bin.nightjar-part.state" or "")
    t:equal(api:download("/file", target, all).resumed > 0, keep)
    t:equal(files.hash(target), expected)
  end)
end

test("resume = false discards the part", function(t)
  local started, all = start_slow()
  started:cancel()
  pcall(started.wait, started)
  all.resume = false
  local second = api:download("/file", target, all)
  t:equal(second.resumed, 0)
  t:equal(second.received, size)
end)

test("a state continues the part at its place, with another URL", function(t)
  local started = start_slow()
  started:cancel()
  pcall(started.wait, started)
  local state = started:state()
  t:equal(type(state), "string")
  local second = download(root .. "/other.bin", { run = files.new_run "state" }, { resume = state })
  t:truthy(second.resumed > 0)
  t:equal(files.hash(root .. "/other.bin"), expected)
  t:equal(files.names(root), "other.bin")
end)

test("the part of another URL is not used", function(t)
  local started = start_slow()
  started:cancel()
  pcall(started.wait, started)
  local second = download(target, { seed = 4 })
  t:equal(second.resumed, 0)
  t:equal(files.hash(target), files.digest { size = size, seed = 4 })
end)

test("a part that another program has changed is detected with a checksum", function(t)
  local started, all = start_slow()
  started:cancel()
  pcall(started.wait, started)
  local part = assert(io.open(target .. ".nightjar-part", "r+b"))
  part:write "damage"
  part:close()
  all.checksum = "sha256:" .. expected
  t:truthy(pcall(api.download, api, "/file", target, all))
  t:equal(files.hash(target), expected)
end)

test("invalid states and settings are errors", function(t)
  for name, value in pairs {
    resume = "no state", checksum = "sha256:123", connections = 0, mode = "999", max_rate = 0, max_size = -1, attempts = 0,
    retry_delay = -1, unknown = 1,
  } do
    local ok, err = pcall(download, target, nil, { [name] = value })
    t:equal(ok, false, name)
    t:matches(tostring(err), name, tostring(err))
  end
  t:equal(files.names(root), "")
end)

assert(testing.run().ok, "a case failed")
