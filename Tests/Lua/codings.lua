-- Content codings of response bodies. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local api <close> = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", max_body = "64MB" }

testing.test("bodies in each coding are decompressed, whole and streamed", function(t)
  local plain = api:get("/encoded/identity", { query = { bytes = 300000 } }).body
  t:equal(#plain, 300000)
  for _, coding in ipairs { "gzip", "deflate", "deflate-raw", "br", "zstd", "gzip+br" } do
    t:equal(api:get("/encoded/" .. coding, { query = { bytes = 300000 } }).body, plain)
    local parts = {}
    for part in api:get("/encoded/" .. coding, { query = { bytes = 300000 }, stream = true }):chunks() do
      parts[#parts + 1] = part
    end
    t:equal(table.concat(parts), plain)
  end
end)

testing.test("decompression can be turned off for a call", function(t)
  local raw = api:get("/encoded/gzip", { query = { bytes = 300000 }, decompress = false })
  t:equal(raw.body:sub(1, 2), "\x1f\x8b")
  t:equal(raw.headers.content_encoding, "gzip")
end)

testing.test("a damaged body is an error, not a truncated body; an empty body is no error", function(t)
  for _, coding in ipairs { "gzip", "deflate", "br", "zstd" } do
    for _, harm in ipairs { "broken", "truncated" } do
      local _, err = nightjar.try(api.get, api, "/encoded/" .. harm, { query = { coding = coding } })
      t:equal(err and err.kind, "decoding")
    end
    t:equal(api:get("/encoded/empty", { query = { coding = coding } }).body, "")
  end
end)

testing.test("a body that expands beyond max_body fails", function(t)
  local _, err = nightjar.try(api.get, api, "/encoded/bomb", { query = { bytes = 10 << 30 } })
  t:equal(err.kind, "too_large")
end)

testing.test("a body in an unknown coding is returned", function(t)
  t:equal(api:get("/encoded/unknown").status, 200)
end)

assert(testing.run().ok, "a case failed")
