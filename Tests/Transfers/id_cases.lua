-- Transfers with an id for the tests: their arguments, the server's log, and transfers in other processes. Each test has its own
-- folder and journal.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local files = require "files"
local sources = require "sources"
local fs, null, process = nightjar.fs, nightjar.null, nightjar.process

local cases = {}
-- The nightjar executable.
local command = arg[1]
-- The rate of a transfer that the test ends, in bytes per second.
cases.slow = 400000

-- Returns a client with the journal of the test. Two clients have separate connections to the journal, like two processes.
function cases.new_client(options)
  local all = { base_url = files.origin, journal = cases.journal, timeout = { idle = 2 }, retry = { base = 0.01 } }
  for name, value in pairs(options or {}) do all[name] = value end
  return nightjar.client(all)
end

testing.before(function()
  cases.temporary = fs.temp_dir { prefix = "ids-" }
  cases.folder = cases.temporary.path
  cases.file, cases.journal = cases.folder .. "/file.bin", cases.folder .. "/state/journal.db"
  cases.api = cases.new_client()
end)
testing.after(function()
  cases.api:close()
  cases.temporary:remove()
end)

-- --- Transfers ---

-- The paths and the options of the transfers. The demo API logs all uploads to /resumable, also those of put and post.
local kinds = {
  { "put", "/resumable", { protocol = "put" } },
  { "post", "/resumable", { protocol = "post" } },
  { "post with a key", "/resumable", { protocol = "post", idempotency_key = true } },
  { "tus", "/tus", { protocol = "tus" } },
  { "tus in chunks", "/tus", { protocol = "tus", chunk_size = 100000 } },
  { "resumable", "/resumable", { protocol = "resumable" } },
  { "resumable in chunks", "/resumable", { protocol = "resumable", chunk_size = 100000 } },
  { "resumable with a key", "/resumable", { protocol = "resumable", idempotency_key = true } },
  { "resumable with PUT", "/resumable", { protocol = "resumable", method = "PUT" } },
  { "download", "/file", {} },
  { "download with 3 connections", "/file", { connections = 3 } },
}
-- The names of the kinds, in order.
cases.kinds = {}
for number, kind in ipairs(kinds) do
  cases.kinds[number], kinds[kind[1]] = kind[1], kind
end

local function with(changes, values)
  local all = {}
  for name, value in pairs(values) do all[name] = value end
  for name, value in pairs(changes or {}) do all[name] = value end
  return all
end

-- Returns a transfer of a kind. A row has the fields file, size, query and options. The test may change the fields path, file and
-- options of the transfer before it is run.
function cases.plan(kind, row)
  row = row or {}
  local _, path, options = table.unpack(kinds[kind])
  local is_download = path == "/file"
  local planned = {
    method = is_download and "download" or "upload", path = path, file = row.file or cases.file,
    -- A client receives the first 256 KiB of a download at once.
    size = row.size or (is_download and 1000000 or 300000), run = sources.new_run "ids",
  }
  local query = is_download and { run = planned.run, size = planned.size, seed = 7 } or { run = planned.run }
  planned.options = with(options, { id = "report", retry_delay = 0.01, attempts = 3, query = with(row.query, query) })
  planned.options = with(row.options, planned.options)
  if not is_download and not fs.exists(planned.file) then sources.write(planned.file, planned.size) end
  return planned
end

-- Returns a copy of a transfer, which can be changed.
function cases.copy(planned)
  local copied = with(nil, planned)
  copied.options = with({ query = with(nil, planned.options.query) }, planned.options)
  return copied
end

-- Runs a transfer, and returns its result.
function cases.run(planned, client)
  client = client or cases.api
  return client[planned.method](client, planned.path, planned.file, planned.options)
end

-- Starts a transfer with a maximum rate in bytes per second, and returns it.
function cases.start(planned, rate, client)
  client = client or cases.api
  return client["start_" .. planned.method](client, planned.path, planned.file, with({ max_rate = rate }, planned.options))
end

-- --- The server and the content ---

-- Returns the log of a download. It is empty if the server has not received a request.
local function download_log(run)
  local ok, log = pcall(files.log, run)
  if ok then return log end
  assert(log.kind == "not_found", tostring(log))
  return { count = 0, body_bytes = 0, requests = {} }
end

-- Returns the number of requests of a transfer, and the number of body bytes.
function cases.traffic(planned)
  if planned.method == "download" then
    local log = download_log(planned.run)
    return log.count, log.body_bytes
  end
  local requests, bytes = 0, 0
  for _, upload in ipairs(sources.log(planned.run)) do
    requests, bytes = requests + #upload.requests, bytes + upload.body_bytes
  end
  return requests, bytes
end

-- Returns the number of uploads that were created.
function cases.created(planned) return #sources.log(planned.run) end

-- Returns the log of a transfer for messages.
function cases.describe(planned)
  if planned.method == "download" then return files.describe(download_log(planned.run)) end
  return sources.describe(sources.log(planned.run))
end

-- Returns whether the server has the content of the file, or the file has that of the server.
function cases.has_content(planned)
  if planned.method == "download" then return files.hash(planned.file) == files.digest(planned.options.query) end
  local log = sources.log(planned.run)
  local last = log[#log]
  if not last or last.offset ~= fs.stat(planned.file).size then return false end
  -- An upload of tus is complete when the server has all bytes, also if it could not respond.
  return last.sha256 == sources.hash(planned.file) or last.sha256 == null and last.kind == "tus"
end

-- Checks the content, and the number of uploads that were created.
function cases.check_content(t, planned, created)
  t:truthy(cases.has_content(planned), "the content differs\n" .. cases.describe(planned))
  if planned.method == "upload" then t:equal(cases.created(planned), created, cases.describe(planned)) end
end

-- Checks that a function fails with an error of this kind, whose message matches the pattern. Returns the error.
function cases.fails(t, kind, pattern, f, ...)
  local err = t:raises(kind, f, ...)
  t:matches(err.message, pattern, err.message)
  return err
end

-- Checks that a transfer fails without a request. Returns the error.
function cases.fails_unsent(t, kind, pattern, planned, client)
  local before = cases.traffic(planned)
  local err = cases.fails(t, kind, pattern, cases.run, planned, client)
  t:equal(cases.traffic(planned), before, cases.describe(planned))
  return err
end

-- Whether the receiver has some bytes. A download must have the state of its part.
local function has_bytes(planned)
  if planned.method == "download" then
    local part = fs.stat(planned.file .. ".nightjar-part")
    return part and part.size > 0 and fs.exists(planned.file .. ".nightjar-part.state")
  end
  return select(2, cases.traffic(planned)) > 0
end

-- Waits until a condition is true.
function cases.wait_until(condition, what)
  local begin = nightjar.time.monotonic()
  while not condition() do
    assert(nightjar.time.monotonic() - begin < 20, what)
    nightjar.sleep(0.005)
  end
end

-- Waits until the receiver has some bytes.
function cases.wait_for_bytes(planned)
  cases.wait_until(function() return has_bytes(planned) end, "the transfer does not continue")
end

-- --- Other processes ---

-- Starts a transfer in another process. `journal` is false for the default journal.
function cases.spawn(planned, rate, env, journal)
  local args = {
    files.folder .. "/id_transfer.lua", files.origin, planned.method, planned.path, planned.file,
    nightjar.json.encode(with({ max_rate = rate }, planned.options)),
  }
  if journal ~= false then args[#args + 1] = cases.journal end
  return process.spawn { cmd = command, args = args, env = env, stdout = "pipe", stderr = "pipe" }
end

-- Returns the result of a process, or nil if it was killed.
function cases.result_of(child)
  local output, errors = child.stdout:read_all(), child.stderr:read_all()
  local ended = child:wait()
  if ended.signal == "KILL" then return nil end
  assert(ended.ok, "the process failed: " .. errors)
  return nightjar.json.decode(output)
end

-- Runs a transfer in another process, and returns the result.
function cases.run_elsewhere(planned, env, journal)
  local child <close> = cases.spawn(planned, nil, env, journal)
  return cases.result_of(child)
end

-- Kills a process while it transfers.
function cases.kill_during(planned)
  local child <close> = cases.spawn(planned, cases.slow)
  cases.wait_for_bytes(planned)
  child:kill "KILL"
  assert(child:wait().signal == "KILL")
end

-- Runs a transfer in another process, and kills it at a random moment. Returns the result, or nil if the process was killed.
function cases.run_with_kill(planned, rate)
  local child <close> = cases.spawn(planned, rate)
  local timer = nightjar.spawn(function()
    nightjar.sleep(0.01 + math.random() * 0.8)
    child:kill "KILL"
  end)
  local result = cases.result_of(child)
  timer:cancel()
  pcall(timer.join, timer)
  return result
end

return cases
