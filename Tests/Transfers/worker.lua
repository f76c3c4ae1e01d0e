-- The worker of background transfers, nightjar transferd: its local socket, its start by other programs, the programs of
-- on_complete, and its log. Needs the demo API:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/worker.lua NIGHTJAR [NAME]
--
-- With NAME, only the tests run whose names contain it.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local files = require "files"
local sources = require "sources"
local fs, json, process, test = nightjar.fs, nightjar.json, nightjar.process, testing.test

local command = assert(arg[1], "usage: worker.lua NIGHTJAR [NAME]")

-- The sockets are in a runtime folder of these tests: this script runs itself again with another environment.
local variable = "NIGHTJAR_TESTS_RUNTIME_DIR"
local runtime = os.getenv(variable)
if not runtime then
  local folder <close> = fs.temp_dir { prefix = "nj-" }
  local env = { XDG_RUNTIME_DIR = folder.path, [variable] = folder.path, XDG_STATE_HOME = folder.path .. "/state" }
  local result = process.run { cmd = command, args = { arg[0], table.unpack(arg) }, env = env, stdout = "inherit", stderr = "inherit" }
  os.exit(result.status or 1)
end

local is_root = process.run { "id", "-u" }.stdout == "0\n"
local needs_root = not is_root and "only root can use another user" or nil
local has_activation = process.run { "sh", "-c", "command -v systemd-socket-activate" }.ok
local needs_activation = not has_activation and "systemd-socket-activate is not installed" or nil

-- --- Programs that the tests run ---

local programs <const> = fs.temp_dir { prefix = "programs-" }

local function write_program(name, text)
  local file = programs.path .. "/" .. name
  fs.write(file, text, { mode = tonumber("755", 8) })
  return file
end

-- Programs to start as a worker, with another idle time.
local idle_0 = write_program("nightjar-0", ("#!/bin/sh\nexec '%s' \"$@\" --idle 0\n"):format(command))
local idle_10 = write_program("nightjar-10", ("#!/bin/sh\nexec '%s' \"$@\" --idle 0.01\n"):format(command))

-- start.lua JOURNAL TRANSFERD TRANSFERS END starts transfers, and ends at once.
local start_script = write_program("start.lua", [[
local nightjar = require "nightjar"
local transfers = nightjar.transfers.open { journal = arg[1], transferd = arg[2] }
for _, planned in ipairs(nightjar.json.decode(arg[3])) do transfers.start(planned) end
if arg[4] == "kill" then os.execute "kill -KILL $PPID" end
os.exit(0, false)
]])

-- record FILE WORD... appends a line with the variables and the words to a file.
local record = write_program("record", [[
#!/bin/sh
file=$1
shift
line=$(printf '%s|' "$NIGHTJAR_TRANSFER_ID" "$NIGHTJAR_TRANSFER_STATE" "$NIGHTJAR_JOURNAL" "$@")
printf '%s\n' "$line" >>"$file"
]])

local function with(options, values)
  for name, value in pairs(options or {}) do values[name] = value end
  return values
end

-- Returns the command of fake_worker.py.
local function fake_worker(...) return { "python3", "-B", files.folder .. "/fake_worker.py", ... } end

-- Runs a shell script, and returns its output.
local function shell(script, ...) return process.run(with({ check = true }, { "sh", "-c", script, "sh", ... })).stdout end

-- --- The folder of a test ---

local folder, path, transfers

-- Returns the ids of the processes transferd of this test.
local function workers()
  local ids = {}
  for _, name in ipairs(fs.list "/proc") do
    local file = name:match "^%d+$" and io.open("/proc/" .. name .. "/cmdline", "rb")
    local words = file and file:read "a" or ""
    if file then file:close() end
    if words:find("\0transferd\0", 1, true) and words:find("\0" .. path .. "\0", 1, true) then ids[#ids + 1] = tonumber(name) end
  end
  return ids
end

-- Ends the processes transferd of this test, and waits for their ends.
local function stop_workers()
  local ids = workers()
  while #ids > 0 do
    shell("kill -KILL \"$@\" 2>/dev/null || :", table.unpack(ids))
    nightjar.sleep(0.01)
    ids = workers()
  end
end

testing.before(function()
  folder = fs.temp_dir { prefix = "worker-" }
  path = folder.path .. "/state/journal.db"
  fs.mkdir(folder.path .. "/state")
  transfers = nightjar.transfers.open(path)
end)
testing.after(function()
  stop_workers()
  folder:remove()
end)

-- Returns the path of the socket of this test's worker.
local function socket() return ("%s/nightjar/transferd-%s.sock"):format(runtime, nightjar.hash.sha256(path):sub(1, 16)) end

local function with_query(target, query) return files.origin .. target .. "?" .. nightjar.url.build_query(query) end

-- Returns the options of a transfer, and a function that checks that its content has arrived and returns the server's log.
local names = 0
local function download(id, query, options)
  local all = with(query, { size = 10000, seed = 3, run = files.new_run "worker" })
  names = names + 1
  local planned = { id = id, download = with_query("/file", all), to = ("%s/file %d"):format(folder.path, names), retry_delay = 0.01 }
  return with(options, planned), function(t)
    local log = files.log(all.run)
    t:equal(files.hash(planned.to), files.digest(all), files.describe(log))
    return log
  end
end

local function missing(id, options)
  return with(options, { id = id, download = files.origin .. "/no-such-file", to = folder.path .. "/missing" })
end

-- Starts a worker. It is killed when the variable is closed.
local function worker(...)
  return process.spawn { command, "transferd", "--journal", path, "--idle", "30", ... }
end

-- Runs a worker until it has no work. Returns its result.
local function work(options)
  return process.run(with(options, { command, "transferd", "--journal", path, "--idle", "0", "--log", timeout = 30 }))
end

local function start_elsewhere(planned, options)
  options = options or {}
  return process.run {
    command, start_script, path, options.transferd or idle_0, json.encode(planned), options.ending or "", env = options.env,
  }
end

local function wait_until(condition, what, limit)
  local start = nightjar.time.monotonic()
  while not condition() do
    assert(nightjar.time.monotonic() - start < (limit or 10), what or "the condition does not become true")
    nightjar.sleep(0.01)
  end
end

-- The functions of `transfers` start no worker, so a wait does not hide that none runs.
local function wait_for(id, state, limit)
  wait_until(function()
    local transfer = transfers.get(id)
    return transfer and transfer.state == state
  end, ("the transfer %q does not become %s"):format(id, state), limit)
end

local function wait_for_socket(place)
  wait_until(function() return fs.exists(place or socket()) == "socket" end, "the worker does not listen")
end

-- Returns the events of a transfer, separated by spaces.
local function events(id)
  local list = {}
  for entry in transfers.log(id) do list[#list + 1] = entry.event end
  return table.concat(list, " ")
end

local function lines(file)
  local list = {}
  for line in fs.exists(file) and fs.lines(file) or function() end do list[#list + 1] = line end
  return list
end

local function mode(file) return ("%o"):format(fs.stat(file, { follow = false }).mode & 511) end

-- Changes the journal by an SQL statement.
local function change_journal(statement)
  process.run { "python3", "-c", "import sqlite3, sys\n"
    .. "c = sqlite3.connect(sys.argv[1], timeout=10)\nc.execute(sys.argv[2])\nc.commit()", path, statement, check = true }
end

-- Returns the middle one of some numbers. A busy machine delays some.
local function median(numbers)
  table.sort(numbers)
  return numbers[(#numbers + 1) // 2]
end

-- --- The start of a worker by other programs ---

for _, ending in ipairs { "has ended", "was killed" } do
  test("a transfer completes although its starter " .. ending .. " right after the start", function(t)
    local word = ending == "was killed" and "kill" or ""
    for number = 1, 5 do
      local planned, check = download("transfer " .. number)
      local result = start_elsewhere({ planned }, { ending = word })
      t:equal(result.signal, word == "kill" and "KILL" or nil, result.stderr)
      wait_for(planned.id, "done")
      t:equal(check(t).count, 1)
    end
  end)
end

test("a worker that was started shares nothing with its starter", function(t)
  local planned = download("one", { rate = 5000 })
  fs.write(folder.path .. "/inherited", "")
  shell("trap '' HUP INT TERM; exec 3<\"$5/inherited\" 9<\"$5/inherited\" && exec \"$1\" \"$2\" \"$3\" \"$1\" \"$4\"", command,
    start_script, path, json.encode { planned }, folder.path)
  wait_for("one", "running")
  local ids = workers()
  t:equal(#ids, 1)
  local status = fs.read(("/proc/%d/stat"):format(ids[1])):match "^.*%) (.*)"
  local _, parent, _, session, terminal = status:match "(%S+) (%d+) (%d+) (%d+) (%S+)"
  t:equal({ session, terminal }, { tostring(ids[1]), "0" })
  -- The parent is that of any process whose parent has ended.
  t:equal(parent .. "\n", shell "(sleep 0.1; exec cut -d ' ' -f 4 /proc/self/stat) & exit")
  for descriptor = 0, 2 do t:equal(shell("readlink /proc/$1/fd/$2", ids[1], descriptor), "/dev/null\n") end
  local all = shell("ls -l /proc/$1/fd", ids[1])
  t:falsy(all:find("inherited", 1, true), all)
  t:falsy(all:find("pipe:", 1, true), all)
  -- A signal that the starter ignores ends the worker.
  shell("kill -TERM $1", ids[1])
  wait_until(function() return #workers() == 0 end, "the worker does not end", 5)
end)

test("the socket is accessible to its owner only, and is removed at the end of the worker", function(t)
  local running <close> = worker("--idle", "0.3")
  wait_for_socket()
  -- No program can connect before the mode is set.
  wait_until(function() return mode(socket()) == "600" end, "the mode of the socket")
  t:equal(mode(runtime .. "/nightjar"), "700")
  t:equal(running:wait().status, 0)
  t:equal(fs.exists(socket()), false)
end)

test("the worker of the user's journal has a socket without a hash", function(t)
  local running <close> = process.spawn { command, "transferd", "--idle", "30", env = { XDG_STATE_HOME = folder.path } }
  wait_for_socket(runtime .. "/nightjar/transferd.sock")
  running:kill "TERM"
  t:equal(running:wait().status, 0)
  t:equal(fs.exists(runtime .. "/nightjar/transferd.sock"), false)
end)

test("of many starters at the same time, one starts the worker that stays", function(t)
  local checks, numbers = {}, {}
  for number = 1, 20 do numbers[number] = number end
  nightjar.map(numbers, function(number)
    local planned, check = download("transfer " .. number)
    checks[number] = check
    local result = start_elsewhere({ planned }, { transferd = command })
    t:equal(result.status, 0, result.stderr)
  end, { concurrency = 20 })
  for number = 1, 20 do wait_for("transfer " .. number, "done") end
  wait_until(function() return #workers() == 1 end, "one worker does not remain")
  t:equal(fs.exists(socket()), "socket")
  for number, check in ipairs(checks) do t:equal(check(t).count, 1, number) end
end)

test("a start at the idle end of a worker is not lost", function(t)
  for round = 1, 30 do
    local starting = nightjar.transfers.open { journal = path, transferd = round % 2 == 0 and idle_0 or idle_10 }
    local planned, check = download("transfer " .. round, { size = 1000 })
    starting.start(planned)
    wait_for(planned.id, "done")
    t:equal(check(t).count, 1)
    nightjar.sleep(math.random() * 0.03)
  end
end)

test("a start while a worker is stopped is not lost", function(t)
  local starting = nightjar.transfers.open { journal = path, transferd = idle_0 }
  for round = 1, 10 do
    do
      local running <close> = worker()
      wait_for_socket()
      transfers.start((download("slow " .. round, { size = 100000, rate = 20000 })))
      wait_for("slow " .. round, "running")
      running:kill "TERM"
      nightjar.sleep(math.random() * 0.005)
      starting.start((download("transfer " .. round)))
      running:wait()
    end
    wait_for("transfer " .. round, "done", 3)
    transfers.cancel("slow " .. round)
    wait_for("slow " .. round, "cancelled")
    wait_until(function() return #workers() == 0 end)
  end
end)

local starts = {
  { "start", function(all) all.start((download "another")) end },
  { "wake", function(all) all.wake() end },
  { "wait", function(all) all.get "one":wait { timeout = 10 } end },
  { "ended", function(all) all.ended { timeout = 10 }() end },
  { "resume", function(all) all.resume "one" end },
  { "retry", function(all) all.retry "one" end },
}
for _, row in ipairs(starts) do
  local name, start = table.unpack(row)
  test("a worker is started, if none runs, by " .. name, function(t)
    local planned, check = download "one"
    transfers.start(planned)
    if name == "resume" then transfers.pause "one" end
    if name == "retry" then transfers.cancel "one" end
    start(nightjar.transfers.open { journal = path, transferd = idle_0 })
    wait_for("one", "done")
    check(t)
  end)
end

test("a program that cannot be started is an error that names it", function(t)
  fs.write(folder.path .. "/text", "no program", { mode = tonumber("755", 8) })
  for program, kind in pairs { ["/no/such/program"] = "invalid_argument", ["/etc/passwd"] = "invalid_argument",
    ["/etc"] = "invalid_argument", [folder.path .. "/text"] = "storage" } do
    local planned = download("the transfer of " .. program)
    local err = t:raises(kind, function() nightjar.transfers.open { journal = path, transferd = program }.start(planned) end)
    t:truthy(err.message:find(json.encode(program), 1, true), err.message)
    -- The transfer is recorded before the program is started.
    t:equal(transfers.get(planned.id) ~= nil, kind == "storage")
  end
end)

-- --- Waking a worker ---

test("a waiting worker notices each change at once", function(t)
  local running <close> = worker()
  wait_for_socket()
  local delays = {}
  local function measure(name, id, event, change)
    local time = nightjar.time.now()
    change()
    local noticed
    wait_until(function()
      for entry in transfers.log(id) do
        if entry.event == event and entry.time >= time then noticed = entry.time end
      end
      return noticed
    end, "the worker does not notice: " .. name)
    delays[name] = delays[name] or {}
    table.insert(delays[name], noticed - time)
  end
  for round = 1, 3 do
    local id = "transfer " .. round
    local planned = download(id, { size = 1000000, rate = 100000 })
    measure("start", id, "started", function() transfers.start(planned) end)
    measure("pause", id, "stopped", function() transfers.pause(id) end)
    measure("resume", id, "started", function() transfers.resume(id) end)
    measure("cancel", id, "stopped", function() transfers.cancel(id) end)
    measure("retry", id, "started", function() transfers.retry(id) end)
    transfers.cancel(id)
  end
  for name, list in pairs(delays) do t:truthy(median(list) < 0.5, ("%s: %g s"):format(name, list[2])) end
end)

test("each change wakes the worker by its socket", function(t)
  local fake <close> = process.spawn(with({ stdin = "pipe", stdout = "pipe" }, fake_worker("serve", socket())))
  fake.stdin:write "requests\n"
  t:equal(fake.stdout:line(), "requests")
  local request = "{\"version\": 1, \"get\": \"progress\"}"
  local function wakes(change)
    change()
    local line = nightjar.timeout(5, function() return fake.stdout:line() end)
    t:equal(json.decode(line), json.decode(request))
  end
  wakes(function() transfers.start((download "one")) end)
  for _, name in ipairs { "pause", "resume", "cancel", "retry" } do wakes(function() transfers[name] "one" end) end
  wakes(transfers.wake)
  wakes(function() nightjar.try(transfers.ended { timeout = 0 }) end)
  wakes(function() nightjar.try(function() transfers.get "one":wait { timeout = 0 } end) end)
end)

test("of two workers that start at the same time, one ends", function(t)
  local planned, check = download("one", { rate = 8000 })
  transfers.start(planned)
  local results = nightjar.map({ 1, 2 }, function() return work { timeout = 30 } end)
  t:equal({ results[1].status, results[2].status }, { 0, 0 })
  local errors = results[1].stderr .. results[2].stderr
  local _, count = errors:gsub("another transferd already works on the journal", "%0")
  t:equal(count, 1, errors)
  t:equal(check(t).count, 1)
end)

-- --- The progress of running transfers ---

test("the progress of running transfers is that of their worker", function(t)
  local running <close> = worker()
  wait_for_socket()
  local ids = { "one", "a \"b\"\n\t\u{1f600}\\", ("x"):rep(256), "\u{e9}" }
  for _, id in ipairs(ids) do transfers.start((download(id, { size = 200000, rate = 50000 }))) end
  for _, id in ipairs(ids) do
    wait_until(function() return (transfers.get(id).rate or 0) > 0 end, "no rate of the download " .. json.encode(id))
    local now = transfers.get(id)
    t:truthy(now.received > 0 and now.received < 200000, now.received)
    t:equal({ now.state, now.total }, { "running", 200000 })
  end
  local rates = 0
  for each in transfers.list() do rates = rates + (each.rate and 1 or 0) end
  t:equal(rates, #ids)
  for _, id in ipairs(ids) do transfers.cancel(id) end
  local planned = {
    id = "two", from = sources.write(folder.path .. "/source", 300000), protocol = "tus",
    upload = with_query("/tus", { run = sources.new_run "worker", rate = 200000 }),
  }
  transfers.start(planned)
  wait_until(function() return (transfers.get "two".rate or 0) > 0 end, "no rate of the upload")
  local now = transfers.get "two"
  t:truthy(now.sent > 0 and now.sent <= 300000, now.sent)
  t:equal(now.total, 300000)
  wait_for("two", "done")
  now = transfers.get "two"
  t:equal({ now.sent, now.total, now.rate }, { 300000, 300000 })
end)

test("ids with the same characters in other forms are different transfers", function(t)
  local running <close> = worker()
  local ids = { "\u{e9}", "e\u{301}" }
  for _, id in ipairs(ids) do transfers.start((download(id, { size = 200000, rate = 50000 }))) end
  for _, id in ipairs(ids) do wait_for(id, "running") end
  transfers.pause(ids[1])
  wait_until(function() return events(ids[1]) == "started stopped" end, "the first transfer is not paused", 3)
  t:equal(events(ids[2]), "started")
end)

-- --- The path of the socket ---

-- Each function prepares a runtime folder, and returns the environment of the worker and its starters. `socket` is the path
-- in this folder. `log` is a pattern for the log of the worker; nil: it has no line about the socket.
local long = ("x"):rep(100)
local places = {
  { "a file", function(_, place) fs.write(place, "content") end, "is not a socket of this user; remove it",
    function(t, _, place) t:equal(fs.read(place), "content") end },
  { "a folder", function(_, place) fs.mkdir(place) end, "is not a socket of this user; remove it" },
  { "the socket of a process that has ended", function(_, place) process.run(with({ check = true }, fake_worker("bind", place))) end, nil,
    function(t, _, place) t:equal(fs.exists(place), false) end },
  { "the socket of a killed worker", function(dir, place)
    local killed <close> = process.spawn { command, "transferd", "--journal", path, "--idle", "30", env = { XDG_RUNTIME_DIR = dir } }
    wait_for_socket(place)
    killed:kill "KILL"
    killed:wait()
  end, nil, function(t, _, place) t:equal(fs.exists(place), false) end },
  { "a socket of another user", function(_, place)
    process.run(with({ check = true }, fake_worker("bind", place)))
    shell("chown 65534 \"$1\"", place)
  end, "is not a socket of this user; remove it",
    function(t, _, place) t:equal(shell("stat -c %u \"$1\"", place), "65534\n") end, needs_root },
  { "a folder of another user", function(dir) shell("chown 65534 \"$1/nightjar\"", dir) end, "changed by other users", nil, needs_root },
  { "a folder that others can change", function(dir) shell("chmod 770 \"$1/nightjar\"", dir) end, "changed by other users" },
  { "a runtime folder that others can change", function(dir) shell("chmod 777 \"$1\"", dir) end, "changed by other users" },
  { "a link instead of the folder", function(dir)
    shell("mv \"$1/nightjar\" \"$1/other\" && ln -s other \"$1/nightjar\"", dir)
  end, "changed by other users", function(t, dir) t:equal(fs.list(dir .. "/other"), {}) end },
  { "a path that is too long", function(dir)
    fs.mkdir(dir .. "/" .. long)
    return { XDG_RUNTIME_DIR = dir .. "/" .. long }
  end, "long", function(t, dir) t:equal(fs.list(dir .. "/" .. long), {}) end },
  { "no runtime folder", function() return { XDG_RUNTIME_DIR = false } end },
  { "a relative runtime folder", function() return { XDG_RUNTIME_DIR = "runtime" } end },
  { "an empty runtime folder", function() return { XDG_RUNTIME_DIR = "" } end },
  { "a runtime folder that does not exist", function(dir) return { XDG_RUNTIME_DIR = dir .. "/absent" } end, "No such file or directory",
    function(t, dir) t:equal(fs.exists(dir .. "/absent"), false) end },
  { "a file instead of the runtime folder", function(dir) return { XDG_RUNTIME_DIR = dir .. "/journal.db" } end, "Not a directory" },
}
for _, row in ipairs(places) do
  local name, prepare, pattern, check_place, skip = table.unpack(row, 1, 5)
  test("transfers complete with " .. name .. " at the path of the socket", { skip = skip }, function(t)
    local dir = folder.path .. "/run"
    local place = dir .. "/nightjar/" .. socket():match "[^/]*$"
    shell("mkdir -m 700 \"$1\" \"$1/nightjar\" && : >\"$1/journal.db\"", dir)
    local env = prepare(dir, place) or { XDG_RUNTIME_DIR = dir }
    local planned, check = download "one"
    transfers.start(planned)
    local result = work { env = env }
    t:equal(result.status, 0, result.stderr)
    check(t)
    planned, check = download "two"
    t:equal(start_elsewhere({ planned }, { env = env }).status, 0)
    wait_for("two", "done")
    check(t)
    wait_until(function() return #workers() == 0 end)
    if check_place then check_place(t, dir, place) end
    t:equal(fs.exists(path .. ".sock"), false)
    if pattern then
      t:truthy(result.stderr:find(pattern, 1, true), "the log has no line with " .. pattern .. ":\n" .. result.stderr)
    else
      t:falsy(result.stderr:find("socket", 1, true), result.stderr)
    end
  end)
end

test("without a runtime folder, the socket is beside the journal", function(t)
  local running <close> = process.spawn { command, "transferd", "--journal", path, "--idle", "0.5", env = { XDG_RUNTIME_DIR = false } }
  wait_for_socket(path .. ".sock")
  wait_until(function() return mode(path .. ".sock") == "600" end, "the mode of the socket")
  t:equal(running:wait().status, 0)
  t:equal(fs.exists(path .. ".sock"), false)
end)

-- --- Another program instead of the worker ---

-- The fields that a program gets of a transfer that runs. Nil: those that the file has.
local responses = {
  { "valid", { received = 1234, total = 5678, rate = 9.5 } },
  { "negative size", { received = 5 } },
  { "the largest number", { received = math.maxinteger, total = math.maxinteger, rate = 1e308 } },
}
for name in ([[nothing|an endless line|one byte at a time|half a line|the end|later version|no version|garbage|empty|nested
other ids|an error|negative|fractions|texts|no object|an array|too large|an infinite rate]]):gmatch "[^|\n]+" do
  responses[#responses + 1] = { name }
end

test("a program that responds instead of the worker does not disturb others", function(t)
  -- The worker has another socket.
  local running <close> = process.spawn { command, "transferd", "--journal", path, env = { XDG_RUNTIME_DIR = folder.path } }
  transfers.start((download("one", { size = 1000000, rate = 50000 })))
  wait_until(function() return transfers.get "one".received > 0 end)
  local starting = nightjar.transfers.open { journal = path, transferd = idle_0 }
  local function timed(f, ...)
    local start = nightjar.time.monotonic()
    local result = f(...)
    local seconds = nightjar.time.monotonic() - start
    t:truthy(seconds < 1.5, ("the call needs %g s"):format(seconds))
    return result
  end
  local fake <close> = process.spawn(with({ stdin = "pipe", stdout = "pipe" }, fake_worker("serve", socket())))
  for number, row in ipairs(responses) do
    local name, expected = table.unpack(row)
    t:test(name, function(t)
      fake.stdin:write(name, "\n")
      t:equal(fake.stdout:line(), name)
      local function check_one(one)
        t:equal(one.state, "running")
        t:equal(one.rate, expected and expected.rate)
        if expected then
          t:equal({ one.received, one.total }, { expected.received, expected.total })
        else
          t:truthy(one.received >= 0 and one.received <= 1000000, one.received)
        end
      end
      check_one(timed(transfers.get, "one"))
      local list = timed(function()
        local list = {}
        for each in transfers.list() do list[each.id] = each end
        return list
      end)
      check_one(list.one)
      local planned = download("transfer " .. number)
      t:equal(timed(starting.start, planned).state, "waiting")
    end)
  end
  for number = 1, #responses do wait_for("transfer " .. number, "done") end
end)

-- --- Programs that send invalid requests ---

-- The request, a pattern for the response, and the largest number of seconds until the worker closes the connection.
local requests = {
  { "valid", '"progress":{"1":{"transferred":%d', 1 },
  { "valid, with more lines", '"progress":{"1":', 1 },
  { "wake", '^{"version":1}\n$', 1 },
  { "later version", '^{"version":1,"error":"unknown version or request"}\n$', 1 },
  { "unknown", "unknown version or request", 1 },
  { "garbage", "invalid request", 1 },
  { "empty", "invalid request", 1 },
  { "nested", "invalid request", 1 },
  { "NUL", "invalid request", 1 },
  { "an endless line", "^$", 1 },
  { "never read", "^$", 1 },
  { "half a line", "^$", 3 },
  { "nothing", "^$", 3 },
}

-- Sends requests to the worker. Returns the responses by the names of the requests.
local function ask(count, asked)
  return json.decode(process.run(with({ check = true }, fake_worker("ask", socket(), tostring(count), table.unpack(asked)))).stdout)
end

test("a worker closes the connections of programs that send invalid requests", function(t)
  local running <close> = worker()
  transfers.start((download("one", { size = 1000000, rate = 50000 })))
  wait_until(function() return (transfers.get "one".rate or 0) > 0 end)
  local asked = {}
  for number, row in ipairs(requests) do asked[number] = row[1] end
  local results = ask(1, asked)
  for _, row in ipairs(requests) do
    local name, pattern, limit = table.unpack(row)
    local result = results[name]
    t:matches(result.response, pattern, name)
    t:equal(result.open, 0, name)
    t:truthy(result.seconds < limit + 0.5, ("%s: the connection is closed after %g s"):format(name, result.seconds))
  end
  t:equal(transfers.get "one".state, "running")
end)

test("many idle connections do not disturb a worker", function(t)
  local running <close> = worker()
  wait_for_socket()
  transfers.start((download("one", { size = 1000000, rate = 50000 })))
  wait_for("one", "running")
  local asking = nightjar.spawn(function() return ask(100, { "nothing" }).nothing.seconds end)
  local starting = nightjar.transfers.open { journal = path, transferd = idle_0 }
  for number = 1, 5 do
    local planned, check = download("transfer " .. number)
    local start = nightjar.time.monotonic()
    starting.start(planned)
    wait_for(planned.id, "done", 2)
    t:equal(transfers.get "one".state, "running")
    t:truthy(nightjar.time.monotonic() - start < 2, number)
    t:equal(check(t).count, 1)
    nightjar.sleep(0.2)
  end
  local seconds = asking:join()
  t:truthy(seconds < 3.5, ("the last connection is closed after %g s"):format(seconds))
end)

-- --- Socket activation ---

-- Starts a worker when a program connects to the socket.
local function activated()
  fs.remove(socket())
  fs.mkdir(runtime .. "/nightjar")
  local child = process.spawn {
    "systemd-socket-activate", "-l", socket(), "-E", "XDG_RUNTIME_DIR=" .. runtime, "-E", "PATH=" .. os.getenv "PATH",
    command, "transferd", "--journal", path, "--idle", "0.2", stderr = "pipe",
  }
  assert(child.stderr:line():find "^Listening on ", "systemd-socket-activate does not listen")
  return child
end

test("a worker is started by systemd when a transfer is started", { skip = needs_activation }, function(t)
  for number = 1, 2 do
    local child <close> = activated()
    t:truthy(fs.read(("/proc/%d/cmdline"):format(child.pid)):find "^systemd%-socket%-activate", "no worker runs before")
    local planned, check = download("transfer " .. number, {},
      { on_complete = { "sh", "-c", ("env >'%s/env.new' && mv '%s/env.new' '%s/env'"):format(folder.path, folder.path, folder.path) } })
    transfers.start(planned)
    wait_for(planned.id, "done")
    check(t)
    t:equal(child:wait().status, 0)
    t:equal(fs.exists(socket()), "socket")
    wait_until(function() return fs.exists(folder.path .. "/env") end)
    t:falsy(fs.read(folder.path .. "/env"):find "LISTEN_", fs.read(folder.path .. "/env"))
  end
end)

test("a worker that was started by hand keeps the socket of systemd", { skip = needs_activation }, function(t)
  local child <close> = activated()
  local file = shell("stat -c %i \"$1\"", socket())
  t:equal(work().status, 0)
  t:equal(fs.exists(socket()), "socket", "the worker has removed the socket")
  t:equal(shell("stat -c %i \"$1\"", socket()), file)
end)

for _, kind in ipairs { "TCP", "datagrams", "one that does not listen", "a file", "two", "none" } do
  test("another inherited socket is an error: " .. kind, function(t)
    local planned, check = download "one"
    transfers.start(planned)
    local result = process.run(fake_worker("pass", kind, command, "transferd", "--journal", path, "--idle", "0"))
    t:equal(result.status, 1)
    t:matches(result.stderr, "socket activation of transferd requires one socket with ListenStream=")
    t:equal(transfers.get "one".state, "waiting")
    work()
    check(t)
  end)
end

test("the inherited socket of another process is ignored", function(t)
  local planned, check = download "one"
  transfers.start(planned)
  local result = process.run(fake_worker("pass", "of another process", command, "transferd", "--journal", path, "--idle", "0"))
  t:equal(result.status, 0, result.stderr)
  check(t)
end)

-- --- on_complete ---

local function output() return folder.path .. "/output" end

test("the program of a transfer is started after its end, with its words and variables", function(t)
  local words = { "a b", "it's", "\"q\"", "$HOME `id` \\", "", "*", "\u{e9}\t", "-n", "a\nb" }
  local checks = {}
  for _, id in ipairs { "one", "two\n\"x\"" } do
    local planned, check = download(id, {}, { on_complete = { record, output(), table.unpack(words) } })
    transfers.start(planned)
    checks[#checks + 1] = check
  end
  transfers.start(missing("three", { on_complete = { record, output() } }))
  t:equal(work().status, 0)
  local last = path .. "|" .. table.concat(words, "|") .. "|\n"
  local expected = { "one|done|" .. last, "two\n\"x\"|done|" .. last, "three|failed|" .. path .. "|\n" }
  wait_until(function() return (fs.stat(output()) or { size = 0 }).size >= #table.concat(expected) end)
  local content = fs.read(output())
  t:equal(#content, #table.concat(expected))
  for _, line in ipairs(expected) do t:truthy(content:find(line, 1, true), content) end
  for _, check in ipairs(checks) do check(t) end
end)

test("no program is started for a transfer that was cancelled or removed", function(t)
  local running <close> = worker()
  for _, id in ipairs { "cancelled", "waiting", "removed", "last" } do
    transfers.start((download(id, { size = 20000, rate = 20000 }, { on_complete = { record, output() },
      not_before = id == "waiting" and nightjar.time.now() + 1000 or nil })))
  end
  for _, id in ipairs { "cancelled", "removed" } do wait_for(id, "running") end
  transfers.cancel "cancelled"
  transfers.cancel "waiting"
  transfers.pause "removed"
  wait_until(function() return events "removed" == "started stopped" end)
  transfers.remove "removed"
  wait_for("last", "done")
  wait_until(function() return #lines(output()) > 0 end)
  nightjar.sleep(0.3)
  t:equal(lines(output()), { "last|done|" .. path .. "|" })
end)

test("the program of a transfer in doubt is started", function(t)
  transfers.start((download("one", { size = 50000, rate = 20000 }, { on_complete = { record, output() } })))
  do
    local running <close> = worker()
    wait_for("one", "running")
    running:kill "KILL"
    running:wait()
  end
  change_journal("UPDATE entry SET phase = 2 WHERE id = 'one'")
  t:equal(transfers.get "one".state, "in_doubt")
  t:equal(work().status, 0)
  wait_until(function() return #lines(output()) > 0 end)
  t:equal(lines(output()), { "one|in_doubt|" .. path .. "|" })
end)

test("a program that does not exist is logged, and the transfer is done", function(t)
  local planned, check = download("one", {}, { on_complete = { "/no/such/program", "x" } })
  transfers.start(planned)
  local result = work()
  t:equal(result.status, 0)
  t:matches(result.stderr, "one: starting \"/no/such/program\" failed: No such file or directory")
  check(t)
  t:equal(transfers.get "one".state, "done")
  t:matches(events "one", "program")
end)

test("a program that does not end does not keep the worker from ending", function(t)
  local script = ("echo $$ >'%s.new' && mv '%s.new' '%s' && exec sleep 30"):format(output(), output(), output())
  transfers.start((download("one", {}, { on_complete = { "sh", "-c", script } })))
  local running <close> = worker("--idle", "0.2")
  wait_until(function() return fs.exists(output()) end)
  local id = lines(output())[1]
  t:cleanup(shell, "kill -KILL $1", id)
  t:equal(nightjar.timeout(5, function() return running:wait() end).status, 0)
  t:equal(fs.read(("/proc/%s/cmdline"):format(id)), "sleep\00030\0")
end)

test("a program is started again after another attempt", function(t)
  transfers.start(missing("one", { on_complete = { record, output() } }))
  for number = 1, 3 do
    t:equal(work().status, 0)
    t:equal(transfers.get "one".state, "failed")
    wait_until(function() return #lines(output()) == number end)
    transfers.retry "one"
  end
end)

test("each program is started although workers are killed", function(t)
  local ids = {}
  for round = 1, 15 do
    ids[round] = "transfer " .. round
    transfers.start((download(ids[round], { size = 1000 }, { on_complete = { record, output() } })))
    local running <close> = worker()
    -- Most workers are killed shortly after the end of the transfer.
    if round % 3 > 0 then
      wait_for(ids[round], "done")
      nightjar.sleep(math.random() * 0.004)
    else
      nightjar.sleep(math.random() * 0.1)
    end
    running:kill "KILL"
    running:wait()
  end
  t:equal(work().status, 0)
  local found = {}
  wait_until(function()
    for _, line in ipairs(lines(output())) do found[line:match "^[^|]*"] = true end
    for _, id in ipairs(ids) do
      if not found[id] then return false end
    end
    return true
  end, "a program was not started", 3)
end)

test("a transfer that was removed can be started again with another program", function(t)
  local planned, check = download("one", { size = 50000, rate = 20000 }, { on_complete = { record, output(), "first" } })
  transfers.start(planned)
  do
    local running <close> = worker()
    wait_for("one", "running")
    running:kill "TERM"
    running:wait()
  end
  transfers.remove "one"
  planned, check = download("one", {}, { on_complete = { record, output(), "second" } })
  transfers.start(planned)
  local running <close> = worker()
  wait_for("one", "done", 3)
  check(t)
  wait_until(function() return #lines(output()) > 0 end)
  t:equal(lines(output()), { "one|done|" .. path .. "|second|" })
end)

test("the program of a paused transfer does not keep the worker from ending", function(t)
  transfers.start((download("one", { size = 50000, rate = 20000 }, { on_complete = { record, output() } })))
  local running <close> = worker("--idle", "0.2")
  wait_for("one", "running")
  transfers.pause "one"
  t:equal(nightjar.timeout(3, function() return running:wait() end).status, 0)
  transfers.resume "one"
  t:equal(work().status, 0)
  wait_until(function() return #lines(output()) > 0 end)
  t:equal(lines(output()), { "one|done|" .. path .. "|" })
end)

test("a transfer with a program completes although the journal is full", function(t)
  transfers.start((download "old"))
  t:equal(work().status, 0)
  local planned, check = download("one", {}, { on_complete = { record, output() } })
  transfers.start(planned)
  local other, check_other = download "two"
  transfers.start(other)
  change_journal("UPDATE entry SET bytes = 67108864 WHERE id = 'old'")
  local result = work()
  t:equal(result.status, 0, result.stderr)
  check(t)
  check_other(t)
end)

test("the environment of programs is that of the worker", function(t)
  local script = ("printf '%%s' \"$BYTES\" >'%s.new' && mv '%s.new' '%s'"):format(output(), output(), output())
  transfers.start((download("one", {}, { on_complete = { "sh", "-c", script } })))
  t:equal(work { env = { BYTES = "a=\xff\u{e9}\n=b" } }.status, 0)
  wait_until(function() return fs.exists(output()) end)
  t:equal(fs.read(output()), "a=\xff\u{e9}\n=b")
end)

local invalid_programs = {
  { "no words", nightjar.array {}, "must have a program" },
  { "an object", { program = "true" }, "an array with a program and its arguments, found an object" },
  { "a text", "true", "an array with a program and its arguments, found a string" },
  { "a number", 5, "an array with a program and its arguments, found an integer" },
  { "null", nightjar.null, "an array with a program and its arguments, found null" },
  { "a number as a word", { "true", 5 }, '"on_complete[2]" must be a string, found an integer' },
  { "null as a word", { "true", nightjar.null }, "a string, found null" },
  { "an empty program", { "" }, "a program and arguments without NUL" },
  { "a NUL", { "true", "a\0b" }, "a program and arguments without NUL" },
  { "a password", { "curl", "http://user:password@localhost/" }, "has a secret" },
}
for _, row in ipairs(invalid_programs) do
  local name, words, expected = table.unpack(row)
  test("an invalid program is an error: " .. name, function(t)
    local err = t:raises("invalid_argument", transfers.start, (download("one", {}, { on_complete = words })))
    t:truthy(err.message:find("on_complete", 1, true) and err.message:find(expected, 1, true), err.message)
    t:equal(transfers.get "one", nil)
  end)
end

-- --- ended and acknowledge ---

test("ended returns each end, and again in another process until it is acknowledged", function(t)
  for _, id in ipairs { "one", "three" } do transfers.start((download(id))) end
  transfers.start(missing "two")
  local running <close> = worker()
  local function collect(list)
    local found = {}
    for transfer in list do
      found[#found + 1] = transfer.id .. " " .. transfer.state
      if transfer.id == "one" then transfer:acknowledge() end
    end
    table.sort(found)
    return found
  end
  t:equal(collect(transfers.ended { timeout = 10 }), { "one done", "three done", "two failed" })
  t:equal({ transfers.get "one", fs.exists(folder.path .. "/missing") }, { nil, false })
  local elsewhere = [[
    for transfer in require "nightjar".transfers.open(arg[1]).ended { timeout = 10 } do
      print(transfer.id, transfer.state, transfer.error and transfer.error.kind)
    end]]
  fs.write(folder.path .. "/ended.lua", elsewhere)
  local result = process.run { command, folder.path .. "/ended.lua", path, check = true }
  local found = {}
  for line in result.stdout:gmatch "[^\n]+" do found[#found + 1] = line end
  table.sort(found)
  t:equal(found, { "three\tdone\tnil", "two\tfailed\tnot_found" })
  -- A transfer that was started again has another end.
  local list = transfers.ended { timeout = 10 }
  list()
  list()
  transfers.retry "two"
  t:equal(list().id, "two")
  t:equal(list(), nil)
  for _, id in ipairs { "two", "three" } do transfers.acknowledge(id) end
  t:equal(transfers.ended()(), nil)
  transfers.acknowledge "unknown"
end)

test("ended has a timeout", function(t)
  transfers.start((download "one"))
  local start = nightjar.time.monotonic()
  local err = t:raises("timeout", transfers.ended { timeout = 0.3 })
  t:matches(err.message, "0.3 s")
  t:truthy(nightjar.time.monotonic() - start >= 0.3)
  for _, value in ipairs { "1", true } do
    t:falsy(pcall(transfers.ended, { timeout = value }))
  end
end)

test("a transfer that has not ended cannot be acknowledged", function(t)
  transfers.start((download("one", { size = 50000, rate = 20000 })))
  local err = t:raises("storage", transfers.acknowledge, "one")
  t:matches(err.message, "one")
  local running <close> = worker()
  wait_for("one", "running")
  t:raises("storage", transfers.acknowledge, "one")
  transfers.pause "one"
  t:raises("storage", transfers.acknowledge, "one")
  t:equal(transfers.get "one".state, "paused")
  transfers.cancel "one"
  wait_for("one", "cancelled")
  transfers.acknowledge "one"
  t:equal(transfers.get "one", nil)
end)

-- --- The log ---

test("the log has the events of each transfer in their order", function(t)
  t:equal(transfers.log()(), nil)
  local running <close> = worker()
  transfers.start((download("repeated", { faults = "503" }, { attempts = 1, retry = false })))
  transfers.start((download("done", {}, { on_complete = { "true" } })))
  transfers.start(missing("failed", { on_complete = { "/no/such/program" } }))
  for _, id in ipairs { "cancelled", "paused" } do transfers.start((download(id, { size = 20000, rate = 20000 }))) end
  for _, id in ipairs { "cancelled", "paused" } do wait_for(id, "running") end
  transfers.cancel "cancelled"
  transfers.pause "paused"
  wait_until(function() return events "paused" == "started stopped" end)
  wait_for("cancelled", "cancelled")
  transfers.resume "paused"
  for _, id in ipairs { "repeated", "done", "paused" } do wait_for(id, "done") end
  local expected = {
    done = "started done program", failed = "started failed program", cancelled = "started stopped",
    paused = "started stopped started done", repeated = "started waiting started done", unknown = "",
  }
  for id, list in pairs(expected) do
    wait_until(function() return events(id) == list end, ("the log of %s: %s"):format(id, events(id)), 3)
  end
  local messages, last = {}, 0
  for entry in transfers.log() do
    messages[entry.id .. " " .. entry.event] = entry.message
    t:truthy(entry.time >= last and entry.time <= nightjar.time.now(), "the time of an entry")
    last = entry.time
  end
  t:matches(messages["failed failed"], "404")
  t:matches(messages["repeated waiting"], "503.*next attempt in %d+%.?%d* s$")
  t:matches(messages["done program"], "^started \"true\"$")
  t:matches(messages["failed program"], "No such file")
  t:equal({ messages["done started"], messages["done done"] }, { "", "" })
  t:equal(mode(path .. ".log"), "600")
end)

test("the log finds each id", function(t)
  local ids = { "a \"b\"\n\\", "\u{e9}", "e\u{301}", "a\u{2028}b", "a\u{85}b", "a\r\nb", "\u{1f600}", "\u{1}", ("\u{e9}"):rep(128) }
  for _, id in ipairs(ids) do transfers.start((download(id))) end
  t:equal(work().status, 0)
  for _, id in ipairs(ids) do t:equal(events(id), "started done", json.encode(id)) end
end)

-- Writes a log with valid lines.
local function write_log(place, count, message)
  local list = {}
  for number = 1, count do
    list[number] = json.encode { time = number, id = "old " .. number, event = "done", message = message or "" } .. "\n"
  end
  fs.write(place, table.concat(list), { mode = tonumber("600", 8) })
end

test("a full log is replaced, and the log before it is kept", function(t)
  local message = ("m"):rep(1000)
  write_log(path .. ".log.1", 5)
  write_log(path .. ".log", 1040, message)
  t:truthy(fs.stat(path .. ".log").size > 1 << 20)
  transfers.start((download "one"))
  t:equal(work().status, 0)
  t:truthy(fs.stat(path .. ".log").size < 1000)
  t:truthy(fs.stat(path .. ".log.1").size > 1 << 20)
  t:equal({ mode(path .. ".log"), mode(path .. ".log.1") }, { "600", "600" })
  local first, last, count = nil, nil, 0
  for entry in transfers.log() do first, last, count = first or entry, entry, count + 1 end
  t:equal({ count, first.id, #first.message, last.id, last.event }, { 1042, "old 1", 1000, "one", "done" })
  t:equal(events "one", "started done")
end)

test("damaged lines of the log are skipped", function(t)
  local function line(id) return json.encode { time = 1, id = id, event = "done", message = "" } end
  local damaged = {
    "", " ", "text", "{", "[]", "5", "null", "{\"id\":5,\"event\":\"done\",\"message\":\"\"}", "{\"event\":\"done\",\"message\":\"\"}",
    "{\"id\":\"x\",\"event\":\"unknown\",\"message\":\"\"}", "{\"id\":\"x\",\"event\":\"done\"}", "\xff\xfe", "\0", ("["):rep(10000),
    line("x"):sub(1, -2), "text\r",
  }
  local all = {}
  for number, text in ipairs(damaged) do all[number] = text .. "\n" .. line("valid " .. number) .. "\n" end
  fs.write(path .. ".log", table.concat(all), { mode = tonumber("600", 8) })
  transfers.start((download "one"))
  t:equal(work().status, 0)
  local found = {}
  for entry in transfers.log() do found[#found + 1] = entry.id end
  local expected = {}
  for number in ipairs(damaged) do expected[number] = "valid " .. number end
  table.insert(expected, "one")
  table.insert(expected, "one")
  t:equal(found, expected)
end)

local victim_text = "content of another file\n"
local logs = {
  { "a link", function(victim) shell("ln -s \"$1\" \"$2\"", victim, path .. ".log") end },
  { "a link to nothing", function(victim)
    fs.remove(victim)
    shell("ln -s \"$1\" \"$2\"", victim, path .. ".log")
  end },
  { "a hard link", function(victim) shell("ln \"$1\" \"$2\"", victim, path .. ".log") end },
  { "a folder", function() fs.mkdir(path .. ".log") end },
  { "a pipe", function() shell("mkfifo -m 600 \"$1\"", path .. ".log") end },
  { "a file of another user", function()
    fs.write(path .. ".log", victim_text, { mode = tonumber("600", 8) })
    shell("chown 65534 \"$1\"", path .. ".log")
  end, needs_root },
}
for _, row in ipairs(logs) do
  local name, prepare, skip = table.unpack(row, 1, 3)
  test("transfers complete with " .. name .. " at the path of the log, which is not changed", { skip = skip }, function(t)
    local victim = folder.path .. "/victim"
    fs.write(victim, victim_text)
    prepare(victim)
    local kind, existed = shell("stat -c '%F %u %s' \"$1\"", path .. ".log"), fs.exists(victim)
    local planned, check = download "one"
    transfers.start(planned)
    t:equal(work().status, 0)
    check(t)
    t:equal(shell("stat -c '%F %u %s' \"$1\"", path .. ".log"), kind)
    t:equal(fs.exists(victim), existed)
    if existed then t:equal(fs.read(victim), victim_text) end
    -- Reading the log returns what can be read, or is an error.
    local ok, err = pcall(function()
      for _ in transfers.log() do end
    end)
    t:truthy(ok or err.kind == "storage", tostring(err))
  end)
end

-- --- Few resources ---

-- Runs workers with limits, each with a journal of its own. None may be ended by another signal than `signals`, and after
-- them, a worker without a limit completes the transfers.
local function check_limits(t, prefixes, signals)
  nightjar.map(prefixes, function(prefix, number)
    local place = ("%s/limits/%d"):format(folder.path, number)
    local own, checks = nightjar.transfers.open(place .. "/journal.db"), {}
    fs.mkdir(place)
    for index = 1, 2 do
      local planned, check = download("transfer " .. index, {}, { connections = 1, attempts = 1, on_complete = { "true" } })
      planned.to = place .. "/" .. index
      checks[planned.id] = check
      own.start(planned)
    end
    local words = { command, "transferd", "--journal", place .. "/journal.db", "--idle", "0", "--log" }
    if prefix.uid then shell("chmod 711 \"$1\" && chown -R \"$2\" \"$3\"", folder.path, prefix.uid, place) end
    do
      local limited = table.move(words, 1, #words, #prefix + 1, { table.unpack(prefix) })
      local child <close> = process.spawn(with({ stderr = "pipe", env = { XDG_RUNTIME_DIR = false } }, limited))
      local reading = nightjar.spawn(function() return child.stderr:read_all() end)
      local has_ended = pcall(nightjar.timeout, 0.6, function() child:wait() end)
      child:kill "TERM"
      local result, text = child:wait(), reading:join()
      local what = table.concat(prefix, " ") .. ": " .. text
      local signal = result.signal
      local was_ended = (signals or {})[signal]
      t:truthy(signal == nil or signal == "TERM" or was_ended, ("ended by the signal %s: %s"):format(signal, what))
      local is_done = own.get "transfer 1".state == "done" and own.get "transfer 2".state == "done"
      if has_ended and not was_ended then t:truthy(is_done or text ~= "", "a failure is not reported: " .. what) end
    end
    if prefix.uid then shell("chown -R 0 \"$1\"", place) end
    for id in pairs(checks) do
      if own.get(id).state == "failed" then own.retry(id) end
    end
    process.run(with({ check = true, timeout = 30 }, words))
    for _, check in pairs(checks) do check(t) end
  end, { concurrency = 8 })
end

test("a worker with few descriptors reports failures, and does not crash", function(t)
  local prefixes = {}
  for _, count in ipairs { 4, 6, 8, 10, 12, 14, 16, 17, 18, 19, 20, 21, 22, 24, 28, 32, 40 } do
    prefixes[#prefixes + 1] = { "sh", "-c", "ulimit -n " .. count .. " && exec \"$@\"", "sh" }
  end
  check_limits(t, prefixes)
end)

-- Swift ends the process when a small allocation fails, with one of these signals.
test("transfers complete after a worker with little memory, which may end", function(t)
  local prefixes = {}
  for megabytes = 40, 160, 10 do
    prefixes[#prefixes + 1] = { "sh", "-c", ("ulimit -v %d && exec \"$@\""):format(megabytes << 10), "sh" }
  end
  check_limits(t, prefixes, { ILL = true, TRAP = true, ABRT = true, SEGV = true })
end)

test("a worker with few threads reports failures, and does not crash", { skip = needs_root }, function(t)
  local setpriv = { "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "test", "-x", command }
  if not process.run(setpriv).ok then t:skip "other users cannot run nightjar" end
  local prefixes = {}
  for count = 1, 6 do
    -- Each worker has a user of its own, whose threads are counted.
    local uid = tostring(60100 + count)
    prefixes[count] = { "setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "prlimit", "--nproc=" .. count, uid = uid }
  end
  check_limits(t, prefixes)
end)

-- --- Other versions ---

test("entries of a later version do not disturb others", function(t)
  local planned, check = download("one", { size = 30000, rate = 30000 }, { on_complete = { record, output() } })
  transfers.start(planned)
  transfers.start((download("later", {}, { on_complete = { record, output() } })))
  change_journal([[UPDATE value SET content = CAST(replace(CAST(content AS TEXT), '"version":1', '"version":2') AS BLOB)
    WHERE entry = (SELECT number FROM entry WHERE id = 'later')]])
  local running <close> = worker()
  wait_for_socket()
  wait_for("one", "running")
  local found = {}
  for each in transfers.list() do found[#found + 1] = each.id end
  t:equal(found, { "one" })
  local err = t:raises("invalid_argument", transfers.get, "later")
  t:matches(err.message, "another version of nightjar")
  local ids = {}
  for transfer in transfers.ended { timeout = 10 } do ids[#ids + 1] = transfer.id end
  t:equal(ids, { "one" })
  check(t)
  wait_until(function() return #lines(output()) > 0 end)
  t:equal(lines(output()), { "one|done|" .. path .. "|" })
end)

assert(testing.run { filter = arg[2] }.ok, "a case failed")
