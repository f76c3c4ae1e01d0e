-- Downloads from a server whose faults are random: it cuts, stalls, changes and lies at the first, the last and at random
-- positions of heads, bodies, chunks and ranges. Run directly:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/random_faults.lua [RUNS [SEED]]
--
-- RUNS is the number of downloads, 200 by default. The same seed repeats the same settings and faults.
--
-- A download succeeds with the right SHA-256 digest, or fails with an error of a list and leaves no file. If all faults are
-- faults of connections, it succeeds; with a strong validator, it never starts over, and fetches at most 1.05 times the size.
local nightjar = require "nightjar"
local files = require "files"
local fs = nightjar.fs

local runs, seed = tonumber(arg[1]) or 200, tonumber(arg[2]) or os.time()
local batch = 10
-- The bytes that a request may lose: those that the client has not read when it closes the connection.
local lost = 65536

local allowed_errors = {
  checksum_mismatch = true, client = true, connection_lost = true, content_changed = true, protocol = true, server = true,
  timeout = true,
}

local connection_faults = {
  "close", "cut-head", "cut", "cut-chunk", "reset", "stall", "503", "range-short", "range-unknown",
}
local range_faults = {
  "range-start", "range-end", "range-total", "range-unit", "range-syntax", "range-missing", "range-overlap", "range-gap",
  "coded", "whole", "200-with-range", "206-unasked", "body-long", "length-large", "416", "416-bare",
}
-- A client detects these faults only with a digest.
local silent_faults = { "damage", "length-small" }

-- The faults whose responses violate a rule. A client cannot use the bytes of these responses.
local violates_rule = {}
for _, list in ipairs { range_faults, silent_faults } do
  for _, fault in ipairs(list) do violates_rule[fault] = true end
end

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

local function concatenate(...)
  local list = {}
  for _, part in ipairs { ... } do table.move(part, 1, #part, #list + 1, list) end
  return list
end

-- Returns the query, the options and the class of a run.
local function plan(number)
  local pick = generator(number)
  local class = pick { "connection", "connection", "range", "silent", "validator", "change" }
  local kinds = ({
    connection = connection_faults, validator = connection_faults, change = connection_faults,
    range = concatenate(connection_faults, range_faults, range_faults),
    silent = concatenate(connection_faults, range_faults, silent_faults, silent_faults),
  })[class]
  local query = {
    size = pick { 0, 1, 1000, 100000 + pick(900000), 1000000 + pick(4000000) }, seed = pick(1000000), random = pick(1 << 40),
    run = files.new_run("random-" .. number), count = 1 + pick(8), kinds = table.concat(kinds, ","),
    stall_time = pick { 0.02, 0.1, 2 }, length = pick { "known", "known", "chunked" },
    repr_digest = pick { "none", "right" }, content_digest = pick { "none", "none", "right" },
  }
  local options = { query = query, retry_delay = 0.01, connections = pick { 1, 1, 2, 4 }, attempts = 20 }
  -- A body that ends with its connection may be truncated silently.
  if class == "silent" and pick(2) == 0 then query.length = "close" end
  if class == "silent" then options.checksum = "sha256:" .. files.digest(query) end
  if class == "validator" then
    query.etag = pick { "weak", "none" }
    query.modified = pick { "none", os.time() }
  end
  if class == "change" then
    query.change_after, query.changes = 1 + pick(4), 1 + pick(3)
    if pick(2) == 0 then query.change_size = pick(2000000) end
    options.restart = pick(4) > 0
  end
  return query, options, class
end

-- Returns a reason why the result of a run is wrong, or nil.
local function problem(path, query, class, err, log)
  local found = files.hash(path)
  if err then
    if found then return "there is a file after an error" end
    if class == "connection" or class == "validator" then return "the download failed" end
    local kind = type(err) == "userdata" and err.kind or tostring(err)
    if not allowed_errors[kind] then return "the error is not expected" end
    return nil
  end
  local is_right = false
  for version = 0, query.changes or 0 do is_right = is_right or found == files.digest(query, version) end
  if not is_right then return "the file has the wrong digest " .. tostring(found) end
  -- The bytes of responses that violate a rule are lost, and those before a request that starts over.
  local starts, bytes, has_start = 1, 0, false
  for _, request in ipairs(log.requests) do
    -- A server whose content has changed sends the whole content instead of a range.
    local is_whole = request.status == 200 and bytes > 0
    if request.start == 0 and (has_start or is_whole) then starts = starts + 1 end
    -- A reset discards the bytes that the server has written and the system has not sent.
    local is_lost = request.fault == "reset" and class == "connection"
    has_start = has_start or request.start == 0 and request.body_bytes > 0 and not is_lost
    if not violates_rule[request.fault] and request.fault ~= "reset" then bytes = bytes + request.body_bytes end
  end
  if class == "connection" and starts > 1 then return "the download started over" end
  local size = math.max(query.size, query.change_size or 0)
  if bytes > 1.05 * size * starts + lost then return ("%d bytes were fetched with %d starts"):format(bytes, starts) end
end

local folder <close> = fs.temp_dir { prefix = "random-faults-" }
local api = nightjar.client {
  base_url = files.origin, timeout = { idle = 0.5 }, retry = { budget = { reserve = 100000 }, base = 0.01 },
}
local failed, succeeded, errors = 0, 0, {}

local function run(number)
  local query, options, class = plan(number)
  local path = ("%s/%d"):format(folder.path, number)
  local ok, err = pcall(api.download, api, "/file", path, options)
  local log = files.log(query.run)
  local reason = problem(path, query, class, not ok and err or nil, log)
  if ok then succeeded = succeeded + 1 else errors[#errors + 1] = class .. ": " .. (type(err) == "userdata" and err.kind or "?") end
  if reason then
    failed = failed + 1
    print(("run %d (%s): %s\n  %s\n  %s\n%s"):format(number, class, reason, not ok and tostring(err) or "",
      nightjar.json.encode(options), files.describe(log)))
  end
  os.remove(path)
end

print("seed " .. seed)
for first = 1, runs, batch do
  local numbers = {}
  for number = first, math.min(first + batch - 1, runs) do numbers[#numbers + 1] = number end
  nightjar.map(numbers, run)
end
print(("%d downloads succeeded, %d ended with an error"):format(succeeded, #errors))
local counts = {}
for _, name in ipairs(errors) do counts[name] = (counts[name] or 0) + 1 end
for name, count in pairs(counts) do print(("  %s: %d"):format(name, count)) end
if failed > 0 then
  print(("%d of %d runs were wrong; seed %d"):format(failed, runs, seed))
  os.exit(1)
end
