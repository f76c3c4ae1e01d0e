-- Uploads of blobs to a container registry: the protocol oci of api:upload.
--
--   LUA_PATH="Tests/Transfers/?.lua" scripts/with-registry nightjar Tests/Transfers/registry.lua
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local sources = require "sources"
local fs, test = nightjar.fs, testing.test

local origin = os.getenv "NIGHTJAR_REGISTRY_URL"
local login = ("%s:%s"):format(os.getenv "NIGHTJAR_REGISTRY_USER", os.getenv "NIGHTJAR_REGISTRY_PASSWORD")
local headers = { Authorization = "Basic " .. nightjar.base64.encode(login) }
local function client(base_url) return nightjar.client { base_url = base_url, headers = headers, timeout = 60 } end
local api = client(origin)
local size, chunk = 12000000, 2000000

-- Each test has a repository of its own, so that no blob exists.
local folder, file, name, path
local last_repository = 0
testing.before(function()
  folder = fs.temp_dir { prefix = "registry-" }
  file = folder.path .. "/blob"
  last_repository = last_repository + 1
  sources.write(file, size, last_repository)
  name = "uploads/test-" .. last_repository
  path = ("/v2/%s/blobs/uploads/"):format(name)
end)
testing.after(function() folder:remove() end)

local function options(settings)
  local all = { protocol = "oci", retry_delay = 0.01 }
  for key, value in pairs(settings or {}) do all[key] = value end
  return all
end

-- Returns the URL of the blob with the digest of the file.
local function blob() return ("/v2/%s/blobs/sha256:%s"):format(name, sources.hash(file)) end
-- Checks that the registry has the content of the file.
local function check_blob(t)
  local copy = folder.path .. "/copy"
  api:download(blob(), copy)
  t:equal(sources.hash(copy), sources.hash(file))
end
local function check_no_blob(t) t:raises("not_found", api.head, api, blob()) end

for _, chunk_size in ipairs { false, chunk } do
  local kind = chunk_size and ("chunks of %d bytes"):format(chunk_size) or "one request"
  for _, length in ipairs { 0, 1, chunk, size } do
    test(("%s: a blob of %d bytes is uploaded"):format(kind, length), function(t)
      sources.write(file, length, 100 + last_repository)
      local result = api:upload(path, file, options { chunk_size = chunk_size or nil })
      check_blob(t)
      t:equal(result.size, length)
      t:equal(result.sent, length)
    end)
  end

  test(kind .. ": the right checksum is accepted, and a wrong one is an error", function(t)
    local wrong = "sha256:" .. ("0"):rep(64)
    t:raises("checksum_mismatch", api.upload, api, path, file, options { chunk_size = chunk_size or nil, checksum = wrong })
    check_no_blob(t)
    for _, checksum in ipairs { "sha256", "sha256:" .. sources.hash(file) } do
      api:upload(path, file, options { chunk_size = chunk_size or nil, checksum = checksum })
      check_blob(t)
    end
  end)

  test(kind .. ": an upload through a relay continues after each reset", function(t)
    local child, relayed = sources.start_relay(origin, { 5000000, 9000000 })
    local result = client(relayed):upload(path, file, options { chunk_size = chunk_size or nil })
    t:equal(sources.stop_relay(child), 2)
    check_blob(t)
    -- The registry discards an upload whose request was interrupted.
    t:truthy(result.sent <= 3 * size, result.sent)
  end)

  test(kind .. ": a paused upload continues", function(t)
    local started <close> = api:start_upload(path, file, options { chunk_size = chunk_size or nil, max_rate = 30000000 })
    sources.wait_until_sent(started, 5000000)
    started:pause()
    nightjar.sleep(0.05)
    started:resume()
    started:wait()
    check_blob(t)
  end)

  test(kind .. ": a state continues the upload", function(t)
    local all = options { chunk_size = chunk_size or nil }
    all.max_rate = 30000000
    local started <close> = api:start_upload(path, file, all)
    sources.wait_until_sent(started, 5000000)
    started:cancel()
    t:raises("cancelled", started.wait, started)
    check_no_blob(t)
    all.max_rate, all.resume = nil, started:state()
    t:equal(type(all.resume), "string")
    local result = client(origin):upload(path, file, all)
    check_blob(t)
    t:truthy(result.resumed + result.sent >= size, result.sent)
  end)

  test(kind .. ": cancel { keep = false } removes the upload", function(t)
    local all = options { chunk_size = chunk_size or nil, max_rate = 30000000 }
    local started <close> = api:start_upload(path, file, all)
    sources.wait_until_sent(started, 5000000)
    local url = started.url
    started:cancel { keep = false }
    t:raises("cancelled", started.wait, started)
    if url then t:raises("not_found", api.get, api, url) end
  end)
end

test("another algorithm is an error", function(t)
  local ok, err = pcall(api.upload, api, path, file, options { checksum = "md5" })
  t:equal(ok, false)
  t:matches(tostring(err), "sha256")
end)

test("a login that the registry rejects is an error", function(t)
  local other = nightjar.client { base_url = origin }
  t:raises("unauthorized", other.upload, other, path, file, options())
end)

test("a name that the registry rejects is an error", function(t)
  local ok, err = pcall(api.upload, api, "/v2/UPPER/blobs/uploads/", file, options())
  t:equal(ok, false)
  t:truthy(err.status >= 400 and err.status < 500, err.status)
end)

assert(testing.run().ok, "a case failed")
