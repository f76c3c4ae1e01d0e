-- Read cached responses while the server is unreachable
--
-- With the policy `offline_first`, cached responses are returned at once and revalidated in the background if they are
-- stale. Calls with a cached response succeed during an outage. `cache_only` never sends a request.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client {
  base_url = origin, cache = { memory = "5MB", policy = "offline_first" }, retry = false,
}

print(api:get("/v1/articles/1").source)
local again = api:get "/v1/articles/1"
print(again.source)
local fresh = again:refreshed()
print(fresh and fresh.status)

-- The server is down: every call fails.
local control = nightjar.client { base_url = origin }
control:post("/__control", { json = { outage = "503" } })
local stored = api:get "/v1/articles/1"
print(stored.status, stored.source)
local _, err = nightjar.try(api.get, api, "/v1/articles/2", { cache = "cache_only" })
print(err.kind)
control:post("/__control", { json = { outage = "none" } })
-- Prints:
--   network
--   cache
--   200
--   200	cache
--   cache_miss
