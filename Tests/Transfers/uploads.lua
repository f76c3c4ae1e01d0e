-- Uploads to a server with faults: api:upload. Each case names the faults of the requests in order, and compares the content that
-- the server has with the file, and the requests with the server's log. Needs the demo API:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/uploads.lua
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local sources = require "sources"
local cases = require "upload_cases"
local fs, test, case, upload, count = nightjar.fs, testing.test, cases.case, cases.upload, cases.count
local size, chunk, protocols, title, for_each_kind = cases.size, cases.chunk, cases.protocols, cases.title, cases.for_each_kind
local check_content = cases.check_content

-- --- Sizes and positions ---

-- The number of requests without faults.
local function usual_requests(protocol, chunk_size, length)
  local bodies = chunk_size and math.max(1, (length + chunk_size - 1) // chunk_size) or 1
  if protocol == "resumable" then return bodies end
  return length == 0 and 1 or 1 + bodies
end

for_each_kind(function(protocol, chunk_size, name)
  for _, length in ipairs { 0, 1, chunk - 1, chunk, chunk + 1, size } do
    case(("%s: a file of %d bytes is uploaded"):format(name, length), {
      protocol = protocol, chunk = chunk_size, size = length, requests = usual_requests(protocol, chunk_size, length),
      check = function(t, log, result)
        t:equal(result.attempts, count(log))
        t:equal(result.sent, length)
        t:equal(result.resumed, 0)
        t:truthy(result.response.status < 300)
        t:equal(log[1].length, length)
        if protocol == "tus" then t:equal(result.url, sources.origin .. log[1].path) end
      end,
    })
  end
end)

case("tus: the creation contains the first bytes", {
  protocol = "tus", options = { creation_with_upload = true }, requests = 1,
  check = function(t, log) t:equal(log[1].requests[1].body_bytes, size) end,
})
case("tus: the creation contains the first chunk",
  { protocol = "tus", chunk = chunk, options = { creation_with_upload = true }, requests = 3 })
case("tus: an empty file is created with its content",
  { protocol = "tus", size = 0, options = { creation_with_upload = true }, requests = 1 })

-- --- Faults of each request ---

-- Returns the list of faults in which the request with this number has a fault.
local function at(number, fault) return ("none,"):rep(number - 1) .. fault end

-- The numbers of the first, a middle and the last request that sends content.
local function content_requests(protocol, chunk_size)
  if protocol == "tus" then return chunk_size and { 2, 3, 4 } or { 2 } end
  return chunk_size and { 1, 2, 3 } or { 1 }
end

for_each_kind(function(protocol, chunk_size, name)
  local length = chunk_size or size
  local numbers = content_requests(protocol, chunk_size)
  local usual = usual_requests(protocol, chunk_size, size)
  -- The URL of an upload of the draft is in an interim response. A creation without this response is not repeated, because the
  -- server may have processed it.
  local function has_url(number) return protocol == "tus" or number > 1 end
  local function continued(number, fault, row)
    row = row or { at_most = usual + 2 }
    row.protocol, row.chunk, row.faults = protocol, chunk_size, at(number, fault)
    case(("%s: request %d is continued after %s"):format(name, number, fault), row)
  end
  for _, number in ipairs(numbers) do
    for _, position in ipairs { 0, 1, length // 2, length - 1, length } do
      -- The interim response and the end of the connection may arrive together.
      if has_url(number) or position > 1 then continued(number, "cut@" .. position) end
      if has_url(number) then continued(number, "reset@" .. position) end
      continued(number, "early@" .. position)
      case(("%s: a 413 for request %d at byte %d is an error"):format(name, number, position), {
        protocol = protocol, chunk = chunk_size, faults = at(number, "reject@" .. position),
        fails = "client", status = 413, requests = number,
      })
    end
    continued(number, "lost")
    -- The server may read a whole chunk before it stalls at a later byte.
    continued(number, "stall@" .. (number == numbers[1] and 1000 or 0))
    continued(number, "low@70000", { discarded = 70000 })
    if has_url(number) then
      for _, fault in ipairs { "close", "status@503", "status@500", "409" } do continued(number, fault) end
      case(("%s: an upload that the server loses again and again fails at request %d"):format(name, number), {
        protocol = protocol, chunk = chunk_size, faults = at(number, "expire"), fails = "content_changed",
      })
    end
    for _, row in ipairs {
      { 400, "client" }, { 401, "unauthorized" }, { 403, "forbidden" }, { 422, "client" },
    } do
      case(("%s: a status %d for request %d is an error"):format(name, row[1], number), {
        protocol = protocol, chunk = chunk_size, faults = at(number, "status@" .. row[1]),
        fails = row[2], status = row[1], requests = number,
      })
    end
  end
end)

-- Offsets that are too high. The last response of the draft has no offset.
for_each_kind(function(protocol, chunk_size, name)
  for _, number in ipairs(content_requests(protocol, chunk_size)) do
    local is_last = number == usual_requests(protocol, chunk_size, size)
    if protocol == "tus" or not is_last then
      for _, amount in ipairs { 1, 1000000 } do
        case(("%s: request %d fails if the server reports %d bytes more than it has"):format(name, number, amount), {
          protocol = protocol, chunk = chunk_size, faults = at(number, "high@" .. amount),
          fails = "protocol", completes = is_last,
        })
      end
    end
  end
  local first = protocol == "tus" and "none,cut@50000" or chunk_size and "none,cut@50000" or "cut@50000"
  case(name .. ": a HEAD response with an offset beyond the file is an error",
    { protocol = protocol, chunk = chunk_size, faults = first .. ",high@1000000", fails = "protocol" })
  case(name .. ": a HEAD response with an offset that is too high does not skip bytes",
    { protocol = protocol, chunk = chunk_size, faults = first .. ",high@1000" })
  case(name .. ": a lower offset of HEAD is used",
    { protocol = protocol, chunk = chunk_size, faults = first .. ",low@30000", discarded = 30000 })
  case(name .. ": the offset 0 of HEAD is used",
    { protocol = protocol, chunk = chunk_size, faults = first .. ",low@1000000", discarded = chunk + 50000 })
  for _, fault in ipairs { "close", "lost", "status@503", "status@500" } do
    case(("%s: HEAD is repeated after %s"):format(name, fault),
      { protocol = protocol, chunk = chunk_size, faults = first .. "," .. fault, options = { attempts = 5 } })
  end
  case(name .. ": a status of HEAD that is not temporary is an error", {
    protocol = protocol, chunk = chunk_size, faults = first .. ",status@400", fails = "client", status = 400,
  })
  case(name .. ": several faults in sequence", {
    protocol = protocol, chunk = chunk_size, options = { attempts = 5 },
    faults = first .. ",close,none,reset@20000,none,early@10000,none,lost",
  })
end)

for_each_kind(function(protocol, chunk_size, name)
  local first = protocol == "tus" and "none," or chunk_size and "none," or ""
  case(name .. ": the number of sent bytes includes those of requests that failed", {
    protocol = protocol, chunk = chunk_size, faults = first .. "cut@50000",
    check = function(t, log, result)
      t:truthy(result.sent >= size, ("%d bytes of %d\n%s"):format(result.sent, size, sources.describe(log)))
    end,
  })
end)

-- Creations that fail. Each new upload has the same faults.
for _, row in ipairs {
  { "close", "connection_lost" }, { "lost", "connection_lost" }, { "cut@0", "connection_lost" },
  { "reset@0", "connection_lost" }, { "early@0", "server", 503 }, { "status@503", "server", 503 },
  { "status@500", "server", 500 }, { "status@400", "client", 400 }, { "reject@0", "client", 413 },
  { "409", "client", 409 }, { "expire", "not_found", 404 },
} do
  local fault, kind, status = table.unpack(row)
  case("tus: a creation fails after " .. fault, {
    protocol = "tus", faults = fault, fails = kind, status = status,
    check = function(t, log)
      t:equal(#log, status and status < 500 and 1 or 3, sources.describe(log))
      t:equal(count(log), #log)
    end,
  })
end
for _, fault in ipairs { "close", "lost", "cut@0", "reset@50000" } do
  case("resumable: a POST without interim responses is not repeated after " .. fault, {
    protocol = "resumable", query = { interim = 0 }, faults = fault, fails = "connection_lost", requests = 1,
    completes = fault == "lost",
  })
end
case("resumable: an upload without interim responses has a single request",
  { protocol = "resumable", query = { interim = 0 }, requests = 1 })
case("resumable: chunks need no interim responses",
  { protocol = "resumable", chunk = chunk, query = { interim = 0 }, faults = "none,cut@1000", requests = 5 })
case("resumable: interim responses with offsets are accepted", {
  protocol = "resumable", query = { progress = 10000, rate = 3000000 }, faults = "cut@250000", at_most = 3,
})

-- --- Limits and fields of the server ---

for_each_kind(function(protocol, chunk_size, name)
  case(name .. ": a file that is too large for the server is an error", {
    protocol = protocol, chunk = chunk_size, query = { max_size = size - 1 }, fails = "client", status = 413, requests = 0,
  })
  case(name .. ": a Location that is a URL is used",
    { protocol = protocol, chunk = chunk_size, query = { location = "url" },
      faults = protocol == "tus" and "none,cut@50000" or chunk_size and "none,cut@50000" or "cut@50000" })
end)

case("resumable: an upload without Location is complete if it was one request",
  { protocol = "resumable", query = { location = "none" }, requests = 1 })
case("resumable: chunks without Location are an error",
  { protocol = "resumable", chunk = chunk, query = { location = "none" }, fails = "protocol" })

for _, chunk_size in ipairs { false, 200000 } do
  case(title("resumable", chunk_size) .. ": no request is larger than max-append-size", {
    protocol = "resumable", chunk = chunk_size or nil, query = { max_append = 70000 },
    check = function(t, log)
      for _, request in ipairs(log[1].requests) do
        t:truthy(request.body_bytes <= 70000, sources.describe(log))
      end
    end,
  })
end
case("resumable: a chunk size of the limit is accepted",
  { protocol = "resumable", chunk = chunk, query = { max_append = chunk, min_append = chunk }, requests = 3 })

-- --- Attempts and timeouts ---

for_each_kind(function(protocol, chunk_size, name)
  local first = protocol == "tus" and "none," or chunk_size and "none," or "cut@1000,"
  case(name .. ": an upload without progress fails after `attempts` requests", {
    protocol = protocol, chunk = chunk_size, faults = first .. "cut@0", query = { ["repeat"] = 1 },
    fails = "connection_lost",
    check = function(t, log)
      local failures = 0
      for _, request in ipairs(log[1].requests) do
        if request.method == "PATCH" and request.status == 0 then failures = failures + 1 end
      end
      t:truthy(failures == 3 or first == "cut@1000," and failures == 2, sources.describe(log))
    end,
  })
  case(name .. ": new bytes reset the number of failures", {
    protocol = protocol, chunk = chunk_size, faults = first .. ("cut@20000,none,"):rep(8) .. "none",
    options = { attempts = 2 },
  })
  test(name .. ": the client waits between the attempts", function(t)
    local start = nightjar.time.monotonic()
    local result, err = upload {
      protocol = protocol, chunk = chunk_size, faults = first .. "close", query = { ["repeat"] = 1 },
      options = { attempts = 2, retry_delay = 0.1 },
    }
    t:equal(result, nil)
    t:equal(sources.kind(err), "connection_lost")
    t:truthy(nightjar.time.monotonic() - start < 5)
  end)
end)

case("resumable: a short pause of the server is no failure",
  { protocol = "resumable", faults = "stall@1000", query = { stall_time = 0.2 }, requests = 1 })
case("tus: a short pause of the server is no failure",
  { protocol = "tus", faults = "none,stall@1000", query = { stall_time = 0.2 }, requests = 2 })

-- --- Digests and metadata ---

-- Returns the SHA-256 digest of a file of `size` bytes.
local function digest()
  return sources.hash(sources.write(cases.file, size))
end

for_each_kind(function(protocol, chunk_size, name)
  test(name .. ": the right checksum is accepted", function(t)
    for _, checksum in ipairs { "sha256", "sha256:" .. digest() } do
      local result, err, log = upload { protocol = protocol, chunk = chunk_size, options = { checksum = checksum } }
      t:truthy(result, tostring(err) .. "\n" .. sources.describe(log))
      check_content(t, log)
      if protocol == "resumable" then
        t:equal(log[1].metadata["Repr-Digest"],
          ("sha-256=:%s:"):format(nightjar.base64.encode(nightjar.hash.sha256(fs.read(cases.file), "bytes"))))
      end
    end
  end)
  case(name .. ": a wrong checksum is an error before the upload", {
    protocol = protocol, chunk = chunk_size, options = { checksum = "sha256:" .. ("0"):rep(64) },
    fails = "checksum_mismatch", requests = 0,
  })
end)
for _, chunk_size in ipairs { false, chunk } do
  case(title("tus", chunk_size) .. ": a damaged body with a checksum is sent again", {
    protocol = "tus", chunk = chunk_size or nil, faults = "none,damage", options = { checksum = "sha256" },
    discarded = size,
    check = function(t, log)
      local found = false
      for _, request in ipairs(log[1].requests) do found = found or request.status == 460 end
      t:truthy(found, sources.describe(log))
    end,
  })
  case(title("tus", chunk_size) .. ": bodies that are always damaged are an error", {
    protocol = "tus", chunk = chunk_size or nil, faults = "none,damage", query = { ["repeat"] = 1 },
    options = { checksum = "sha256" }, fails = "client", status = 460,
  })
  case(title("resumable", chunk_size) .. ": a damaged content with a checksum is an error", {
    protocol = "resumable", chunk = chunk_size or nil, faults = "damage", options = { checksum = "sha256" },
    fails = "client", status = 422, completes = true,
  })
end
case("tus: a body with a checksum is continued after it was interrupted", {
  protocol = "tus", faults = "none,cut@100000", options = { checksum = "sha256" }, discarded = 100000,
})

test("tus: metadata is encoded", function(t)
  local text = "Grüße, 1 €.txt"
  local result, err, log = upload {
    protocol = "tus", options = { metadata = { filename = text, empty = "" } },
  }
  t:truthy(result, tostring(err))
  local found = {}
  for item in log[1].metadata["Upload-Metadata"]:gmatch "[^,]+" do
    local name, value = item:match "^%s*(%S+) ?(%S*)$"
    found[name] = nightjar.base64.decode(value)
  end
  t:equal(found.filename, text)
  t:equal(found.empty, "")
end)

test("resumable: the type of the file is a header of the creation", function(t)
  local result, err, log = upload { protocol = "resumable", options = { type = "video/mp4" } }
  t:truthy(result, tostring(err))
  t:equal(log[1].metadata["Content-Type"], "video/mp4")
end)

for _, protocol in ipairs(protocols) do
  test(protocol .. ": headers of the caller are sent", function(t)
    local result, err, log = upload {
      protocol = protocol, options = { headers = { ["Content-Disposition"] = "attachment", ["Upload-Metadata"] = "a YQ==" } },
    }
    t:truthy(result, tostring(err))
    check_content(t, log)
    local name = protocol == "tus" and "Upload-Metadata" or "Content-Disposition"
    t:truthy(log[1].metadata[name] ~= nil, name)
  end)
end

assert(testing.run().ok, "a case failed")
