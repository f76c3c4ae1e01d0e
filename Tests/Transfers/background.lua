-- Background transfers: nightjar.transfers, and the worker nightjar transferd, which the tests start and kill. Needs the demo API:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/background.lua NIGHTJAR [KILLS [LIBRARY STEP]]
--
-- KILLS is the number of kills at random moments. LIBRARY is kill_at.c as a shared library: workers are then also killed at
-- every STEP-th call that changes a file.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local files = require "files"
local sources = require "sources"
local fs, process, test = nightjar.fs, nightjar.process, testing.test

local command = assert(arg[1], "usage: background.lua NIGHTJAR [KILLS [LIBRARY STEP]]")
local kills, library, step = tonumber(arg[2]) or 5, arg[3], tonumber(arg[4]) or 1
local size = 1000000

local folder, path, transfers
testing.before(function()
  folder = fs.temp_dir { prefix = "background-" }
  path = folder.path .. "/state/journal.db"
  transfers = nightjar.transfers.open(path)
end)
testing.after(function() folder:remove() end)

-- Returns the options of a transfer, and a function that checks that its content has arrived.
local function with_query(target, query) return files.origin .. target .. "?" .. nightjar.url.build_query(query) end

local function with(options, values)
  for name, value in pairs(options or {}) do values[name] = value end
  return values
end

local function download(id, query, options)
  local all = with(query, { size = size, seed = 3, run = files.new_run "background" })
  local planned = { id = id, download = with_query("/file", all), to = folder.path .. "/" .. id, retry_delay = 0.01 }
  return with(options, planned), function(t)
    t:equal(files.hash(planned.to), files.digest(all), files.describe(files.log(all.run)))
    return files.log(all.run)
  end
end

local function upload(id, query, options)
  local all = with(query, { run = sources.new_run "background" })
  local file = sources.write(folder.path .. "/" .. id .. ".source", 300000)
  local planned = { id = id, upload = with_query("/tus", all), from = file, protocol = "tus", retry_delay = 0.01 }
  return with(options, planned), function(t)
    local log = sources.log(all.run)
    -- A killed worker may leave an upload without content, because its URL was not in the journal yet.
    for index = 1, #log - 1 do t:equal(log[index].body_bytes, 0, sources.describe(log)) end
    t:equal(log[#log].complete, true)
    t:equal(log[#log].sha256, files.hash(file))
    return log
  end
end

-- Starts a worker. It is killed when the variable is closed.
local function worker(...)
  return process.spawn { command, "transferd", "--journal", path, "--idle", "0.5", ... }
end

local function wait_until(condition, pause)
  local start = nightjar.time.monotonic()
  while not condition() do
    -- Two attempts with their retries can take half a minute.
    assert(nightjar.time.monotonic() - start < 120, "the condition did not become true")
    nightjar.sleep(pause or 0.02)
  end
end

-- --- The life of a transfer ---

test("a worker performs the transfers, and ends when there is no work", function(t)
  local first, has_first = download "one"
  local second, has_second = upload "two"
  local started = transfers.start(first)
  t:equal({ started.id, started.kind, started.state, started.path }, { "one", "download", "waiting", first.to })
  t:equal(started.received, 0)
  transfers.start(second)
  local running <close> = worker()
  local done = started:wait { timeout = 30 }
  t:equal({ done.state, done.received, done.total }, { "done", size, size })
  t:equal(done.path, first.to)
  has_first(t)
  done = transfers.get "two":wait { timeout = 30 }
  t:matches(done.upload_url, "^http")
  has_second(t)
  t:equal(running:wait().status, 0)
  local ids = {}
  for transfer in transfers.list() do ids[#ids + 1] = transfer.id .. " " .. transfer.state end
  t:equal(ids, { "one done", "two done" })
end)

test("transfers continue when their starter has ended", function(t)
  local running <close> = worker("--idle", "30")
  local checks, script = {}, { "local transfers = require \"nightjar\".transfers.open(arg[1])" }
  for number = 1, 7 do
    local planned, check = (number <= 5 and download or upload)("transfer " .. number)
    checks[planned.id] = check
    script[#script + 1] = ("transfers.start(require \"nightjar\".json.decode %q)"):format(nightjar.json.encode(planned))
  end
  script[#script + 1] = "os.exit(0, false)"
  local file = folder.path .. "/start.lua"
  fs.write(file, table.concat(script, "\n"))
  process.run { command, file, path, check = true }
  for id, check in pairs(checks) do
    transfers.get(id):wait { timeout = 30 }
    local log = check(t)
    -- No transfer ran twice.
    if log.count then t:equal(log.count, 1) end
  end
end)

test("the same id and options are the same transfer; other options are an error", function(t)
  local planned = download "one"
  t:equal(transfers.start(planned).state, transfers.start(planned).state)
  planned.connections = 2
  local err = t:raises("invalid_argument", transfers.start, planned)
  t:matches(err.message, "one")
  transfers.remove "one"
  t:equal(transfers.get "one", nil)
  t:equal(transfers.start(planned).state, "waiting")
end)

test("a transfer is paused, continued, cancelled and removed", function(t)
  local planned, check = download("one", { rate = 400000 })
  local transfer = transfers.start(planned)
  local running <close> = worker("--idle", "30")
  wait_until(function() return transfer:refresh().received > 0 end)
  transfer:pause()
  wait_until(function() return transfer:refresh().state == "paused" end)
  nightjar.sleep(1.2)
  local received = transfer:refresh().received
  nightjar.sleep(0.3)
  t:equal(transfer:refresh().received, received)
  t:truthy(received < size, received)
  transfer:resume()
  transfer:wait { timeout = 30 }
  check(t)

  local other = download("two", { rate = 400000 })
  transfer = transfers.start(other)
  wait_until(function() return transfer:refresh().received > 0 end)
  t:raises("storage", transfer.remove, transfer)
  transfer:cancel()
  t:raises("cancelled", transfer.wait, transfer, { timeout = 30 })
  t:equal(fs.exists(other.to), false)
  t:equal(fs.exists(other.to .. ".nightjar-part"), false)
  -- The part of a paused download is removed, too.
  transfer:retry()
  wait_until(function() return transfer:refresh().received > 0 end)
  transfer:pause()
  wait_until(function() return transfer:refresh().state == "paused" end)
  nightjar.sleep(1.2)
  t:truthy(fs.exists(other.to .. ".nightjar-part"))
  transfer:cancel()
  t:equal(transfer:refresh().state, "cancelled")
  t:equal(fs.exists(other.to .. ".nightjar-part"), false)
  transfer:remove()
  t:equal(transfer:refresh(), nil)
end)

test("waiting has a timeout", function(t)
  local err = t:raises("timeout", function() transfers.start(download "one"):wait { timeout = 0.2 } end)
  t:matches(err.message, "continues in the background")
end)

-- --- Failures ---

test("a permanent failure is reported, and is not repeated", function(t)
  local planned = { id = "missing", download = files.origin .. "/no-such-file", to = folder.path .. "/file" }
  transfers.start(planned)
  local running <close> = worker()
  local err = t:raises("not_found", function() transfers.get "missing":wait { timeout = 30 } end)
  t:matches(err.message, "404")
  t:equal(transfers.get "missing".attempts, 1)
end)

test("a temporary failure is repeated later", function(t)
  local planned, check = download("one", { faults = "close,cut@400000,503" }, { attempts = 1 })
  transfers.start(planned)
  local running <close> = worker()
  local done = transfers.get "one":wait { timeout = 60 }
  t:truthy(done.attempts >= 2, done.attempts)
  check(t)
end)

test("a folder that has gone is an error", function(t)
  fs.mkdir(folder.path .. "/place")
  local planned = download("one", {}, { to = folder.path .. "/place/file" })
  transfers.start(planned)
  fs.remove(folder.path .. "/place")
  local running <close> = worker()
  local err = t:raises("storage", function() transfers.get "one":wait { timeout = 30 } end)
  t:matches(err.message, "place")
end)

test("a source that has gone is an error", function(t)
  local planned = upload "one"
  transfers.start(planned)
  fs.remove(planned.from)
  local running <close> = worker()
  t:raises("invalid_request", function() transfers.get "one":wait { timeout = 30 } end)
end)

-- Many kills mean a long run of the tests.
local outage = kills >= 50 and 30 or 0
test("a server that is down for some time delays the transfers", { timeout = 240 }, function(t)
  local first = process.spawn { command, "demo", "--port", "0", stdout = "pipe" }
  local port = first.stdout:line():match ":(%d+)"
  first:kill()
  first:wait()
  local query = nightjar.url.build_query { size = size, seed = 3, run = files.new_run "background" }
  local planned = { id = "one", download = ("http://127.0.0.1:%s/file?%s"):format(port, query), to = folder.path .. "/one" }
  transfers.start(planned)
  local running <close> = worker()
  nightjar.sleep(outage)
  wait_until(function()
    local transfer = transfers.get "one"
    return transfer.attempts >= 2 and transfer.state == "waiting"
  end)
  local again <close> = process.spawn { command, "demo", "--port", port, stdout = "null" }
  transfers.get "one":wait { timeout = 180 }
  t:equal(files.hash(planned.to), files.digest { size = size, seed = 3 })
end)

test("a content that changes between two workers is received again", function(t)
  local run = files.new_run "background"
  local query = { size = size, seed = 3, change_after = 1, run = run }
  transfers.start { id = "one", download = with_query("/file", query), to = folder.path .. "/one", max_rate = 300000 }
  do
    local killed <close> = worker()
    wait_until(function() return transfers.get "one".received > 100000 end)
    killed:kill "KILL"
    killed:wait()
  end
  local running <close> = worker("--idle", "30")
  transfers.get "one":wait { timeout = 60 }
  t:equal(files.hash(folder.path .. "/one"), files.digest(query, 1), files.describe(files.log(run)))
end)

-- A private mount needs a user namespace.
local can_mount = process.run { "unshare", "-rm", "true", check = false }.status == 0
for name, query in pairs { ["known"] = {}, ["unknown"] = { length = "chunked" } } do
  test("a full disk is an error; the size is " .. name, { skip = not can_mount and "unshare cannot mount" }, function(t)
    local place = folder.path .. "/full"
    fs.mkdir(place)
    local planned = download("one", with(query, { size = 20000000 }), { to = place .. "/one" })
    local small, check = download "two"
    transfers.start(planned)
    transfers.start(small)
    local running <close> = process.spawn { "unshare", "-rm", "sh", "-c",
      'mount -t tmpfs -o size=10m tmpfs "$1" && exec "$2" transferd --journal "$3" --idle 0.5', "sh", place, command, path }
    local err = t:raises("storage", function() transfers.get "one":wait { timeout = 60 } end)
    t:matches(err.message, "full/one.*space")
    transfers.get "two":wait { timeout = 30 }
    check(t)
  end)
end

-- --- Contents without a file ---

test("a content of the options is uploaded, and its file is removed", function(t)
  local run = sources.new_run "background"
  local options = { id = "one", upload = with_query("/tus", { run = run }), body = ("text "):rep(2000), protocol = "tus" }
  local planned = transfers.start(options)
  t:equal(fs.read(planned.path), options.body)
  t:equal(transfers.start(options).path, planned.path)
  local running <close> = worker()
  planned:wait { timeout = 30 }
  local log = sources.log(run)
  t:equal(log[#log].sha256, nightjar.hash.sha256(options.body), sources.describe(log))
  t:equal(fs.list(path .. ".spool"), {})
end)

test("the worker removes a content when its journal has a relative path", function(t)
  local planned = transfers.start { id = "one", upload = files.origin .. "/form", protocol = "post", form = { a = "x" } }
  process.run { command, "transferd", "--journal", "journal.db", "--idle", "0", cwd = path:match "^(.*)/", check = true }
  t:equal(transfers.get "one".state, "done")
  t:equal(fs.exists(planned.path), false)
end)

test("a transfer that was started again at once has its content", function(t)
  local running <close> = worker("--idle", "30")
  for _ = 1, 200 do
    local planned = transfers.start { id = "one", upload = files.origin .. "/form", protocol = "post", form = { a = "x" } }
    wait_until(function() return planned:refresh().state ~= "waiting" and planned.state ~= "running" end, 0)
    t:equal(planned.state, "done", planned.error and planned.error.message)
    planned:acknowledge()
  end
end)

test("a content is kept until its transfer is removed", function(t)
  local planned = transfers.start { id = "one", upload = files.origin .. "/no-such-path", json = { a = 1 }, protocol = "post" }
  local running <close> = worker()
  t:raises("not_found", function() planned:wait { timeout = 30 } end)
  t:equal(fs.read(planned.path), '{"a":1}')
  planned:acknowledge()
  t:equal(fs.list(path .. ".spool"), {})
end)

-- Returns what the demo API has read from a form.
local function parts_of(form)
  local boundary = form:match "^%-%-(%w+)\r\n"
  local headers = { ["content-type"] = "multipart/form-data; boundary=" .. boundary }
  return nightjar.client { base_url = files.origin }:post("/form", { body = form, headers = headers }).json.parts
end

test("bytes that are not UTF-8 are uploaded", function(t)
  local run, bytes = sources.new_run "background", ("\0\xFF\xC3text"):rep(100)
  local planned = transfers.start { id = "one", upload = with_query("/tus", { run = run }), body = bytes, protocol = "tus" }
  t:equal(fs.read(planned.path), bytes)
  local running <close> = worker()
  planned:wait { timeout = 30 }
  local log = sources.log(run)
  t:equal(log[#log].sha256, nightjar.hash.sha256(bytes), sources.describe(log))
end)

test("a form with files is uploaded as it was at the start", function(t)
  local file = folder.path .. "/photo.png"
  local bytes = sources.content(700001, 5)
  fs.write(file, bytes)
  fs.write(folder.path .. "/empty", "")
  local options = { id = "one", upload = files.origin .. "/form", protocol = "post", multipart = {
    { name = "title", value = "tëxt" }, { name = "raw", bytes = "\0\xFF" }, { name = "photo", file = file },
    { name = "nothing", file = folder.path .. "/empty", filename = "a.txt", content_type = "text/x" },
  } }
  local planned = transfers.start(options)
  local form = fs.read(planned.path)
  t:equal(transfers.start(options).path, planned.path)
  local parts = {}
  for index, part in ipairs(parts_of(form)) do
    parts[index] = { part.name, part.bytes, tostring(part.filename), tostring(part.content_type) }
  end
  t:equal(parts, {
    { "title", 5, "null", "null" }, { "raw", 2, "null", "null" }, { "photo", #bytes, "photo.png", "image/png" },
    { "nothing", 0, "a.txt", "text/x" },
  })
  t:truthy(form:find(bytes, 1, true))
  local err = t:raises("invalid_argument", transfers.start, { id = "two", upload = files.origin, multipart = {
    { name = "a", value = "x", bytes = "y" } } })
  t:matches(err.message, "value, bytes and file")
  -- Another content of the file is another transfer.
  fs.write(file, bytes:reverse())
  err = t:raises("invalid_argument", transfers.start, options)
  t:matches(err.message, "other options")
  t:equal(#fs.list(path .. ".spool"), 1)
  fs.remove(file)
  local running <close> = worker()
  t:equal(planned:wait { timeout = 30 }.state, "done")
  t:equal(fs.list(path .. ".spool"), {})
end)

test("a form is given by the names of its parts", function(t)
  local planned = transfers.start { id = "one", upload = files.origin .. "/form", protocol = "post",
    multipart = { a = "x", b = { bytes = "\xFF", filename = "b.bin" }, c = 3, d = "\xFE" } }
  local parts = {}
  for _, part in ipairs(parts_of(fs.read(planned.path))) do parts[part.name] = part.preview .. " " .. tostring(part.filename) end
  t:equal(parts, { a = "x null", b = "/w== b.bin", c = "3 null", d = "/g== null" })
end)

-- A program that starts a transfer, and writes "started" or the error and the number of files of the spool.
local starter = [[
  local nightjar = require "nightjar"
  local journal, text = arg[1], io.read "a"
  local ok, err = pcall(nightjar.transfers.open(journal).start, nightjar.json.decode(text))
  print(ok and "started" or err.kind, #nightjar.fs.list(journal .. ".spool"))
]]

test("a content for which there is no space is an error", { skip = not can_mount and "unshare cannot mount" }, function(t)
  local place, script = folder.path .. "/full", folder.path .. "/start.lua"
  fs.mkdir(place)
  fs.write(script, starter)
  fs.write(folder.path .. "/large", sources.content(12000000))
  local options = { id = "one", upload = files.origin .. "/form", multipart = { a = { file = folder.path .. "/large" } } }
  local result = process.run { "unshare", "-rm", "sh", "-c",
    'mount -t tmpfs -o size=10m tmpfs "$1" && exec "$2" "$3" "$1/journal.db"', "sh", place, command, script,
    input = nightjar.json.encode(options) }
  t:equal(result.stdout, "storage\t0\n", result.stderr)
end)

test("a content is whole when its starter is killed at a call that changes a file", {
  skip = not library and "no library to kill the starter" or nil, timeout = 120,
}, function(t)
  local script, file = folder.path .. "/start.lua", folder.path .. "/file"
  fs.write(script, starter)
  fs.write(file, sources.content(600000, 7))
  for _, variable in ipairs { "KILL_AT", "KILL_AFTER" } do
    local call, was_killed = 1, true
    while was_killed do
      local options = { id = variable .. call, upload = files.origin .. "/form", protocol = "post", multipart = { a = { file = file } } }
      local env = { LD_PRELOAD = library, KILL_FOLDER = folder.path, [variable] = call }
      local result = process.run { command, script, path, input = nightjar.json.encode(options), env = env }
      was_killed = result.signal == "KILL"
      t:truthy(was_killed or result.stdout:find "^started", result.stderr)
      local recorded = transfers.get(options.id)
      if recorded then t:truthy(fs.read(recorded.path):find(fs.read(file), 1, true), "the content is torn") end
      local planned = transfers.start(options)
      t:truthy(fs.read(planned.path):find(fs.read(file), 1, true))
      planned:remove()
      t:equal(fs.exists(planned.path), false)
      call = call + 1
    end
    t:truthy(call > 8, call)
  end
end)

-- --- Logins ---

-- Returns the options of a client whose login is in a file, and the path of the file.
local function login()
  local store = folder.path .. "/login"
  local auth = { type = "oauth2", token_url = files.origin .. "/v1/oauth/token", client_id = "demo", store = "file:" .. store }
  local api = nightjar.client { base_url = files.origin }
  local tokens = api:post("/v1/auth/login", { json = { email = "ada@example.org", password = "moonlight" } }).json
  local first <close> = nightjar.client { base_url = files.origin, auth = with(auth, {
    access_token = tokens.access_token, refresh_token = tokens.refresh_token }) }
  api:post("/__control", { json = { expire_access_tokens = true } })
  assert(first:get "/v1/me".json.handle == "ada")
  return { auth = auth }, store
end

test("workers and programs refresh a login once", function(t)
  local api = nightjar.client { base_url = files.origin }
  local function refreshes() return api:get "/__stats".json.auth.refreshes end
  local client = login()
  api:post("/__control", { json = { expire_access_tokens = true } })
  local before = refreshes()
  for number = 1, 4 do
    transfers.start { id = "transfer " .. number, download = files.origin .. "/v1/me", to = folder.path .. "/" .. number, client = client }
  end
  local running <close> = worker()
  local own <close> = nightjar.client { base_url = files.origin, auth = client.auth }
  t:equal(own:get "/v1/me".json.handle, "ada")
  for number = 1, 4 do
    transfers.get("transfer " .. number):wait { timeout = 30 }
    t:matches(fs.read(folder.path .. "/" .. number), '"ada"')
  end
  t:equal(refreshes() - before, 1)
end)

test("a login that has gone is an error", function(t)
  local client, store = login()
  local planned = transfers.start { id = "one", download = files.origin .. "/v1/me", to = folder.path .. "/one", client = client }
  fs.remove(store)
  local running <close> = worker()
  local err = t:raises("unauthorized", function() planned:wait { timeout = 30 } end)
  t:matches(err.message, "log in again")
  t:equal(fs.exists(folder.path .. "/one"), false)
  -- After another login, the transfer can be continued.
  login()
  transfers.retry "one"
  planned:wait { timeout = 30 }
  t:matches(fs.read(folder.path .. "/one"), '"ada"')
end)

-- --- Constraints ---

test("the rate of the worker is divided by the shares of the transfers", function(t)
  local options = { size = 1000000 }
  transfers.start((download("small", options, { bandwidth_share = 1 })))
  transfers.start((download("large", options, { bandwidth_share = 3 })))
  local running <close> = worker("--max-rate", "500K")
  local start = nightjar.time.monotonic()
  transfers.get "large":wait { timeout = 60 }
  -- One read of a connection may have 512 KiB; the transfer then waits as long as these bytes take.
  local small = transfers.get "small"
  t:truthy(small.received < 900000, small.received)
  small:wait { timeout = 60 }
  local duration = nightjar.time.monotonic() - start
  t:truthy(duration > 1.5, duration)
end)

test("a transfer starts after its time, and fails after its time limit", function(t)
  local time = nightjar.time.now() + 1.5
  local planned, check = download("later", {}, { not_before = time })
  transfers.start(planned)
  transfers.start((download("limited", {}, { not_before = time + 1000, time_limit = 1 })))
  local running <close> = worker()
  transfers.get "later":wait { timeout = 30 }
  t:truthy(nightjar.time.now() >= time)
  check(t)
  local err = t:raises("timeout", function() transfers.get "limited":wait { timeout = 30 } end)
  t:matches(err.message, "time limit of 1")
end)

test("transfers with a higher priority start first", function(t)
  local order = {}
  for number, priority in ipairs { -1, 3, 0 } do
    transfers.start((download("transfer " .. number, { size = 1000 }, { priority = priority })))
  end
  local running <close> = worker("--concurrency", "1")
  for number = 1, 3 do
    order[number] = { number, transfers.get("transfer " .. number):wait { timeout = 30 }.updated }
  end
  table.sort(order, function(a, b) return a[2] < b[2] end)
  t:equal({ order[1][1], order[2][1], order[3][1] }, { 2, 3, 1 })
end)

-- --- Invalid options ---

local invalid = {
  { "no URL", { to = "file" }, "download and upload" },
  { "two URLs", { download = "http://localhost/", upload = "http://localhost/", to = "file" }, "download and upload" },
  { "no path", { download = "http://localhost/" }, "\"to\"" },
  { "a relative URL", { download = "/file", to = "file" }, "scheme" },
  { "a misspelled option", { download = "http://localhost/", to = "file", conections = 2 }, "connections" },
  { "a state text", { download = "http://localhost/", to = "file", resume = "x" }, "resume" },
  { "another method", { download = "http://localhost/", to = "file", method = "POST" }, "GET" },
  { "a callback", { download = "http://localhost/", to = "file", on_progress = function() end }, "on_progress" },
  { "a priority", { download = "http://localhost/", to = "file", priority = 11 }, "priority" },
  { "a time limit", { download = "http://localhost/", to = "file", time_limit = 0 }, "time_limit" },
  { "a password in the URL", { download = "http://user:pw@localhost/", to = "file" }, "download" },
  { "a token", { download = "http://localhost/", to = "file", headers = { Authorization = "Bearer x" } }, "headers.Authorization" },
  { "a cookie", { download = "http://localhost/", to = "file", client = { headers = { Cookie = "a=b" } } }, "client.headers.Cookie" },
  { "a password", { download = "http://localhost/", to = "file", client = { auth = { type = "basic", user = "u", password = "p" } } },
    "client.auth" },
  { "a login without a store", { download = "http://localhost/", to = "file", client = { auth = { type = "oauth2",
    token_url = "http://localhost/token" } } }, "store" },
  { "a client secret", { download = "http://localhost/", to = "file", client = { auth = { type = "oauth2", store = "file:/tmp/x",
    token_url = "http://localhost/token", client_secret = "s" } } }, "client.auth.client_secret" },
  { "a proxy password", { download = "http://localhost/", to = "file", client = { proxy = "http://u:p@localhost" } }, "client.proxy" },
  { "a mock", { download = "http://localhost/", to = "file", client = { mock = {} } }, "client.mock" },
}
for _, row in ipairs(invalid) do
  local name, options, expected = table.unpack(row)
  test("an invalid option is an error that names it: " .. name, function(t)
    options.id = "one"
    if options.to then options.to = folder.path .. "/" .. options.to end
    local ok, err = pcall(transfers.start, options)
    t:equal(ok, false)
    t:truthy(err.kind == "invalid_argument" or err.kind == "invalid_url", tostring(err))
    t:truthy(err.message:find(expected, 1, true), err.message)
    t:equal(transfers.get "one", nil)
  end)
end

test("an invalid id or an unknown transfer is an error", function(t)
  for _, id in ipairs { "", ("x"):rep(257), "a\0b" } do
    t:raises("invalid_argument", transfers.start, (download("one", {}, { id = id, to = folder.path .. "/file" })))
  end
  for _, name in ipairs { "pause", "resume", "cancel", "retry" } do
    local err = t:raises("invalid_argument", transfers[name], "unknown")
    t:matches(err.message, "unknown")
  end
  transfers.remove "unknown"
  t:equal(transfers.get "unknown", nil)
end)

test("a journal that cannot be written is an error", function(t)
  t:raises("storage", nightjar.transfers.open("/proc/nightjar/journal.db").start, (download "one"))
  local result = process.run { command, "transferd", "--journal", "/proc/nightjar/journal.db" }
  t:equal(result.status, 1)
  t:matches(result.stderr, "journal")
end)

test("a journal that another process locks for some seconds delays the transfers", function(t)
  local planned, check = download("one", { size = 2000000, rate = 400000 })
  transfers.start(planned)
  local running <close> = worker("--idle", "1")
  wait_until(function() return transfers.get "one".received > 0 end)
  -- The worker waits 5 seconds for the lock.
  process.run { "python3", "-c", "import sqlite3, sys, time\n"
    .. "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    .. "c.execute('BEGIN EXCLUSIVE'); time.sleep(7); c.execute('ROLLBACK')", path, check = true }
  transfers.get "one":wait { timeout = 30 }
  check(t)
  t:equal(running:wait().status, 0)
end)

-- --- Workers ---

test("a second worker ends at once", function(t)
  local planned, check = download("one", { rate = 1000000 })
  transfers.start(planned)
  local running <close> = worker("--idle", "30")
  wait_until(function() return transfers.get "one".received > 0 end)
  local second = process.run { command, "transferd", "--journal", path }
  t:equal(second.status, 0)
  t:matches(second.stderr, "another transferd")
  transfers.get "one":wait { timeout = 30 }
  t:equal(check(t).count, 1)
end)

test("of workers that start at the same time, one works", function(t)
  local checks = {}
  for number = 1, 8 do
    local planned, check = download("transfer " .. number, { size = 100000 })
    checks[number] = check
    transfers.start(planned)
  end
  nightjar.map({ 1, 2, 3, 4, 5 }, function()
    return process.run { command, "transferd", "--journal", path, "--idle", "0.5", check = true }
  end)
  for number, check in ipairs(checks) do
    t:equal(transfers.get("transfer " .. number).state, "done")
    t:equal(check(t).count, 1)
  end
end)

test("a worker that is stopped leaves its transfers to the next one", function(t)
  local planned, check = download("one", { rate = 1000000 })
  transfers.start(planned)
  do
    local first <close> = worker("--idle", "30")
    wait_until(function() return transfers.get "one".received > 0 end)
    first:kill "TERM"
    t:equal(first:wait().status, 0)
  end
  local second <close> = worker()
  transfers.get "one":wait { timeout = 30 }
  t:truthy(check(t).count <= 2)
end)

test("transfers whose worker is killed at random moments are complete", function(t)
  local checks = {}
  for number = 1, 5 do
    local planned, check = download("download " .. number, { size = 2000000, rate = 4000000 })
    checks[planned.id] = check
    transfers.start(planned)
  end
  for number = 1, 2 do
    local planned, check = upload("upload " .. number, { rate = 400000 })
    checks[planned.id] = check
    transfers.start(planned)
  end
  for _ = 1, kills do
    local running <close> = worker("--idle", "30")
    nightjar.sleep(0.05 + math.random() * 0.5)
    running:kill "KILL"
    running:wait()
  end
  local running <close> = worker()
  for id, check in pairs(checks) do
    transfers.get(id):wait { timeout = 60 }
    check(t)
  end
end)

-- The first worker is killed before or after its n-th call that changes a file. The second one completes the transfers.
for _, variable in ipairs { "KILL_AT", "KILL_AFTER" } do
  local options = { skip = not library and "no library to kill the worker" or nil, timeout = 240 }
  test("transfers whose worker is killed at a call that changes a file are complete: " .. variable, options, function(t)
    local call, was_killed = 1, true
    while was_killed do
      local checks = {}
      for kind, make in pairs { download = download, upload = upload } do
        local planned, check = make(("%s %s %d"):format(kind, variable, call), kind == "download" and { size = 300000 })
        checks[planned.id] = check
        transfers.start(planned)
      end
      local env = { LD_PRELOAD = library, KILL_FOLDER = folder.path, [variable] = call }
      local first = process.run { command, "transferd", "--journal", path, "--idle", "0", env = env }
      was_killed = first.signal == "KILL"
      t:truthy(was_killed or first.ok, first.stderr)
      process.run { command, "transferd", "--journal", path, "--idle", "0", check = true }
      for id, check in pairs(checks) do
        t:equal(transfers.get(id).state, "done")
        check(t)
        transfers.remove(id)
      end
      call = call + step
    end
    t:truthy(call > 20, call)
  end)
end

assert(testing.run().ok, "a case failed")
