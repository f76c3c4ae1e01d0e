-- Fetch many things concurrently
--
-- `nightjar.map` runs a function for each item with bounded concurrency, and returns the results in order. The first
-- failure cancels the other calls and is raised.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

local ids = {}
for id = 1, 20 do ids[id] = id end

local in_flight, most = 0, 0
local articles = nightjar.map(ids, function(id)
  in_flight = in_flight + 1
  most = math.max(most, in_flight)
  local article = api:get("/articles/" .. id).json
  in_flight = in_flight - 1
  return article
end, { concurrency = 4 })
print(("%d articles, %d at a time; the last is %d"):format(#articles, most, articles[#articles].id))

-- Different things concurrently.
local users, comments = nightjar.all {
  function() return api:get("/users").json.total end,
  function() return api:get("/comments").json.total end,
}
print(("%d users, %d comments"):format(users, comments))

-- The first server that responds wins; the other calls are cancelled.
local mirrors = nightjar.client { base_url = origin }
print(nightjar.race {
  function() return mirrors:get("/v1/slow", { query = { ms = 5000 } }) and "the slow server" end,
  function() return mirrors:get("/v1/slow", { query = { ms = 10 } }) and "the fast server" end,
})
-- Prints:
--   20 articles, 4 at a time; the last is 20
--   8 users, 60 comments
--   the fast server
