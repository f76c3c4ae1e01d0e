-- News that can be read without the network: what has been read once is on disk, comes at once, and is fetched anew
-- meanwhile. Run it, stop the demo, and run it again.
--
--   nightjar demo --port 8080                                     in one terminal
--   nightjar scripts/examples/lua/offline.lua [origin [folder]]   in another, twice
--
-- The origin may also stand in NIGHTJAR_DEMO_URL.
local nightjar = require "nightjar"

local origin, folder = ...
origin = origin or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
folder = folder or "/tmp/nightjar-offline"
local api <close> = nightjar.client {
  base_url = origin,
  timeout = { connect = 2, total = 10 },
  retry = false, -- who is offline gains nothing by it
  cache = { memory = "5MB", disk = "50MB", path = folder, policy = "offline_first" },
}

local sources = {
  network = "from the server", cache = "from the cache", stale = "from the cache, and old",
  revalidated = "from the cache, and the server says that it holds",
}

-- A page that changes. Its fresh version comes to a function, as a child task, and the script goes on with the old one.
local function show(res) print(("%-42s %s"):format(res.json.title, sources[res.source])) end
local article = api:get("/v1/articles/1", {
  on_refresh = function(res, err)
    if err then print("  the article could not be fetched anew: " .. err.user_message)
    elseif res.source == "network" then print("  the article has changed: " .. res.json.title)
    else print "  the article is as it was" end
  end,
})
show(article)

-- A list that the server says to be good for a minute, and items that it says never to change.
local news = api:get "/news"
print(("%-42s %s"):format("news", sources[news.source]))
for index = 1, 3 do show(api:get(news.json.results[index].url)) end

-- Where the fresh one is worth waiting for, there is that.
local fresh, err = article:refreshed()
print(fresh and "the server is there" or err and "offline: " .. err.kind or "everything was new")

-- What is on disk, for a program that wants to know before it goes offline.
api.cache:flush()
local stats = api.cache:stats()
print(("%d hits, %d answers on disk"):format(stats.hits, stats.disk_entries))
assert(api.cache:get "/v1/articles/1", "it has been read, so it is there")
assert(api.cache:get "/v1/articles/2" == nil, "nobody has read it")
local never, miss = nightjar.try(api.get, api, "/v1/articles/2", { cache = "cache_only" })
print("an article that nobody has read: " .. (never and "there" or miss.kind))
