-- nightjar.process: running programs, their input and output, and their end. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local run, spawn = nightjar.process.run, nightjar.process.spawn

-- A text that is larger than the buffer of a pipe.
local text = ("0123456789abcdef"):rep(64 * 1024)

test("run returns the output and the status of a program", function(t)
  local result = run { "echo", "one", "two words" }
  t:equal(result.stdout, "one two words\n")
  t:equal(result.stderr, "")
  t:equal(result.status, 0)
  t:equal(result.signal, nil)
  t:equal(result.ok, true)
end)

test("a program is a string, a list with its arguments, or given by the options cmd and args", function(t)
  t:equal(run { cmd = "printf", args = { "%s-", 1, "b" } }.stdout, "1-b-")
  t:equal(run("true").ok, true)
end)

test("run returns standard output and standard error separately, or together on request", function(t)
  local result = run { "sh", "-c", "echo out; echo err >&2; exit 3" }
  t:equal(result.stdout .. result.stderr .. result.status, "out\nerr\n3")
  t:equal(result.ok, false)
  t:equal(run { "sh", "-c", "echo out; echo err >&2", stderr = "output" }.stdout, "out\nerr\n")
end)

test("run returns the signal that ended a program", function(t)
  local result = run { "sh", "-c", "kill -KILL $$" }
  t:equal(result.status, nil)
  t:equal(result.signal, "KILL")
  t:equal(result.ok, false)
end)

test("input and output can be larger than a pipe buffer", function(t)
  t:equal(run { "cat", input = text }.stdout, text)
  t:equal(run { "head", "-c", 5, input = text }.stdout, "01234")
  t:equal(run { "true", input = text }.ok, true)
end)

test("without input, and with empty input, a program reads nothing", function(t)
  t:equal(run { "wc", "-c" }.stdout:match "%d+", "0")
  t:equal(run { "cat", input = "" }.stdout, "")
end)

test("a program has the given working directory", function(t)
  t:equal(run { "pwd", cwd = "/" }.stdout, "/\n")
end)

test("env adds variables, or removes them with false; inherit_env = false starts with none", function(t)
  local set = run { "sh", "-c", "echo $NIGHTJAR_A:$NIGHTJAR_B", env = { NIGHTJAR_A = "x y", NIGHTJAR_B = 7 } }
  t:equal(set.stdout, "x y:7\n")
  t:equal(run { "env", env = { ONLY = "this" }, inherit_env = false }.stdout, "ONLY=this\n")
  t:equal(run { "sh", "-c", "echo ${HOME-none}", env = { HOME = false } }.stdout, "none\n")
  t:matches(run { "env" }.stdout, "PATH=")
end)

test("a program does not inherit descriptors", function(t)
  t:equal(run { "sh", "-c", "ls /proc/self/fd | tr '\\n' ' '" }.stdout, "0 1 2 3 ")
end)

test("the signal handling of a program is the default", function(t)
  local signals = run { "sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status" }.stdout
  t:equal(signals:match "SigBlk:%s*(%x+)", ("0"):rep(16))
  t:equal(tonumber(signals:match "SigIgn:%s*(%x+)", 16) & (1 << 12), 0)
end)

test("a program that cannot be run raises an error", function()
  fails("storage", 'cannot run "/no/such/program": No such file or directory', run, { "/no/such/program" })
  fails("storage", 'cannot run "true" in "/no/such/folder": No such file or directory', run,
    { "true", cwd = "/no/such/folder" })
end)

test("with check, a program that fails raises an error", function()
  fails("script", '"sh" failed with status 4: last words', run,
    { "sh", "-c", "echo first >&2; echo last words >&2; exit 4", check = true })
  fails("script", '"sh" was terminated by signal TERM', run, { "sh", "-c", "kill $$", check = true })
end)

test("a program that exceeds a time limit or an output limit is killed", function(t)
  local began = os.time()
  fails("timeout", '"sleep" did not end within 0.05 seconds and was killed', run, { "sleep", 100, timeout = 0.05 })
  fails("too_large", '"yes" wrote more than 1000 bytes to standard output and was killed (option max_output)', run,
    { "yes", max_output = 1000 })
  fails("too_large", '"sh" wrote more than 10 bytes to standard error and was killed (option max_output)', run,
    { "sh", "-c", "echo longer than ten >&2; sleep 100", max_output = 10 })
  t:truthy(os.time() - began < 30)
end)

test("many programs run concurrently", function(t)
  local numbers = {}
  for number = 1, 30 do numbers[number] = number end
  local outputs = nightjar.map(numbers, function(number) return run { "echo", number }.stdout end, { concurrency = 10 })
  t:equal(#outputs, 30)
  for number, output in ipairs(outputs) do t:equal(output, number .. "\n") end
end)

test("a spawned program reads what is written to it, and its lines and bytes are read", function(t)
  local child <close> = spawn { "cat", stdin = "pipe", stdout = "pipe" }
  t:matches(tostring(child), '^nightjar.process: "cat" %(%d+%)$')
  child.stdin:write("hello\n", "and", " more\n")
  t:equal(child.stdout:line(), "hello")
  t:equal(child.stdout:read(3), "and")
  t:equal(child.stdout:line(), " more")
  child.stdin:close()
  t:equal(child.stdout:line(), nil)
  local ended = child:wait()
  t:equal(ended.status, 0)
  t:equal(ended.ok, true)
  t:equal(child:kill(), false)
  fails("closed", "the pipe is closed", child.stdin.write, child.stdin, "late")
end)

test("lines are read while the program runs", function(t)
  local child <close> = spawn {
    "sh", "-c", "for i in 1 2 3; do echo $i; done; echo end >&2", stdout = "pipe", stderr = "pipe",
  }
  local lines = {}
  for line in child.stdout:lines() do lines[#lines + 1] = line end
  t:equal(table.concat(lines, " "), "1 2 3")
  t:equal(child.stderr:read_all(), "end\n")
  t:equal(child:wait().ok, true)
end)

test("signals are sent by name", function(t)
  local child <close> = spawn {
    "sh", "-c", "trap 'echo got it; exit 9' TERM; echo ready; while :; do sleep 0.01; done", stdout = "pipe",
  }
  t:equal(child.stdout:line(), "ready")
  t:equal(child:kill "SIGTERM", true)
  t:equal(child.stdout:line(), "got it")
  t:equal(child:wait().status, 9)
  misuse("kill: unknown signal 'NONE'", child.kill, child, "NONE")
end)

test("an unknown field of a process raises an error", function()
  local child <close> = spawn { "true" }
  misuse("a process has no field 'output'", function() return child.output end)
  misuse("a process has no field 'stdou'; did you mean 'stdout'?", function() return child.stdou end)
end)

test("writing to a process that has closed its input is an error", function()
  local child <close> = spawn { "true", stdin = "pipe" }
  child:wait()
  fails("storage", 'cannot write to "true": it has closed its input', child.stdin.write, child.stdin, text)
end)

-- Whether a process with this ID exists and is not a zombie.
local function is_alive(pid)
  local status = io.open("/proc/" .. pid .. "/stat")
  if not status then return false end
  local state = status:read "a":match "%) (%a)"
  status:close()
  return state ~= "Z"
end
-- Whether a process with this ID exists, even as a zombie.
local function is_there(pid)
  local status = io.open("/proc/" .. pid .. "/stat")
  return status ~= nil and status:close()
end
-- Waits until no process has this ID: the operating system needs some time for the cleanup.
local function gone(pid)
  for _ = 1, 500 do
    if not is_there(pid) then return true end
    nightjar.sleep(0.01)
  end
  return false
end

test("cancelling a task ends its process, and leaves no zombie", function(t)
  local pid
  local task = nightjar.spawn(function()
    local child <close> = spawn { "sleep", 100 }
    pid = child.pid
    child:wait()
  end)
  while not pid do nightjar.sleep(0) end
  t:truthy(is_alive(pid))
  task:cancel()
  pcall(task.join, task)
  t:truthy(gone(pid), "the process of a cancelled task is there")
end)

test("cancelling a task ends its run", function()
  local task = nightjar.spawn(run, { "sh", "-c", "echo $$ > \"$0\"; exec sleep 100", "/dev/null" })
  nightjar.sleep(0.01)
  task:cancel()
  fails("cancelled", "the task was cancelled", task.join, task)
end)

test("an unreferenced process is ended, and leaves no zombie", function(t)
  local pid = nightjar.spawn(function() return spawn({ "sleep", 100 }).pid end):join()
  for _ = 1, 3 do collectgarbage() end
  t:truthy(gone(pid), "a process without a reference still runs")
end)

test("the children of the host are not affected: io.popen still finds its own", function(t)
  local other = io.popen("exit 5")
  run "true"
  t:equal(select(3, other:close()), 5)
end)

test("closing a process wakes its readers", function(t)
  local child <close> = spawn { "sleep", 100, stdout = "pipe" }
  local reading = nightjar.spawn(function() return child.stdout:line() end)
  nightjar.sleep(0.005)
  fails("string", "another task already reads from this pipe", child.stdout.line, child.stdout)
  child:close()
  fails("closed", "the pipe is closed", reading.join, reading)
  t:equal(child:wait().signal, "KILL")
end)

-- The next two cases run in a child task: the main chunk of a stock interpreter waits on the C stack, below the read.
test("after a cancelled read, the descriptor is no longer watched, and the next reader gets all data", function(t)
  nightjar.spawn(function()
    -- The descriptors that the process watches.
    local function watched()
      local count = 0
      for number = 0, 255 do
        local info = io.open("/proc/self/fdinfo/" .. number)
        for _ in (info and info:read "a" or ""):gmatch "tfd:" do count = count + 1 end
        if info then info:close() end
      end
      return count
    end
    local child <close> = spawn { "cat", stdin = "pipe", stdout = "pipe" }
    local line = function() return child.stdout:line() end
    pcall(nightjar.timeout, 0.001, line) -- The first wait begins to watch for the engine's own wake-ups too.
    for _, wait in ipairs {
      line,
      function() while true do pcall(line) end end,
      function() table.sort({ 2, 1 }, function() return line() == nil end) end,
      function() coroutine.wrap(line)() end,
      function() nightjar.all { line } end,
      function() nightjar.timeout(5, line) end,
    } do
      nightjar.sleep(0)
      local before = watched()
      local reading = nightjar.spawn(wait)
      nightjar.sleep(0.002)
      t:equal(watched(), before + 1)
      reading:cancel()
      fails("cancelled", "the task was cancelled", reading.join, reading)
      t:equal(watched(), before)
      child.stdin:write("all ", "of it\n")
      t:equal(line(), "all of it")
    end
  end):join()
end)

test("cancelling a task ends its blocked read, even if a log function has waited during the read", function(t)
  nightjar.spawn(function()
    local child <close> = spawn { "sleep", 100, stdout = "pipe" }
    local logged = 0
    local api = nightjar.client {
      base_url = "http://log.test", retry = false, mock = { { response = 200 } },
      log = { level = "debug", write = function() logged = logged + 1 nightjar.sleep(0.001) end },
    }
    local reading = nightjar.spawn(function()
      table.sort({ 2, 1 }, function(a, b) child.stdout:line() return a < b end)
    end)
    nightjar.sleep(0)
    nightjar.spawn(api.get, api, "/"):join()
    nightjar.sleep(0.02)
    t:truthy(logged > 0)
    reading:cancel()
    fails("cancelled", "the task was cancelled", nightjar.timeout, 5, reading.join, reading)
    local again = nightjar.spawn(function() return child.stdout:line() end)
    nightjar.sleep(0)
    t:equal(again.done, false)
    again:cancel()
    pcall(again.join, again)
  end):join()
end)

test("invalid arguments raise an error", function()
  misuse([[process.run: option 'cwd' must not contain a NUL: "/tmp\0x"]], run, { "true", cwd = "/tmp\0x" })
  misuse("process.run: a table expected, got number", run, 1)
  misuse("process.run: option 'cmd' (the program to run) is missing", run, {})
  misuse("process.run: unknown option 'cdw'; did you mean 'cwd'?", run, { "true", cdw = "/" })
  misuse("process.run: argument 1 must be a string, got table", run, { "true", {} })
  misuse("process.run: set the program either by option 'cmd' or as the first element of the list", run,
    { "a", cmd = "b" })
  misuse("process.run: option 'env.A' must be a string, or false to unset it, got table", run,
    { "true", env = { A = {} } })
  misuse("process.spawn: option 'stdout' must be \"pipe\", \"null\" or \"inherit\", got \"file\"", spawn,
    { "true", stdout = "file" })
  misuse("the arguments of a process must not contain a NUL", run, { "echo", "a\0b" })
end)

assert(testing.run().ok, "a case failed")
