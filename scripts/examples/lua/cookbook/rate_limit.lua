-- Respect a server's rate limit
--
-- With a rate limit of the client, calls wait in order instead of being rejected by the server. `rate_limit = true`
-- follows the server's rate limit fields.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local limited = { query = { limit = 5, per = 0.2, group = "a" } }

-- Without a rate limit the sixth call is rejected with 429, and the error contains the time to wait.
local hasty = nightjar.client { base_url = origin .. "/v1", retry = false }
local _, err = nightjar.try(function()
  for _ = 1, 6 do hasty:get("/limited", limited) end
end)
print(err.kind, err.status, err.retry_after and "with a time to wait")

-- Four calls in 0.3 seconds; further calls wait.
local rate = { requests = 4, per = 0.3, burst = 4 }
local polite = nightjar.client { base_url = origin .. "/v1", retry = false, rate_limit = rate }
limited.query.group = "b"
local statuses = nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8 }, function() return polite:get("/limited", limited).status end)
print(#statuses .. " responses")
-- Prints:
--   rate_limited	429	with a time to wait
--   8 responses
