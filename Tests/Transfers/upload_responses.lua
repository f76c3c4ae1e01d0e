-- Uploads with one request, and responses that are early or violate a rule. Needs the demo API:
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-demo nightjar nightjar Tests/Transfers/upload_responses.lua
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local sources = require "sources"
local cases = require "upload_cases"
local fs, test = nightjar.fs, testing.test
local api, large = cases.api, cases.large

local file
testing.before(function() file = cases.file end)

-- --- One request ---

local put = { protocol = "put", size = 100000 }

-- Uploads the file with one request. Returns the response as JSON, and the upload.
local function send(protocol, path, query, options)
  sources.write(file, put.size)
  -- The retries of the client do not count as attempts of the upload.
  local all = { protocol = protocol, query = query, retry_delay = 0.01, attempts = 3, retry = { attempts = 1 } }
  for name, value in pairs(options or {}) do all[name] = value end
  local result = api:upload(path, file, all)
  return result.response.json, result
end
-- Returns the number of requests that /v1/flaky has received with a key.
local function received(key)
  return api:get("/v1/flaky", { query = { key = key, times = 0 } }).json.attempt - 1
end

for _, protocol in ipairs { "put", "post" } do
  for _, length in ipairs { 0, 1, 100000 } do
    test(("%s: a file of %d bytes is one request"):format(protocol, length), function(t)
      put.size = length
      t:cleanup(function() put.size = 100000 end)
      local json, result = send(protocol, "/echo", nil, { type = "image/png" })
      t:equal(json.method, protocol:upper())
      t:equal(json.body_bytes, length)
      local text = fs.read(file)
      t:equal(json.body_encoding == "text" and json.body or nightjar.base64.decode(json.body), text)
      local headers = {}
      for _, pair in ipairs(json.headers) do headers[pair[1]:lower()] = pair[2] end
      t:equal(headers["content-type"], "image/png")
      t:equal(headers["content-length"], tostring(length))
      t:equal(result.attempts, 1)
      t:equal(result.sent, length)
      t:equal(result.size, length)
    end)
  end
  for _, row in ipairs { { 400, "client" }, { 404, "not_found" }, { 409, "client" }, { 413, "client" } } do
    test(("%s: a status %d is an error"):format(protocol, row[1]), function(t)
      local key = sources.new_run "status"
      local err = t:raises(row[2], send, protocol, "/v1/flaky", { key = key, times = 10, status = row[1] })
      t:equal(err.status, row[1])
      t:equal(received(key), 1)
    end)
  end
end

test("put is the default", function(t) t:equal(send(nil, "/echo").method, "PUT") end)

for _, fault in ipairs { { drop = 1 }, { status = 503 }, { status = 500 } } do
  local name = fault.drop and "the connection was closed" or "a " .. fault.status
  test("put: a request is repeated after " .. name, function(t)
    local key = sources.new_run "put"
    local json, result = send("put", "/v1/flaky", { key = key, times = 2, drop = fault.drop, status = fault.status })
    t:equal(json.attempt, 3)
    t:equal(json.body_bytes, { put.size, put.size, put.size })
    t:equal(result.attempts, 3)
  end)
  test("put: a request fails after `attempts` attempts: " .. name, function(t)
    local key = sources.new_run "put"
    t:raises(fault.drop and "connection_lost" or "server", send, "put", "/v1/flaky",
      { key = key, times = 10, drop = fault.drop, status = fault.status })
    t:equal(received(key), 3)
  end)
end

test("post: a request that may have been processed is not repeated", function(t)
  local key = sources.new_run "post"
  t:raises("connection_lost", send, "post", "/v1/flaky", { key = key, times = 1, drop = 1 })
  t:equal(received(key), 1)
end)

test("put: a request is repeated after a reset", function(t)
  local child, origin = sources.start_relay(sources.origin, { 1000000, 2500000 })
  sources.write(file, 2000000)
  local result = nightjar.client({ base_url = origin }):upload("/upload", file, { retry_delay = 0.01, retry = { attempts = 1 } })
  t:equal(sources.stop_relay(child), 2)
  t:equal(result.response.json.bytes, 2000000)
  t:equal(result.attempts, 3)
end)

test("put: the right checksum is accepted, and a wrong one is an error", function(t)
  sources.write(file, put.size)
  send("put", "/upload", nil, { checksum = "sha256:" .. sources.hash(file) })
  t:raises("checksum_mismatch", send, "put", "/upload", nil, { checksum = "sha256:" .. ("0"):rep(64) })
end)

for name, change in pairs {
  grows = function() fs.append(file, ("x"):rep(100000)) end,
  shrinks = function() sources.write(file, 500000) end,
  ["is emptied"] = function() fs.write(file, "", { atomic = false }) end,
} do
  test(("put: a file that %s while it is sent is an error"):format(name), function(t)
    sources.write(file, large)
    local started <close> = api:start_upload("/upload", file, { query = { rate = 1500000 }, max_rate = 1500000 })
    sources.wait_until_sent(started, 200000)
    change()
    t:raises("content_changed", started.wait, started, 20)
  end)
end

-- --- Early responses ---

-- Starts an upload of a sparse file of 30 MB to a server that responds before it has read the body. The buffers of the system
-- do not hold this file.
local function start_early(path, options)
  local sparse = assert(io.open(file, "wb"))
  sparse:seek("set", 30000000 - 1)
  sparse:write "x"
  sparse:close()
  options.retry_delay = 0.01
  return api:start_upload(path, file, options)
end

test("resumable: a response before the end of the body is seen", function(t)
  local started <close> = start_early("/resumable", { protocol = "resumable", query = { max_size = 1000 } })
  local err = t:raises("client", started.wait, started, 20)
  t:equal(err.status, 413)
  t:truthy(started.progress.sent < 30000000, started.progress.sent)
end)

test("put: a response before the end of the body is seen", function(t)
  local started <close> = start_early("/expect", { query = { response = 403 } })
  local err = t:raises("forbidden", started.wait, started, 20)
  t:equal(err.status, 403)
  t:truthy(started.progress.sent < 30000000, started.progress.sent)
end)

-- --- Responses that violate a rule ---

-- Uploads 1000 bytes to a mock whose responses to each method are a list.
local function upload_to_mock(protocol, responses, options)
  local routes = {}
  for method, list in pairs(responses) do routes[#routes + 1] = { method = method, path = "/**", responses = list } end
  local client = nightjar.client { base_url = "http://upload.example", mock = routes }
  sources.write(file, 1000)
  local all = { protocol = protocol, retry_delay = 0.01, attempts = 3 }
  for name, value in pairs(options or {}) do all[name] = value end
  return client:upload("/files", file, all)
end
local function created(headers)
  local all = { ["Tus-Resumable"] = "1.0.0", Location = "/files/1" }
  for name, value in pairs(headers or {}) do all[name] = value or nil end
  return { { status = 201, headers = all } }
end
local function offset(value, status)
  return { status = status or 204, headers = { ["Tus-Resumable"] = "1.0.0", ["Upload-Offset"] = tostring(value) } }
end

test("tus: a creation without Location is an error", function(t)
  t:raises("protocol", upload_to_mock, "tus", { POST = created { Location = false } })
end)

for _, value in ipairs { "-1", "x", "1e3", "", "99999999999999999999", "1001", "500, 500", "0x10" } do
  test(("tus: the offset %q is an error"):format(value), function(t)
    t:raises("protocol", upload_to_mock, "tus", { POST = created(), PATCH = { offset(value) } })
    t:raises("protocol", upload_to_mock, "tus", {
      POST = created(), PATCH = { 503 }, HEAD = { offset(value, 200) },
    })
  end)
end

test("tus: a response without an offset is followed by HEAD", function(t)
  local result = upload_to_mock("tus", { POST = created(), PATCH = { 204 }, HEAD = { offset(1000, 200) } })
  t:equal(result.size, 1000)
  t:raises("protocol", upload_to_mock, "tus", { POST = created(), PATCH = { 503 }, HEAD = { 200 } })
end)

test("tus: a server that never accepts a byte is an error", function(t)
  t:raises("protocol", upload_to_mock, "tus", { POST = created(), PATCH = { offset(0) }, HEAD = { offset(0, 200) } })
end)

test("tus: an upload of another length is an error", function(t)
  local length = { status = 200, headers = { ["Upload-Offset"] = "10", ["Upload-Length"] = "999" } }
  t:raises("content_changed", upload_to_mock, "tus", { POST = created(), PATCH = { 503 }, HEAD = { length } })
end)

test("tus: an upload that is locked is continued", function(t)
  local result = upload_to_mock("tus", {
    POST = created(), PATCH = { 423, offset(1000) }, HEAD = { { status = 423 }, offset(0, 200) },
  }, { attempts = 5 })
  t:equal(result.size, 1000)
end)

test("resumable: an offset that is invalid is an error", function(t)
  local options = { chunk_size = 500 }
  for _, value in ipairs { "-1", "x", "501", "99999999999999999999" } do
    local first = { status = 201, headers = { Location = "/files/1", ["Upload-Complete"] = "?0", ["Upload-Offset"] = value } }
    t:raises("protocol", upload_to_mock, "resumable", { POST = { first } }, options)
  end
end)

test("a Location that cannot be requested is an error", function(t)
  for _, value in ipairs { "ftp://upload.example/1", "http://", "http://a b/" } do
    local ok, err = pcall(upload_to_mock, "tus", { POST = created { Location = value } })
    t:equal(ok, false, value)
    t:truthy(type(err) == "userdata", tostring(err))
  end
end)

assert(testing.run().ok, "a case failed")
