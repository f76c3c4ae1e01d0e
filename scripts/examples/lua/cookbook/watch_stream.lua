-- Process a stream as it arrives
--
-- The body is read in parts; a slow reader slows the server down instead of filling memory. `<close>` cancels the rest
-- of the response.
local nightjar = require "nightjar"
local hash = nightjar.hash

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin }

-- Read the response to its end and compute a digest, without storing the data.
local digest, bytes = hash.new "sha256", 0
local res = api:get("/stream/100000", {
  query = { chunk = 10000, delay = 0.005 }, stream = true, timeout = { total = 3600 },
})
for part in res:chunks() do
  digest:update(part)
  bytes = bytes + #part
end
print(("%d bytes, SHA-256 %s..."):format(bytes, digest:finish():sub(1, 8)))

-- Read the beginning of an endless response.
local seen = 0
do
  local endless <close> = api:get("/stream/100000000", { stream = true })
  for part in endless:chunks() do
    seen = seen + #part
    if seen >= 50000 then break end
  end
end
print(seen >= 50000 and seen < 100000000 and "cancelled in the middle")
-- Prints:
--   100000 bytes, SHA-256 ...
--   cancelled in the middle
