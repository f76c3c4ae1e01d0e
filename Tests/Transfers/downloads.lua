-- Downloads from a server with faults: api:download. Each case names the faults of the requests in order, and compares the
-- file with the content on the server, and the requests with the server's log. Needs the demo API:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/downloads.lua
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local files = require "files"
local fs, null, test = nightjar.fs, nightjar.null, testing.test

local size = 1000000
local api = nightjar.client { base_url = files.origin, timeout = { idle = 1 } }

local folder, target
testing.before(function()
  folder = fs.temp_dir { prefix = "downloads-" }
  target = folder.path .. "/file.bin"
end)
testing.after(function() folder:remove() end)

-- Downloads /file with the query and options of a row. Returns the download, or nil and its error; and the server's log.
local function download(row, path)
  local query = { size = size, seed = 7 }
  for name, value in pairs(row.query or {}) do query[name] = value end
  query.run = query.run or files.new_run "named"
  query.faults = row.faults
  local options = { query = query, retry_delay = 0.01 }
  for name, value in pairs(row.options or {}) do options[name] = value end
  local ok, result = pcall(api.download, api, "/file", path or target, options)
  local log = files.log(query.run)
  if ok then return result, nil, log, query end
  return nil, result, log, query
end

-- The bytes of responses that the client cannot use, because they violate a rule.
local unusable = {
  ["range-start"] = true, ["range-end"] = true, ["range-total"] = true, ["range-unit"] = true, ["range-syntax"] = true,
  ["range-missing"] = true, ["range-gap"] = true, ["200-with-range"] = true, coded = true, ["206-unasked"] = true,
  ["body-long"] = true, damage = true,
}

local function check_success(t, row, result, err, log, query)
  t:truthy(result, tostring(err) .. "\n" .. files.describe(log))
  t:equal(files.hash(target), files.digest(query, row.version), files.describe(log))
  t:equal(result.path, target)
  t:equal(result.size, fs.stat(target).size)
  t:truthy(result.attempts >= 1)
  t:equal(files.names(folder.path), "file.bin")
  local allowed = row.fetched or 1.05
  local bytes = log.body_bytes
  for _, request in ipairs(log.requests) do
    if unusable[request.fault] then bytes = bytes - request.body_bytes end
  end
  t:truthy(bytes <= allowed * result.size + 65536, ("%d bytes were fetched\n%s"):format(bytes, files.describe(log)))
  if row.requests then t:equal(log.count, row.requests, files.describe(log)) end
end

local function check_failure(t, row, result, err, log)
  t:truthy(not result, "the download did not fail\n" .. files.describe(log))
  t:equal(type(err) == "userdata" and err.kind or tostring(err), row.fails, tostring(err) .. "\n" .. files.describe(log))
  t:equal(fs.exists(target), false)
  if row.requests then t:equal(log.count, row.requests, files.describe(log)) end
end

-- Fields of a row:
--   faults, query, options   the parameters of /file and the options of the download
--   requests                 the number of requests
--   version                  the number of changes before the content that is received
--   fetched                  the bytes that may be fetched, as a multiple of the size; 1.05 by default
--   fails                    the kind of the error
--   check                    a function with further checks
local function case(name, row)
  test(name, function(t)
    local start = nightjar.time.monotonic()
    local result, err, log, query = download(row)
    local seconds = nightjar.time.monotonic() - start
    if row.fails then check_failure(t, row, result, err, log) else check_success(t, row, result, err, log, query) end
    if row.check then row.check(t, log, query, result, err, seconds) end
  end)
end

-- Checks the Range and If-Range fields of requests.
local function resumes_at(...)
  local ranges = { ... }
  return function(t, log)
    for index, range in ipairs(ranges) do
      local request = log.requests[index + 1]
      t:equal(request.range, ("bytes=%d-%d"):format(range, size - 1))
      t:equal(request.if_range, '"7-1000000-0"')
    end
  end
end

-- Connections that break off.
case("a download without faults is one request", { requests = 1 })
case("an empty file is downloaded", { query = { size = 0 }, requests = 1 })
case("a file of one byte is downloaded", { query = { size = 1 }, requests = 1 })
for _, position in ipairs { 0, 1, 500000, -1 } do
  case("a download continues after the connection was closed at byte " .. position,
    { faults = "cut@" .. position, requests = 2, fetched = 1 })
  case("a download continues after the connection was reset at byte " .. position,
    { faults = "reset@" .. position, requests = 2, fetched = 1 })
  case("a download of unknown length continues after the connection was closed at byte " .. position,
    { faults = "cut@" .. position, query = { length = "chunked" }, requests = 2, fetched = 1 })
  case("a download continues after the connection was closed in the head of a chunk at byte " .. position,
    { faults = "cut-chunk@" .. position, requests = 2, fetched = 1 })
end
for _, position in ipairs { 0, 1, 20, 90 } do
  case("a download continues after the connection was closed at byte " .. position .. " of the head",
    { faults = "cut-head@" .. position, requests = 2, fetched = 1 })
end
case("a download continues after the connection was closed without a response", { faults = "close", fetched = 1 })
case("a download continues after several faults in sequence",
  { faults = "cut@100000,reset@0,cut-head@7,close,cut@300000", requests = 6, fetched = 1 })
case("a download continues where it has ended, with If-Range",
  { faults = "cut@100000,reset@200000", check = resumes_at(100000, 300000) })
case("a download continues after the server sent nothing for longer than the idle timeout",
  { faults = "stall@400000", requests = 2, fetched = 1 })
case("a short pause of the server is no failure", { faults = "stall@400000", query = { stall_time = 0.3 }, requests = 1 })
case("a download without progress fails after `attempts` requests",
  { faults = "cut@0", query = { ["repeat"] = 1 }, options = { attempts = 3 }, requests = 3, fails = "connection_lost" })
case("progress resets the number of attempts",
  { faults = ("cut@1000,"):rep(8) .. "none", options = { attempts = 2 }, requests = 9 })

-- Statuses.
case("a download continues after a 503", { faults = "cut@1000,503", requests = 3 })
case("Retry-After is respected", {
  faults = "503@1", requests = 2,
  check = function(t, _, _, _, _, seconds) t:truthy(seconds >= 1, seconds) end,
})
case("a 404 is an error", { faults = "status@404", requests = 1, fails = "not_found" })
case("a 404 after a part is an error", { faults = "cut@1000,status@404", requests = 2, fails = "not_found" })
case("a 416 with the length of the content starts the download over",
  { faults = "cut@1000,416", requests = 3, fetched = 1.05 })
case("a 416 without Content-Range starts the download over", { faults = "cut@1000,416-bare", requests = 3 })
case("a 416 to a request without Range is an error", { faults = "cut@1000,416,416", requests = 3, fails = "client" })

-- Ranges that violate a rule. The first request is cut, so that the second one has a Range.
local wrong_ranges = {
  "range-start", "range-start@1000", "range-end", "range-end@1000", "range-total", "range-unit", "range-syntax",
  "range-missing", "range-gap", "range-gap@5000", "200-with-range", "coded", "body-long", "body-long@1000",
}
for _, fault in ipairs(wrong_ranges) do
  case("a wrong range is discarded: " .. fault, { faults = "cut@400000," .. fault, fetched = 2.05 })
  case("a second wrong range is discarded: " .. fault, { faults = ("cut@400000,%s,%s"):format(fault, fault), fetched = 2.05 })
  case("wrong ranges for each request end in the whole content or in an error: " .. fault, {
    faults = "cut@400000," .. fault, query = { ["repeat"] = 1 }, fetched = 2.05,
    options = { attempts = 3 },
  })
end
case("a range that begins earlier is used", { faults = "cut@400000,range-overlap@1000", requests = 2 })
case("a range that begins at byte 0 is used", { faults = "cut@400000,range-overlap@400000", fetched = 1.5 })
case("a range that ends before the requested end is continued", { faults = "cut@400000,range-short@1000", requests = 3 })
case("a range of one byte is continued", { faults = "cut@400000,range-short@599999", requests = 3 })
case("a range of an unknown complete length is used", { faults = "cut@400000,range-unknown", requests = 2 })
case("a content whose length is always unknown is downloaded",
  { faults = "cut@400000,range-unknown", query = { length = "chunked", ["repeat"] = 1 } })
case("a 206 with the whole content for a request without Range is used or requested again",
  { faults = "206-unasked", fetched = 1.05 })
case("a 206 with a part of the content for a request without Range is not the file", { faults = "206-unasked@1000" })
case("a 200 to a range request is used: the bytes that are known are skipped", { faults = "cut@400000,whole", fetched = 1.45 })
case("a server that ignores ranges", { faults = "cut@400000", query = { ranges = 0 }, requests = 2, fetched = 1.45 })
for name, options in pairs { ["many connections are allowed"] = { connections = 16 }, ["the rate is limited"] = { max_rate = 1 << 30 } } do
  -- A connection that has filled its window waits for the write. The write must not wait for further bytes.
  case("the only connection is fast, although " .. name, {
    query = { size = 60000000, ranges = 0 }, options = options, requests = 1,
    check = function(t, _, _, _, _, seconds) t:truthy(seconds < 2, seconds) end,
  })
end
case("a server that ignores ranges and always breaks off makes no progress", {
  faults = "cut@400000", query = { ranges = 0, ["repeat"] = 1 }, options = { attempts = 3 }, fails = "connection_lost",
})
case("a response to several ranges is not needed", { query = { multiple = "multipart" }, requests = 1 })

-- Lengths.
case("more bytes than Content-Length are not part of the file if the digest agrees",
  { faults = "length-small", query = { repr_digest = "right" }, fails = "checksum_mismatch" })
case("a download starts over if the content is shorter than a Content-Length",
  { faults = "length-large@10", requests = 3, fetched = 2 })
case("a body that ends with the connection is downloaded", { query = { length = "close" }, requests = 1 })
case("a body of unknown length is downloaded", { query = { length = "chunked" }, requests = 1 })

-- Validators.
for _, validator in ipairs { { etag = "weak" }, { etag = "none", modified = "none" }, { etag = "none", modified = os.time() } } do
  local name = ("etag=%s, modified=%s"):format(validator.etag, validator.modified)
  case("a content without a strong validator starts over: " .. name, {
    faults = "cut@400000", query = validator, requests = 2, fetched = 1.45,
    check = function(t, log)
      t:equal(log.requests[2].range, null)
      t:equal(log.requests[2].if_range, null)
    end,
  })
  case("with restart = false, a content without a strong validator fails: " .. name,
    { faults = "cut@400000", query = validator, options = { restart = false }, requests = 1, fails = "connection_lost" })
end
case("a date that is old enough is a strong validator", {
  faults = "cut@400000", query = { etag = "none" }, requests = 2, fetched = 1,
  check = function(t, log) t:equal(log.requests[2].if_range, "Tue, 14 Nov 2023 22:13:20 GMT") end,
})
case("a date is not a validator without Date",
  { faults = "cut@400000", query = { etag = "none", date = "none" }, requests = 2, fetched = 1.45 })

-- Content that changes.
case("a changed content starts over", { faults = "cut@400000", query = { change_after = 1 }, version = 1, fetched = 1.45 })
case("a changed content with another size starts over",
  { faults = "cut@400000", query = { change_after = 1, change_size = 300000 }, version = 1, fetched = 3 })
case("a changed content fails with restart = false", {
  faults = "cut@400000", query = { change_after = 1 }, options = { restart = false }, fails = "content_changed",
  requests = 2,
})
case("a content that changes again and again fails", {
  faults = "cut@400000", query = { change_after = 1, changes = 1000, ["repeat"] = 1 }, options = { attempts = 3 },
  fails = "content_changed",
})
case("a changed content with the same ETag and another size starts over", {
  faults = "cut@400000", query = { change_after = 1, change_size = 500000, change_etag = "same" }, version = 1, fetched = 4,
})
case("a changed content with the same ETag and size and another Repr-Digest starts over", {
  faults = "cut@400000", query = { change_after = 1, change_etag = "same", repr_digest = "right" }, version = 1, fetched = 2.05,
})
case("a changed content without an ETag starts over", {
  faults = "cut@400000", query = { change_after = 1, etag = "none" }, version = 1, fetched = 1.45,
})
case("a content that changes at a position of a response is replaced by the new one", {
  faults = "cut@600000", query = { change_at = 600000 }, version = 1, fetched = 1.7,
})
case("a content that changes inside a response does not have its digest",
  { query = { change_at = 600000, repr_digest = "right" }, fails = "checksum_mismatch" })

case("a new content of unknown length is not truncated to the length of the old one", {
  faults = "cut@0,cut@1000", options = { connections = 2 }, version = 1, fetched = 3,
  query = { size = 1000, length = "chunked", change_after = 1, change_size = 5000 },
})

-- Digests.
local digest = files.digest { size = size, seed = 7 }
case("the right Repr-Digest is accepted", { query = { repr_digest = "right" }, requests = 1 })
case("a wrong Repr-Digest is an error", { query = { repr_digest = "wrong" }, requests = 1, fails = "checksum_mismatch" })
case("the right checksum is accepted", { options = { checksum = "sha256:" .. digest }, requests = 1 })
case("a wrong checksum is an error",
  { options = { checksum = "sha256:" .. ("0"):rep(64) }, requests = 1, fails = "checksum_mismatch" })
case("the right Content-Digest is accepted, also of ranges",
  { faults = "cut@400000", query = { content_digest = "right" }, requests = 2 })
case("a damaged response with Content-Digest is requested again",
  { faults = "damage@500000", query = { content_digest = "right" }, fetched = 2.05 })
case("a damaged range with Content-Digest is requested again",
  { faults = "cut@400000,damage@1000", query = { content_digest = "right" }, fetched = 2.05 })
case("a wrong Content-Digest of each response is an error",
  { query = { content_digest = "wrong" }, options = { attempts = 3 }, fails = "checksum_mismatch" })
case("a damaged response with Repr-Digest is an error",
  { faults = "damage@500000", query = { repr_digest = "right" }, fails = "checksum_mismatch" })
case("a compressed content is decoded", { query = { coding = "gzip" }, requests = 1, fetched = 1.1 })
case("a compressed content starts over",
  { faults = "cut@400000", query = { coding = "gzip" }, requests = 2, fetched = 1.5 })

-- Several connections.
case("a 416 to the first range is no failure",
  { faults = "416-bare", options = { connections = 2, restart = false }, requests = 2 })
for _, connections in ipairs { 2, 4 } do
  local parallel = { size = 8000000, rate = 16000000 }
  local options = { connections = connections }
  local name = (" with %d connections"):format(connections)
  case("a file is downloaded" .. name, { query = parallel, options = options })
  case("faults of each request are repaired" .. name, {
    faults = "cut@100000,reset@200000,cut-head@10,503,close,cut@0,reset@-1", query = parallel, options = options,
  })
  case("wrong ranges are discarded" .. name,
    { faults = "none,range-start,range-gap@1000", query = parallel, options = options, fetched = 2.1 })
  case("a content that changes starts over" .. name, {
    query = { size = 8000000, change_after = 3, rate = 16000000 }, options = options, version = 1, fetched = 3,
  })
  case("a server that ignores ranges sends the content once" .. name,
    { query = { size = 8000000, ranges = 0 }, options = options, fetched = 1.3 })
  case("a content without a validator uses one connection" .. name,
    { query = { size = 8000000, etag = "weak" }, options = options, fetched = 1.3 })
end

assert(testing.run().ok, "a case failed")
