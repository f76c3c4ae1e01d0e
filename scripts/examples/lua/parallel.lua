-- Fetches many things with bounded concurrency.
--
--   nightjar scripts/examples/lua/parallel.lua [origin] [concurrency]
local nightjar = require "nightjar"

local origin = ... or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local concurrency = tonumber((select(2, ...))) or 8
local api = nightjar.client { base_url = origin .. "/v1" }

local total = api:get("/articles").json.total
local ids = {}
for id = 1, total do ids[id] = id end

-- The results are in the order of the list. The first failure cancels the other calls and is raised.
local articles = nightjar.map(ids, function(id)
  local res = api:get("/articles/" .. id)
  return { title = res.json.title, author = res.json.author_id, status = res.status, time = res.timing.total }
end, { concurrency = concurrency })

-- Each author is requested once, even if several articles name the author.
local names = {}
for _, article in ipairs(articles) do names[article.author] = true end
local authors = {}
for id in pairs(names) do authors[#authors + 1] = id end
table.sort(authors)
nightjar.map(authors, function(id) names[id] = api:get("/users/" .. id).json.name end, { concurrency = concurrency })

local slowest = 0
for _, article in ipairs(articles) do
  print(("%d  %-50s %s"):format(article.status, article.title, names[article.author]))
  slowest = math.max(slowest, article.time)
end
print(("%d articles and %d authors, %d at a time; the slowest response took %.1f ms"):format(
  #articles, #authors, concurrency, slowest * 1000))

-- The first mirror that responds wins; the other calls are cancelled.
local mirror = nightjar.client { base_url = origin }
local winner = nightjar.race {
  function() mirror:get "/delay/2" return "the slow mirror" end,
  function() mirror:get "/delay/0.05" return "the fast mirror" end,
}
print("The race went to " .. winner)
