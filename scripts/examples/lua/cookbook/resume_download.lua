-- Go on with a download that broke off
--
-- What is there already is not asked for again: `Range` names where to go on, and `If-Range` the version that it
-- belongs to. A server whose file has changed sends all of it, with 200 in place of 206.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin, retry = false }

local path, file = os.tmpname(), nil
local have, version, requests = 0, nil, 0
local query = { length = 300000, etag = "strong", cut = 100000 } -- the demo breaks off after so many bytes

repeat
  local headers = version and { Range = ("bytes=%d-"):format(have), ["If-Range"] = version } or {}
  local res = api:get("/cache/film", { query = query, headers = headers, stream = true, expect = { 200, 206 } })
  requests = requests + 1
  if res.status == 200 then have = 0 end
  version = res.headers.etag
  file = assert(io.open(path, have > 0 and "ab" or "wb"))
  local ok, err = pcall(function()
    for part in res:chunks() do
      file:write(part)
      have = have + #part
    end
  end)
  file:close()
  if not ok and err.kind ~= "connection_lost" then error(err, 0) end
until ok or requests > 10

local whole = api:get("/cache/film", { query = { length = 300000, etag = "strong" } }).body
file = assert(io.open(path, "rb"))
local is_right = file:read "a" == whole
print(("%d bytes in %d requests, %s"):format(have, requests, is_right and "as they are on the server" or "broken"))
file:close()
os.remove(path)
-- Prints:
--   300000 bytes in ... requests, as they are on the server
