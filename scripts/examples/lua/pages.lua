-- Walks through lists that a server gives in pages.
--
--   nightjar scripts/examples/lua/pages.lua [origin]
local nightjar = require "nightjar"

local origin = ... or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

-- How the list goes on is found out from the first answer. The next page is loaded while this one is used.
local articles = api:paginate "/articles"
local count = 0
for article in articles do count = count + 1 end
print(("%d articles; %s"):format(count, articles.explanation))

-- Said rather than found out: nothing is left to chance. With a key nothing is given twice, whatever comes and goes meanwhile.
local options = {
  style = "cursor", items = "/results", next = "/next_cursor", key = "/id",
  query = { count = 1000, limit = 100, changes = "both" },
}
local seen = 0
for item in api:paginate("/lists/example/cursor", options) do seen = seen + 1 end
print(("%d items of a list that changes"):format(seen))

-- A page at a time.
for page in api:paginate("/lists/example/link", { query = { limit = 400 } }):pages() do
  print(("page %d: %d items"):format(page.number, #page.items))
end

-- A place is a string, for another run.
local list = api:paginate("/lists/other/cursor", { query = { count = 10, limit = 4 } })
local first = list:take(3)
local state = list:state()
local rest = api:paginate("/lists/other/cursor", { query = { count = 10, limit = 4 }, resume = state }):collect()
print(("%d items, and %d behind them"):format(#first, #rest))

-- An API of its own ways: a function says how it goes on.
local own = api:paginate("/lists/other/after", {
  items = "/data", query = { count = 10, limit = 4 },
  next = function(page)
    local answer = page.response.json
    if answer.has_more then return { query = { starting_after = page.items[#page.items].id } } end
  end,
})
print(#own:collect() .. " items by a function")
