-- Content codings: compressed bodies are decompressed, and a damaged body is an error instead of a truncated body.
local nightjar = require "nightjar"
local check = require "check"
local api <close> = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", max_body = "64MB" }

local plain = api:get("/encoded/identity", { query = { bytes = 300000 } }).body
check.equal(#plain, 300000)
for _, coding in ipairs { "gzip", "deflate", "deflate-raw", "br", "zstd", "gzip+br" } do
  check.equal(api:get("/encoded/" .. coding, { query = { bytes = 300000 } }).body, plain)
  local parts = {}
  for part in api:get("/encoded/" .. coding, { query = { bytes = 300000 }, stream = true }):chunks() do
    parts[#parts + 1] = part
  end
  check.equal(table.concat(parts), plain)
end

-- Without decompression on request.
local raw = api:get("/encoded/gzip", { query = { bytes = 300000 }, decompress = false })
check.equal(raw.body:sub(1, 2), "\x1f\x8b")
check.equal(raw.headers.content_encoding, "gzip")

for _, coding in ipairs { "gzip", "deflate", "br", "zstd" } do
  for _, harm in ipairs { "broken", "truncated" } do
    local _, err = nightjar.try(api.get, api, "/encoded/" .. harm, { query = { coding = coding } })
    check.equal(err and err.kind, "decoding")
  end
  check.equal(api:get("/encoded/empty", { query = { coding = coding } }).body, "")
end
local _, err = nightjar.try(api.get, api, "/encoded/bomb", { query = { bytes = 10 << 30 } })
check.equal(err.kind, "too_large")
check.equal(api:get("/encoded/unknown").status, 200)
