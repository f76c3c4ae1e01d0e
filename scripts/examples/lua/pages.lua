-- Reads paginated lists.
--
--   nightjar scripts/examples/lua/pages.lua [origin]
local nightjar = require "nightjar"

local origin = ... or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

-- The pagination style is detected from the first response. The next page is prefetched while the current page is used.
local articles = api:paginate "/articles"
local count = 0
for article in articles do count = count + 1 end
print(("%d articles; %s"):format(count, articles.explanation))

-- An explicit style, without detection. With a key no item is returned twice, even if the list changes meanwhile.
local options = {
  style = "cursor", items = "/results", next = "/next_cursor", key = "/id",
  query = { count = 1000, limit = 100, changes = "both" },
}
local seen = 0
for item in api:paginate("/lists/example/cursor", options) do seen = seen + 1 end
print(("%d items of a changing list"):format(seen))

-- Page by page.
for page in api:paginate("/lists/example/link", { query = { limit = 400 } }):pages() do
  print(("page %d: %d items"):format(page.number, #page.items))
end

-- A position is a string, for another run.
local list = api:paginate("/lists/other/cursor", { query = { count = 10, limit = 4 } })
local first = list:take(3)
local state = list:state()
local rest = api:paginate("/lists/other/cursor", { query = { count = 10, limit = 4 }, resume = state }):collect()
print(("%d items, then %d more"):format(#first, #rest))

-- A custom style: a function returns the next page.
local own = api:paginate("/lists/other/after", {
  items = "/data", query = { count = 10, limit = 4 },
  next = function(page)
    local body = page.response.json
    if body.has_more then return { query = { starting_after = page.items[#page.items].id } } end
  end,
})
print(#own:collect() .. " items with a custom function")
