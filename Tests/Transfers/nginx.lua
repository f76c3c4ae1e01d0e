-- Downloads with ranges from nginx. Run by Tests/Transfers/nginx:
--
--   nightjar nginx.lua
--
-- NIGHTJAR_HTTP_URL and NIGHTJAR_HTTPS_URL are the origins of the server, NIGHTJAR_WWW is its folder, and NIGHTJAR_CA_FILE is
-- the certificate authority.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local files = require "files"
local fs, test = nightjar.fs, testing.test

local www = os.getenv "NIGHTJAR_WWW"
local tls = { ca_file = os.getenv "NIGHTJAR_CA_FILE" }
local origins = { http = os.getenv "NIGHTJAR_HTTP_URL", https = os.getenv "NIGHTJAR_HTTPS_URL" }

-- A file whose blocks all differ.
local name, size = "large.bin", 24 * 1000 * 1000 + 7
local function write(path, seed)
  local file = assert(io.open(path, "wb"))
  local left = size
  for number = 1, math.huge do
    local block = nightjar.hash.sha256(seed .. number, "bytes"):rep(1024):sub(1, left)
    file:write(block)
    left = left - #block
    if left == 0 then break end
  end
  file:close()
end
write(www .. "/" .. name, "first")
local expected = files.hash(www .. "/" .. name)

local folder, target
testing.before(function()
  folder = fs.temp_dir { prefix = "nginx-" }
  target = folder.path .. "/" .. name
end)
testing.after(function() folder:remove() end)

-- Downloads until `bytes` bytes have arrived, and then stops. Returns the number of bytes that were received.
local function stop_at(api, bytes, options)
  options = options or {}
  options.on_progress = function(progress, download)
    if progress.received >= bytes then download:cancel() end
  end
  options.max_rate = options.max_rate or 20000000
  local download = api:start_download("/" .. name, target, options)
  local ok, err = pcall(download.wait, download)
  assert(not ok and err.kind == "cancelled", tostring(err))
  return download.progress.received, download:state()
end

for scheme, origin in pairs(origins) do
  local api = nightjar.client { base_url = origin, tls = tls }

  test("a file is downloaded over " .. scheme, function(t)
    local download = api:download("/" .. name, target)
    t:equal(files.hash(target), expected)
    t:equal(download.size, size)
    t:equal(download.received, size)
    t:equal(download.attempts, 1)
  end)

  for _, connections in ipairs { 2, 8 } do
    test(("a file is downloaded with %d connections over %s"):format(connections, scheme), function(t)
      local download = api:download("/" .. name, target, { connections = connections })
      t:equal(files.hash(target), expected)
      t:equal(download.received, size)
      t:truthy(download.attempts > 1, download.attempts)
    end)
  end

  test("a download continues where it was cancelled over " .. scheme, function(t)
    local received = stop_at(api, 5000000)
    t:equal(fs.exists(target), false)
    local download = api:download("/" .. name, target)
    t:equal(files.hash(target), expected)
    t:equal(download.resumed + download.received, size)
    t:truthy(download.resumed >= received, download.resumed)
  end)

  test("a download with several connections continues where it was cancelled over " .. scheme, function(t)
    stop_at(api, 5000000, { connections = 4 })
    local download = api:download("/" .. name, target, { connections = 3 })
    t:equal(files.hash(target), expected)
    t:equal(download.resumed + download.received, size)
    t:truthy(download.resumed >= 5000000, download.resumed)
  end)

  test("a download continues with its state over " .. scheme, function(t)
    local _, state = stop_at(api, 5000000)
    local download = api:download("/" .. name, target, { resume = state })
    t:equal(files.hash(target), expected)
    t:truthy(download.resumed >= 5000000, download.resumed)
  end)
end

local api = nightjar.client { base_url = origins.http }

test("only the bytes that the part lacks are requested", function(t)
  local fetched = stop_at(api, size - 5000000)
  t:truthy(fetched < size, fetched)
  local download = api:download("/" .. name, target)
  t:equal(files.hash(target), expected)
  t:truthy(download.received <= size - fetched, download.received)
end)

test("a file that has changed on the server starts over", function(t)
  stop_at(api, 5000000)
  write(www .. "/" .. name, "second")
  local changed = files.hash(www .. "/" .. name)
  local download = api:download("/" .. name, target)
  t:equal(files.hash(target), changed)
  t:equal(download.resumed, 0)
  write(www .. "/" .. name, "first")
end)

test("a file that was truncated on the server starts over", function(t)
  stop_at(api, 5000000)
  fs.write(www .. "/" .. name, "short")
  local download = api:download("/" .. name, target)
  t:equal(fs.read(target), "short")
  t:equal(download.size, 5)
  write(www .. "/" .. name, "first")
end)

test("a missing file is an error", function(t)
  local ok, err = pcall(api.download, api, "/missing", target)
  t:equal(ok, false)
  t:equal(err.kind, "not_found")
  t:equal(files.names(folder.path), "")
end)

assert(testing.run().ok, "a case failed")
