-- Stay below a server's limit
--
-- A rate of the client's own lets calls wait in order instead of being refused. With `rate_limit = true` it goes by what the server
-- tells of its limit.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local limited = { query = { limit = 5, per = 0.2, group = "a" } }

-- Nothing is said: the sixth call is refused, and would be tried again after the time that the server asks for.
local hasty = nightjar.client { base_url = origin .. "/v1", retry = false }
local refused = 0
for _ = 1, 8 do
  local _, err = nightjar.try(hasty.get, hasty, "/limited", limited)
  if err and err.kind == "rate_limited" then refused = refused + 1 end
end
print(refused .. " were refused")
nightjar.sleep(0.25)

-- Four in 0.2 seconds.
local polite = nightjar.client { base_url = origin .. "/v1", retry = false, rate_limit = { requests = 4, per = 0.2, burst = 4 } }
limited.query.group = "b"
local answers = nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8 }, function() return polite:get("/limited", limited).status end)
print(#answers .. " were answered")
-- Prints:
--   3 were refused
--   8 were answered
