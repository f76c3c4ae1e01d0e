-- News that can be read offline: cached responses are returned at once and revalidated in the background. Run the script, stop
-- the demo, and run the script again.
--
--   nightjar demo --port 8080                                     in one terminal
--   nightjar scripts/examples/lua/offline.lua [origin [folder]]   in another, twice
--
-- The origin may also be set in NIGHTJAR_DEMO_URL.
local nightjar = require "nightjar"

local origin, folder = ...
origin = origin or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
folder = folder or "/tmp/nightjar-offline"
local api <close> = nightjar.client {
  base_url = origin,
  timeout = { connect = 2, total = 10 },
  retry = false, -- retries are useless offline
  cache = { memory = "5MB", disk = "50MB", path = folder, policy = "offline_first" },
}

local sources = {
  network = "from the server", cache = "from the cache", stale = "from the cache, stale",
  revalidated = "from the cache, validated by the server",
}

-- A page that changes. A callback receives the fresh version in another task, and the script continues with the
-- cached version.
local function show(res) print(("%-42s %s"):format(res.json.title, sources[res.source])) end
local article = api:get("/v1/articles/1", {
  on_refresh = function(res, err)
    if err then print("  revalidating the article failed: " .. err.user_message)
    elseif res.source == "network" then print("  the article has changed: " .. res.json.title)
    else print "  the article has not changed" end
  end,
})
show(article)

-- A list that is fresh for a minute, and items that never change.
local news = api:get "/news"
print(("%-42s %s"):format("news", sources[news.source]))
for index = 1, 3 do show(api:get(news.json.results[index].url)) end

-- Waits for the fresh response.
local fresh, err = article:refreshed()
print(fresh and "the server is reachable" or err and "offline: " .. err.kind or "everything was fresh")

-- The content of the cache, for a program that checks it before going offline.
api.cache:flush()
local stats = api.cache:stats()
print(("%d hits, %d responses on disk"):format(stats.hits, stats.disk_entries))
assert(api.cache:get "/v1/articles/1", "it has been read, so it is cached")
assert(api.cache:get "/v1/articles/2" == nil, "it has not been read")
local never, miss = nightjar.try(api.get, api, "/v1/articles/2", { cache = "cache_only" })
print("an article that has not been read: " .. (never and "cached" or miss.kind))
