-- Downloads whose process is killed. Run by Tests/Transfers/kill:
--
--   nightjar kill.lua NIGHTJAR LIBRARY [RUNS [SEED]]
--
-- NIGHTJAR is the nightjar executable, and LIBRARY is kill_at.c as a shared library. RUNS is the number of downloads that are
-- killed at random moments until they are complete.
--
-- A process that is killed leaves no file with other content. The next process continues where the last one has ended, and
-- all of them fetch at most 1.05 times the size.
local nightjar = require "nightjar"
local files = require "files"
local fs, process = nightjar.fs, nightjar.process

local command, library, runs, seed = arg[1], arg[2], tonumber(arg[3]) or 10, tonumber(arg[4]) or os.time()
math.randomseed(seed)
print("seed " .. seed)

-- A file system in memory, if there is one: while a slow disk is synced, the buffers of the connections fill up.
local folder <close> = fs.temp_dir { prefix = "kill-", dir = fs.exists "/dev/shm" and "/dev/shm" or nil }
-- Returns the number of bytes that a killed process may lose: those that it has not read from its connections and, with
-- several connections, those that it has received since it has written the state of the part.
local function lost(connections) return connections * 600000 + (connections == 1 and 0 or 1 << 20) end

-- Returns the number of bytes that the next process must continue: those in the part, if it has a state.
local function kept(path, connections)
  local part = path .. ".nightjar-part"
  if connections > 1 or not fs.exists(part) or not fs.exists(part .. ".state") then return 0 end
  return fs.stat(part).size
end

-- Starts a process that downloads a file.
local function start(path, query, connections, env)
  return process.spawn {
    command, "download.lua", path, nightjar.json.encode(query), connections, env = env, stdout = "pipe", stderr = "pipe",
  }
end

-- Returns "killed", or the size of the file and the numbers of resumed and received bytes.
local function result(child, log)
  local output, errors = child.stdout:read_all(), child.stderr:read_all()
  local ended = child:wait()
  if ended.signal == "KILL" then return "killed" end
  assert(ended.ok, ("the process failed: %s\n%s"):format(errors, files.describe(files.log(log))))
  local size, resumed, received = output:match "(%d+)%s+(%d+)%s+(%d+)"
  return tonumber(size), tonumber(resumed), tonumber(received)
end

-- Checks the file after the last process. Returns the log of the server.
local function check(path, query)
  local log = files.log(query.run)
  assert(files.hash(path) == files.digest(query), "the file has the wrong digest\n" .. files.describe(log))
  assert(not fs.exists(path .. ".nightjar-part") and not fs.exists(path .. ".nightjar-part.state"), "a part is left")
  os.remove(path)
  return log
end

-- Kills a download at a call that changes a file. Returns false if it has ended before this call.
local function kill_at_call(variable, connections, call)
  local query = {
    size = connections == 1 and 1000000 or 2200000, seed = 11, rate = 10000000,
    run = files.new_run(("%s-%d-%d"):format(variable, connections, call)),
  }
  local path = ("%s/%s-%d-%d"):format(folder.path, variable, connections, call)
  local env = { LD_PRELOAD = library, KILL_FOLDER = folder.path, [variable] = call }
  local first <close> = start(path, query, connections, env)
  local was_killed = result(first, query.run) == "killed"
  local found = files.hash(path)
  assert(found == nil or found == files.digest(query), "a killed process left a wrong file")
  -- A process that is killed after the file has its name need not be repeated, but leaves its state.
  if found then
    os.remove(path .. ".nightjar-part.state")
  elseif was_killed then
    local expected = kept(path, connections)
    local second <close> = start(path, query, connections, {})
    local _, resumed = result(second, query.run)
    assert(resumed == expected or connections > 1, ("%d bytes of %d were resumed"):format(resumed, expected))
  end
  check(path, query)
  return was_killed
end

-- Kills a download at each call that changes a file. Returns the number of calls.
local function kill_at_each_call(variable, connections)
  for first = 1, 10000, 4 do
    local killed = nightjar.map({ first, first + 1, first + 2, first + 3 }, function(call)
      return kill_at_call(variable, connections, call)
    end)
    for index = 1, 4 do
      if not killed[index] then return first + index - 2 end
    end
  end
  error "the download does not end"
end

-- Kills a download at random moments until it is complete. Returns the number of kills.
local function kill_at_random(number)
  local connections = number % 2 == 0 and 1 or 3
  local query = { size = 20000000, seed = number, rate = 20000000, run = files.new_run("kill-" .. number) }
  local path = ("%s/random-%d"):format(folder.path, number)
  for kills = 0, 1000 do
    local expected = kept(path, connections)
    local child <close> = start(path, query, connections, {})
    local timer = nightjar.spawn(function()
      nightjar.sleep(0.02 + math.random() * 0.4)
      child:kill "KILL"
    end)
    local ended, resumed = result(child, query.run)
    timer:cancel()
    pcall(timer.join, timer)
    local found = files.hash(path)
    assert(found == nil or found == files.digest(query), "a killed process left a wrong file")
    if ended ~= "killed" or found then
      assert(ended == "killed" or connections > 1 or resumed == expected,
        ("%s bytes of %d were resumed"):format(resumed, expected))
      local log = check(path, query)
      assert(log.body_bytes <= 1.05 * query.size + kills * lost(connections),
        ("%d bytes of %d were fetched\n%s"):format(log.body_bytes, query.size, files.describe(log)))
      return kills
    end
  end
  error "the download does not end"
end

for _, connections in ipairs { 1, 3 } do
  for _, variable in ipairs { "KILL_AT", "KILL_AFTER" } do
    local calls = kill_at_each_call(variable, connections)
    print(("%s with %d connections: %d calls"):format(variable, connections, calls))
  end
end
local kills = 0
for number = 1, runs do kills = kills + kill_at_random(number) end
print(("%d downloads were killed %d times at random moments; all of them are complete"):format(runs, kills))
