-- Uploads to a server whose faults are random: it cuts, stalls, loses responses and reports other offsets at random positions.
-- Run directly:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/random_uploads.lua [RUNS [SEED [FIRST]]]
--
-- RUNS is the number of uploads, 200 by default. The same seed repeats the same settings and faults. FIRST is the number of the
-- first upload, to repeat a single one.
--
-- An upload succeeds, and the server has the content of the file, or it fails with an error that its faults allow. If all
-- faults are faults of connections after the creation, it succeeds, and the server receives no byte twice.
local nightjar = require "nightjar"
local sources = require "sources"
local fs, null = nightjar.fs, nightjar.null

local runs, seed, first = tonumber(arg[1]) or 200, tonumber(arg[2]) or os.time(), tonumber(arg[3]) or 1
local batch = 10

-- Returns a function that returns random elements and numbers, which depend only on the seed and on the number of the run.
local function generator(number)
  local state = (seed * 1000003 + number * 7919) & 0x7fffffffffffffff
  local function next_number(bound)
    state = (state * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff
    return (state >> 24) % bound
  end
  return function(choices)
    if type(choices) == "number" then return next_number(choices) end
    return choices[next_number(#choices) + 1]
  end
end

local connection_faults = {
  "none", "none", "cut", "cut", "reset", "close", "lost", "early", "stall", "status@503", "status@500", "409",
}
local position_faults = { cut = true, reset = true, early = true, reject = true, stall = true, low = true, high = true }
-- The errors that a fault allows.
local errors = {
  reject = { client = true }, ["status@400"] = { client = true }, ["status@403"] = { forbidden = true, content_changed = true },
  high = { protocol = true, content_changed = true }, expire = { content_changed = true, not_found = true, client = true },
}

-- Returns the query, the options, the size of the file, and the class of a run.
local function plan(number)
  local pick = generator(number)
  local class = pick { "connection", "connection", "offset", "creation", "error" }
  local protocol = pick { "tus", "resumable" }
  local size = pick { 0, 1, 1000, 1 + pick(100000), 1 + pick(1000000), 1 + pick(3000000) }
  local query = {
    run = sources.new_run("random-" .. number), location = pick { "path", "url" }, gone = pick { 0, 1 },
    stall_time = pick { 0.02, 0.1, 2 },
  }
  local options = {
    protocol = protocol, query = query, retry_delay = 0.002,
    -- The waits double with each attempt, and a creation may fail each time.
    attempts = (class == "creation" or class == "error") and 5 or 25,
    chunk_size = pick { false, 1000 + pick(100000), 50000 + pick(1000000) } or nil,
  }
  -- Many small requests take too long.
  if options.chunk_size then options.chunk_size = math.max(options.chunk_size, size // 20) end
  if protocol == "tus" then
    if pick(3) == 0 then options.checksum = "sha256" end
    if class == "creation" and pick(2) == 0 then options.creation_with_upload = true end
  else
    if pick(3) == 0 then options.checksum = "sha256" end
    if pick(3) == 0 then query.progress = 1 + pick(200000) end
    if class == "creation" and pick(3) == 0 then query.interim = 0 end
    if pick(4) == 0 and options.chunk_size then query.max_append = options.chunk_size + pick(1000) end
  end
  local kinds = table.move(connection_faults, 1, #connection_faults, 1, {})
  if class == "offset" then table.move({ "low", "low", "low" }, 1, 3, #kinds + 1, kinds) end
  if class == "error" then
    table.move({ "low", "high", "expire", "reject", "status@400", "status@403" }, 1, 6, #kinds + 1, kinds)
  end
  local faults, names = {}, {}
  if class ~= "creation" then faults[1] = "none" end
  for _ = 1, 1 + pick(8) do
    local name = pick(kinds)
    names[name] = true
    local length = math.min(size, options.chunk_size or size)
    if position_faults[name] then name = name .. "@" .. pick { 0, 1, pick(length + 1), pick(length + 1), length } end
    faults[#faults + 1] = name
  end
  query.faults = table.concat(faults, ",")
  return query, options, size, class, names
end

-- Returns a reason why the result of a run is wrong, or nil.
local function problem(file, options, size, class, names, result, err, log)
  if err then
    local kind = sources.kind(err)
    -- A 409 in response to a request other than PATCH is an error.
    if names["409"] and kind == "client" then return nil end
    if class == "connection" or class == "offset" then return "the upload failed" end
    -- A creation that may have been processed is not repeated, and each new upload has the same faults.
    if kind == "connection_lost" or kind == "server" or kind == "timeout" then return nil end
    -- The server has accepted no new bytes in several requests.
    if names.low and kind == "protocol" then return nil end
    for name in pairs(names) do
      if errors[name] and errors[name][kind] then return nil end
    end
    return "the error is not expected"
  end
  local last = log[#log]
  if not last then return "the server has no upload" end
  -- The client cannot detect an offset that is too high and equals the size.
  if last.offset ~= size and not names.high then return "the server does not have all bytes" end
  local is_empty = size == 0 and last.kind == "tus"
  if last.sha256 == null and last.kind == "resumable" then return "the upload is not complete" end
  if last.sha256 ~= null and not is_empty and last.sha256 ~= sources.hash(file) then return "the content differs" end
  if result.size ~= size then return "the upload has another size" end
  local bytes = 0
  for _, one in ipairs(log) do
    for _, request in ipairs(one.requests) do
      local is_discarded = options.checksum and last.kind == "tus" and request.status ~= 204
      if not is_discarded then bytes = bytes + request.body_bytes end
    end
  end
  if class == "connection" and #log > 1 then return "a second upload was created" end
  if class == "connection" and bytes > size then return ("%d bytes were received"):format(bytes) end
end

local folder <close> = fs.temp_dir { prefix = "random-uploads-" }
local failed, succeeded, kinds = 0, 0, {}

local function run(number)
  local query, options, size, class, names = plan(number)
  local file = sources.write(("%s/%d"):format(folder.path, number), size, number)
  -- A server that stalls after it has read the whole body must not delay another upload.
  local api = nightjar.client {
    base_url = sources.origin, timeout = { idle = 0.5 }, retry = { budget = { reserve = 100000 }, base = 0.01 },
  }
  local ok, result = pcall(api.upload, api, "/" .. options.protocol, file, options)
  local log = sources.log(query.run)
  local err = not ok and result or nil
  local reason = problem(file, options, size, class, names, result, err, log)
  if ok then succeeded = succeeded + 1 else kinds[#kinds + 1] = class .. ": " .. sources.kind(err) end
  if reason then
    failed = failed + 1
    print(("run %d (%s, %d bytes): %s\n  %s\n  %s\n%s"):format(number, class, size, reason, err and tostring(err) or "",
      nightjar.json.encode(options), sources.describe(log)))
  end
  os.remove(file)
end

print("seed " .. seed)
for start = first, first + runs - 1, batch do
  local numbers = {}
  for number = start, math.min(start + batch, first + runs) - 1 do numbers[#numbers + 1] = number end
  nightjar.map(numbers, run, { concurrency = batch })
end
print(("%d uploads succeeded, %d ended with an error"):format(succeeded, #kinds))
local counts = {}
for _, name in ipairs(kinds) do counts[name] = (counts[name] or 0) + 1 end
for name, number in pairs(counts) do print(("  %s: %d"):format(name, number)) end
if failed > 0 then
  print(("%d of %d runs were wrong; seed %d"):format(failed, runs, seed))
  os.exit(1)
end
