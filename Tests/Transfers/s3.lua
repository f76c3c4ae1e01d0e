-- Multipart uploads to an S3 server: the protocol s3 of api:upload.
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-s3 nightjar Tests/Transfers/s3.lua NIGHTJAR
--
-- NIGHTJAR is the nightjar executable.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local sources = require "sources"
local fs, process, test = nightjar.fs, nightjar.process, testing.test

local command = arg[1]
local origin = os.getenv "NIGHTJAR_S3_URL"
local api = nightjar.client { base_url = origin, timeout = 60 }
local part, size = 5 << 20, 12000000

-- Each test has a bucket of its own.
local folder, file, bucket, path
local last_bucket = 0
testing.before(function()
  folder = fs.temp_dir { prefix = "s3-" }
  file = sources.write(folder.path .. "/file.bin", size)
  last_bucket = last_bucket + 1
  bucket = "/bucket-" .. last_bucket
  path = bucket .. "/a key"
  api:put(bucket)
end)
testing.after(function() folder:remove() end)

-- Returns the options of an upload.
local function options(settings)
  local all = { protocol = "s3", chunk_size = part, retry_delay = 0.01 }
  for name, value in pairs(settings or {}) do all[name] = value end
  if not all.chunk_size then all.chunk_size = nil end
  return all
end

test("requests can be signed with Signature Version 4", function(t)
  local example = debug.getinfo(1, "S").source:match "^@(.-)[^/]*$" .. "../../scripts/examples/lua/sign_aws.lua"
  local login = { key_id = "key", secret = "secret", region = "us-east-1", service = "s3" }
  local signed = nightjar.client { base_url = origin, on_request = assert(loadfile(example))("signer")(login) }
  local encoded = path:gsub(" ", "%%20")
  signed:put(encoded, { body = "content" })
  t:equal(signed:get(encoded).body, "content")
  t:equal(signed:get(bucket, { query = { prefix = "a k", ["list-type"] = 2 } }).body:match "<Key>(.-)</Key>", "a key")
end)

-- Checks that the object has the content of the file.
local function check_object(t)
  local copy = folder.path .. "/copy"
  api:download(path, copy)
  t:equal(sources.hash(copy), sources.hash(file))
end
-- Checks that the server has no multipart upload in progress.
local function check_no_uploads(t)
  t:equal(api:get(bucket .. "?uploads").body:find("<Upload>", 1, true), nil)
end

for _, length in ipairs { 0, 1, part, part + 1, 2 * part, size } do
  test(("a file of %d bytes is uploaded in parts"):format(length), function(t)
    sources.write(file, length)
    local result = api:upload(path, file, options())
    check_object(t)
    check_no_uploads(t)
    t:equal(result.size, length)
    t:equal(result.sent, length)
    t:equal(result.attempts, 2 + math.max(1, (length + part - 1) // part))
    local tag = api:head(path).headers.etag
    t:matches(tag, ("-%d\"$"):format(math.max(1, (length + part - 1) // part)))
  end)
end

test("the usual part size is larger", function(t)
  api:upload(path, file, options { chunk_size = false })
  check_object(t)
end)

test("the type and the metadata are those of the object", function(t)
  api:upload(path, file, options { type = "video/mp4", metadata = { title = "night" } })
  local headers = api:head(path).headers
  t:equal(headers["content-type"], "video/mp4")
  t:equal(headers["x-amz-meta-title"], "night")
end)

for _, checksum in ipairs { "sha256", "md5" } do
  test("parts have a digest: " .. checksum, function(t)
    api:upload(path, file, options { checksum = checksum })
    check_object(t)
  end)
end

test("a wrong checksum is an error", function(t)
  t:raises("checksum_mismatch", api.upload, api, path, file, options { checksum = "sha256:" .. ("0"):rep(64) })
  check_no_uploads(t)
end)

test("an upload through a relay continues after each reset", function(t)
  local child, relayed = sources.start_relay(origin, { 3000000, 9000000 })
  local result = nightjar.client({ base_url = relayed }):upload(path, file, options())
  t:equal(sources.stop_relay(child), 2)
  check_object(t)
  check_no_uploads(t)
  -- Each reset discards at most the bytes of one part.
  t:truthy(result.sent <= size + 2 * part, result.sent)
end)

-- Uploads with a limited rate, and stops after the first part. Returns the state.
local function stop_after_part(settings)
  local all = options(settings)
  all.max_rate = 15000000
  local started <close> = api:start_upload(path, file, all)
  sources.wait_until_sent(started, part + 1000000)
  started:cancel()
  local ok, err = pcall(started.wait, started)
  assert(not ok and err.kind == "cancelled", tostring(err))
  return started:state()
end

test("a state continues the upload after the stored parts", function(t)
  local state = stop_after_part()
  local result = nightjar.client({ base_url = origin }):upload(path, file, options { resume = state })
  check_object(t)
  check_no_uploads(t)
  t:truthy(result.resumed >= part and result.resumed < size, result.resumed)
  t:equal(result.resumed + result.sent, size)
end)

for _, other in ipairs { false, 6 << 20, 11 << 20 } do
  test(("a state continues the upload with another chunk size: %s"):format(other), function(t)
    local state = stop_after_part()
    local result = api:upload(path, file, options { resume = state, chunk_size = other })
    check_object(t)
    t:truthy(result.resumed >= part and result.resumed < size, result.resumed)
    check_no_uploads(t)
  end)
end

test("a state with larger parts continues the upload with smaller chunks", function(t)
  local all = options { chunk_size = 6 << 20, max_rate = 15000000 }
  local started <close> = api:start_upload(path, file, all)
  sources.wait_until_sent(started, (6 << 20) + 1000000)
  started:cancel()
  pcall(started.wait, started)
  local result = api:upload(path, file, options { resume = started:state() })
  check_object(t)
  -- The last part is missing; otherwise the chunk size would not matter.
  t:equal(result.resumed, 6 << 20)
end)

test("a paused upload continues", function(t)
  local started <close> = api:start_upload(path, file, options { max_rate = 30000000 })
  sources.wait_until_sent(started, part + 1000000)
  started:pause()
  nightjar.sleep(0.05)
  started:resume()
  started:wait()
  check_object(t)
  check_no_uploads(t)
end)

test("a killed upload continues in another process", function(t)
  local state = folder.path .. "/state"
  local function start(rate)
    local settings = nightjar.json.encode(options { max_rate = rate })
    return process.spawn {
      command, sources.folder .. "/upload.lua", origin, path, file, settings, state, stdout = "pipe",
    }
  end
  local child <close> = start(6000000)
  while not fs.exists(state) do nightjar.sleep(0.01) end
  nightjar.sleep(1.2)
  child:kill "KILL"
  child:wait()
  local second <close> = start()
  local total, resumed, sent = second.stdout:read_all():match "(%d+)%s+(%d+)%s+(%d+)"
  t:equal(second:wait().ok, true)
  t:equal(tonumber(total), size)
  t:truthy(tonumber(resumed) >= part and tonumber(resumed) < size, resumed)
  t:equal(tonumber(resumed) + tonumber(sent), size)
  check_object(t)
  check_no_uploads(t)
end)

test("cancel { keep = false } removes the multipart upload", function(t)
  local started <close> = api:start_upload(path, file, options { max_rate = 30000000 })
  sources.wait_until_sent(started, part + 1000000)
  t:truthy(api:get(bucket .. "?uploads").body:find("<Upload>", 1, true))
  started:cancel { keep = false }
  t:raises("cancelled", started.wait, started)
  for _ = 1, 100 do
    if not api:get(bucket .. "?uploads").body:find("<Upload>", 1, true) then break end
    nightjar.sleep(0.02)
  end
  check_no_uploads(t)
end)

-- Removes the multipart upload on the server.
local function remove()
  local id = api:get(bucket .. "?uploads").body:match "<UploadId>([^<]+)"
  api:delete(path, { query = { uploadId = id } })
end
test("a multipart upload that was removed starts over", function(t)
  local state = stop_after_part()
  remove()
  local result = api:upload(path, file, options { resume = state })
  t:equal(result.resumed, 0)
  check_object(t)
end)
test("with restart = false, a multipart upload that was removed is an error", function(t)
  local state = stop_after_part()
  remove()
  t:raises("content_changed", api.upload, api, path, file, options { resume = state, restart = false })
end)

test("a file that has changed is not continued", function(t)
  local state = stop_after_part()
  fs.append(file, "x")
  t:raises("content_changed", api.upload, api, path, file, options { resume = state })
end)

test("a bucket that does not exist is an error", function(t)
  local err = t:raises("not_found", api.upload, api, "/no-such-bucket/key", file, options())
  t:equal(err.status, 404)
  t:matches(err.response.body, "NoSuchBucket")
end)

-- --- A server that fails to complete the upload ---

local started_document = "<InitiateMultipartUploadResult><UploadId>1&amp;2</UploadId></InitiateMultipartUploadResult>"
local completed_document = '<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>'
local parts_document = '<ListPartsResult><IsTruncated>false</IsTruncated><Part><PartNumber>1</PartNumber><ETag>"p"</ETag>'
  .. "<Size>1000</Size></Part></ListPartsResult>"
local function failure(code)
  return ("<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>try again</Message></Error>"):format(code)
end

-- Uploads 1000 bytes to a mock whose responses to the completion are a list. Returns the mock and the upload.
-- @param object the header fields of the object
local function complete(responses, object)
  local created = { Date = "Wed, 25 Nov 2026 10:00:00 GMT" }
  local mock = nightjar.mock {
    { name = "create", method = "POST", query = { uploads = true }, path = "/b/k", response = { headers = created, body = started_document } },
    { name = "part", method = "PUT", path = "/b/k", query = { uploadId = "1&2" }, response = { headers = { ETag = '"p"' } } },
    { name = "complete", method = "POST", path = "/b/k", query = { uploadId = "1&2" }, responses = responses },
    { name = "list", method = "GET", path = "/b/k", query = { uploadId = "1&2" }, response = { body = parts_document } },
    { name = "head", method = "HEAD", path = "/b/k", response = { headers = object } },
  }
  local client = nightjar.client { base_url = "http://s3.example", mock = mock }
  sources.write(file, 1000)
  return mock, client:upload("/b/k", file, options { attempts = 3 })
end

test("the completion has the entity tags of the parts", function(t)
  local mock = complete { { body = completed_document } }
  local body = mock:calls("complete")[1].body
  t:matches(body, "<PartNumber>1</PartNumber>%s*<ETag>&quot;p&quot;</ETag>")
end)

test("an error in a completion with the status 200 is temporary", function(t)
  local mock = complete { { body = failure "InternalError" }, { body = completed_document } }
  t:equal(mock:uses "complete", 2)
end)

test("an error in each completion with the status 200 fails the upload", function(t)
  for _, code in ipairs { "InternalError", "SlowDown", "EntityTooSmall", "InvalidPart" } do
    local ok, err = pcall(complete, { { body = failure(code) } })
    t:equal(ok, false)
    t:matches(tostring(err), code)
  end
end)

test("a completion with a 503 is repeated", function(t)
  local mock = complete { { status = 503, body = failure "SlowDown" }, { body = completed_document } }
  t:equal(mock:uses "complete", 2)
end)

local lost = { { fault = "connection_lost" }, { status = 404, body = failure "NoSuchUpload" } }

test("a completion whose response was lost succeeds if the object is that of the upload", function(t)
  local object = { ETag = '"0f-1"', ["Content-Length"] = "1000", ["Last-Modified"] = "Wed, 25 Nov 2026 10:00:00 GMT" }
  local mock, result = complete(lost, object)
  t:equal(result.size, 1000)
  t:equal(mock:uses "create", 1)
end)

test("a completion whose response was lost is in doubt if the object is older or differs", function(t)
  for _, change in ipairs { { "ETag", '"0f-2"' }, { "Content-Length", "999" }, { "Last-Modified", "Wed, 25 Nov 2026 09:59:00 GMT" } } do
    local object = { ETag = '"0f-1"', ["Content-Length"] = "1000", ["Last-Modified"] = "Wed, 25 Nov 2026 10:00:00 GMT" }
    object[change[1]] = change[2]
    local err = t:raises("protocol", complete, lost, object)
    t:matches(tostring(err), "the upload may be complete")
    t:equal(err.may_have_been_processed, true)
  end
end)

test("a completion with a 400 is an error", function(t)
  local ok, err = pcall(complete, { { status = 400, body = failure "InvalidPartOrder" } })
  t:equal(ok, false)
  t:equal(err.kind, "client")
end)

test("a creation without an identifier is an error", function(t)
  local client = nightjar.client { base_url = "http://s3.example", mock = { { response = { body = "<html>" } } } }
  sources.write(file, 1000)
  t:raises("protocol", client.upload, client, "/b/k", file, options())
end)

assert(testing.run().ok, "a case failed")
