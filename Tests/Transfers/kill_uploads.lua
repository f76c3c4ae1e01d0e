-- Uploads whose process is killed. Needs the demo API:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/kill_uploads.lua NIGHTJAR [RUNS [SEED]]
--
-- NIGHTJAR is the nightjar executable. RUNS is the number of uploads that are killed at random moments until they are complete.
-- Each process continues with the state text that an earlier one has written to a file, or, for every second pair of uploads,
-- with the journal. The server receives at most 1.05 times the size, besides the bytes of uploads whose process was killed
-- before it had written a state.
local nightjar = require "nightjar"
local sources = require "sources"
local fs, null, process = nightjar.fs, nightjar.null, nightjar.process

local command, runs, seed = arg[1], tonumber(arg[2]) or 5, tonumber(arg[3]) or os.time()
math.randomseed(seed)
print("seed " .. seed)

local script = sources.folder .. "/upload.lua"
local folder <close> = fs.temp_dir { prefix = "kill-uploads-" }
local size = 6000000

-- Starts a process that continues the upload, and kills it at a random moment. Returns whether it was killed.
local function start(path, file, options, state)
  local child <close> = process.spawn {
    command, script, sources.origin, path, file, nightjar.json.encode(options), state, stdout = "pipe", stderr = "pipe",
  }
  local timer = nightjar.spawn(function()
    nightjar.sleep(0.05 + math.random() * 0.6)
    child:kill "KILL"
  end)
  local output, errors = child.stdout:read_all(), child.stderr:read_all()
  local ended = child:wait()
  timer:cancel()
  pcall(timer.join, timer)
  if ended.signal == "KILL" then return true end
  assert(ended.ok, "the process failed: " .. errors .. "\n" .. sources.describe(sources.log(options.query.run)))
  local total, resumed, sent = output:match "(%d+)%s+(%d+)%s+(%d+)"
  assert(tonumber(total) == size and tonumber(resumed) + tonumber(sent) >= size, output)
  return false
end

-- Kills an upload at random moments until it is complete. Returns the number of kills.
local function kill_at_random(number)
  local protocol = number % 2 == 0 and "tus" or "resumable"
  local file = sources.write(("%s/%d"):format(folder.path, number), size, number)
  local state = file .. ".state"
  local options = {
    protocol = protocol, query = { run = sources.new_run "kill", rate = 10000000 }, max_rate = 6000000,
    chunk_size = number % 4 < 2 and 500000 or nil,
  }
  local uses_journal = number // 2 % 2 == 1
  if uses_journal then
    -- Without a key, a creation of the draft whose response was lost is not repeated.
    options.id, options.idempotency_key, state = "upload " .. number, true, folder.path .. "/journal.db"
  end
  local kills = 0
  while start("/" .. protocol, file, options, state) do
    kills = kills + 1
    assert(kills < 100, "the upload does not end")
  end
  if uses_journal then
    -- Its result is stored.
    local requests = #sources.log(options.query.run)
    assert(not start("/" .. protocol, file, options, state))
    assert(#sources.log(options.query.run) == requests)
  end
  local log = sources.log(options.query.run)
  local last, text = log[#log], sources.describe(log)
  assert(last.offset == size and (last.sha256 == null or last.sha256 == sources.hash(file)), text)
  assert(last.sha256 ~= null or protocol == "tus", text)
  for index, one in ipairs(log) do
    -- A state is written at least 50 ms after the creation.
    assert(index == #log or one.body_bytes < 1000000, text)
  end
  assert(last.body_bytes <= 1.05 * size, text)
  return kills
end

local numbers, kills = {}, 0
for number = 1, runs do numbers[number] = number end
for _, count in ipairs(nightjar.map(numbers, kill_at_random, { concurrency = 4 })) do kills = kills + count end
print(("%d uploads were killed %d times at random moments; all of them are complete"):format(runs, kills))
