-- Resume an interrupted download
--
-- `Range` requests the missing bytes, and `If-Range` names the version of the first part. Only a strong `ETag`
-- identifies the exact bytes: without a strong `ETag`, the download starts again. If the file has changed, the server
-- sends the whole file with status 200. `Content-Range` is the position of a 206 response; a part from another
-- position must not be appended. The file is complete when its size equals that of `Content-Range` or `Content-Length`.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin, retry = false }

-- Downloads to a file with at most 10 requests. Returns the number of bytes and of requests.
local function download(path, query)
  local have, total, version = 0, nil, nil
  for requests = 1, 10 do
    local headers = version and have > 0 and { Range = ("bytes=%d-"):format(have), ["If-Range"] = version } or {}
    local res = api:get("/cache/film", { query = query, headers = headers, stream = true, expect = { 200, 206 } })
    if res.status == 206 then
      local first, size = (res.headers["content-range"] or ""):match "^bytes (%d+)%-%d+/(%d+)$"
      if tonumber(first) ~= have or total and tonumber(size) ~= total then
        res:close()
        error(("the server sent another part of the file: %s"):format(res.headers["content-range"] or "no Content-Range"))
      end
      total = tonumber(size)
    else
      have, total = 0, tonumber(res.headers["content-length"])
      local tag = res.headers.etag
      version = tag and tag:sub(1, 1) == '"' and tag or nil
    end
    local file = assert(io.open(path, have > 0 and "ab" or "wb"))
    local ok, err = pcall(function()
      for part in res:chunks() do
        assert(file:write(part))
        have = have + #part
      end
    end)
    assert(file:close())
    if ok and (not total or have == total) then return have, requests end
    if not ok and err.kind ~= "connection_lost" then error(err, 0) end
  end
  error "the download was interrupted too often"
end

local path = os.tmpname()
-- The demo closes the connection after 100,000 bytes of each response.
local bytes, requests = download(path, { length = 300000, etag = "strong", cut = 100000 })
local whole = api:get("/cache/film", { query = { length = 300000, etag = "strong" } }).body
local file <close> = assert(io.open(path, "rb"))
local is_right = file:read "a" == whole
print(("%d bytes in %d requests, %s"):format(bytes, requests, is_right and "as on the server" or "broken"))
os.remove(path)
-- Prints:
--   300000 bytes in ... requests, as on the server
