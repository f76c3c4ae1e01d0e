-- Cases of uploads to the demo API: settings, the comparison with the server's log, and slow uploads.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local sources = require "sources"
local fs, null = nightjar.fs, nightjar.null

local cases = { size = 300000, chunk = 100000, large = 1000000, protocols = { "tus", "resumable" } }
local size, chunk, large = cases.size, cases.chunk, cases.large

local function new_client()
  return nightjar.client { base_url = sources.origin, timeout = { idle = 0.5 }, retry = { base = 0.01 } }
end
local api = new_client()
cases.api = api

-- The folder and the file of the test that runs.
local file
testing.before(function()
  cases.folder = nightjar.fs.temp_dir { prefix = "uploads-" }
  file = cases.folder.path .. "/file.bin"
  cases.file = file
end)
testing.after(function() cases.folder:remove() end)

-- Returns the path and the options of an upload with the settings of a row.
function cases.plan(row)
  local query = {}
  for name, value in pairs(row.query or {}) do query[name] = value end
  query.run = query.run or sources.new_run "uploads"
  query.faults = row.faults
  local options = { protocol = row.protocol, query = query, retry_delay = 0.01, attempts = 3, chunk_size = row.chunk }
  for name, value in pairs(row.options or {}) do options[name] = value end
  return "/" .. row.protocol, options, query.run
end

-- Uploads the file. Returns the upload, or nil and its error; and the server's log.
function cases.upload(row)
  sources.write(file, row.size or size)
  local path, options, run = cases.plan(row)
  -- The server may stall after it has read the whole body. The next case must not use this connection.
  local client = row.faults and row.faults:match "stall" and new_client() or api
  local ok, result = pcall(client.upload, client, path, file, options)
  local log = sources.log(run)
  if ok then return result, nil, log end
  return nil, result, log
end

-- Returns the number of requests of a log, also of one method.
function cases.count(log, method)
  local number = 0
  for _, one in ipairs(log) do
    for _, request in ipairs(one.requests) do
      if not method or request.method == method then number = number + 1 end
    end
  end
  return number
end

-- Checks that the last upload of a log has the content of the file. `discarded` is the number of bytes that a fault discards.
function cases.check_content(t, log, discarded)
  local text = sources.describe(log)
  local last = log[#log]
  t:truthy(last, "the server has no upload")
  local length = fs.stat(file).size
  t:equal(last.offset, length, text)
  -- An upload of tus is complete when the server has all bytes, also if it could not respond.
  if last.sha256 ~= null or last.kind ~= "tus" then
    t:equal(last.complete, true, text)
    t:equal(last.sha256, sources.hash(file), text)
  end
  local bytes = 0
  for _, one in ipairs(log) do bytes = bytes + one.body_bytes end
  t:truthy(bytes <= 1.05 * length + (discarded or 0), ("the server has received %d bytes\n%s"):format(bytes, text))
end

local function check_success(t, row, result, err, log)
  local text = sources.describe(log)
  t:truthy(result, tostring(err) .. "\n" .. text)
  cases.check_content(t, log, row.discarded)
  t:equal(result.size, row.size or size)
  t:truthy(result.attempts >= 1)
  t:equal(#log, row.uploads or 1, text)
end

local function check_failure(t, row, result, err, log)
  local text = sources.describe(log)
  t:truthy(not result, "the upload did not fail\n" .. text)
  t:equal(sources.kind(err), row.fails, tostring(err) .. "\n" .. text)
  if row.status then t:equal(err.status, row.status, text) end
  for _, one in ipairs(log) do t:truthy(not one.complete or row.completes, text) end
end

-- Fields of a row:
--   protocol, chunk, size       the protocol, the bytes of each request, and the size of the file
--   faults, query, options      the parameters of the creation and the options of the upload
--   requests, at_most           the number of requests, or the largest number
--   uploads                     the number of uploads that are created; 1 by default
--   discarded                   the number of bytes that must be sent again
--   fails, status, completes    the kind and the status of the error, and whether the server has a complete upload then
--   check                       a function with further checks
function cases.case(name, row)
  testing.test(name, function(t)
    local result, err, log = cases.upload(row)
    if row.fails then check_failure(t, row, result, err, log) else check_success(t, row, result, err, log) end
    local text = sources.describe(log)
    if row.requests then t:equal(cases.count(log), row.requests, text) end
    if row.at_most then t:truthy(cases.count(log) <= row.at_most, text) end
    if row.check then row.check(t, log, result, err) end
  end)
end

-- The name of a protocol with a chunk size.
function cases.title(protocol, chunk_size)
  return chunk_size and ("%s, chunks of %d bytes"):format(protocol, chunk_size) or protocol
end

-- Calls a function for each protocol with and without a chunk size.
function cases.for_each_kind(define)
  for _, protocol in ipairs(cases.protocols) do
    for _, chunk_size in ipairs { false, chunk } do
      define(protocol, chunk_size or nil, cases.title(protocol, chunk_size))
    end
  end
end

-- Starts a slow upload of 1 MB, and waits until the server has some bytes.
function cases.start_slow(protocol, settings, query)
  sources.write(file, large)
  local path, all, run = cases.plan { protocol = protocol, query = query, options = settings }
  all.max_rate = all.max_rate or 2000000
  local started = api:start_upload(path, file, all)
  sources.wait_until_sent(started, 200000)
  return started, run, path, all
end

-- Stops a slow upload, and returns its state, its run, its path and options for the next upload.
function cases.stopped(protocol, settings, query)
  local started, run, path, all = cases.start_slow(protocol, settings, query)
  local state = started:state()
  started:cancel()
  local ok, err = pcall(started.wait, started)
  assert(not ok and err.kind == "cancelled", tostring(err))
  assert(type(started:state() or state) == "string")
  all.max_rate = nil
  all.resume = started:state() or state
  return all, run, path
end

return cases
