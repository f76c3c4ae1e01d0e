-- Export a list to CSV
--
-- The list comes in pages; how it goes on is found out. A row is written as soon as its item is there, so the list may
-- be longer than memory. `safe` keeps a spreadsheet from computing what it finds in a title.
local nightjar = require "nightjar"
local csv, time = nightjar.csv, nightjar.time

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

local path = ... or os.tmpname()
local file = assert(io.open(path, "wb"))
local put = csv.writer(function(text) file:write(text) end, { columns = { "id", "title", "tags", "day" }, safe = true })
for article in api:paginate("/articles", { query = { sort = "title", published = "true" } }) do
  put {
    id = article.id, title = article.title, tags = table.concat(article.tags, " "),
    day = time.format(time.parse(article.created_at)):sub(1, 10),
  }
end
file:close()

-- And back: a record a row, by the names of the first.
local count, latest = 0, ""
for row in csv.rows(io.lines(path), { header = true, lines = true }) do
  count = count + 1
  if row.day > latest then latest = row.day end
end
print(("%d articles, the latest of %s"):format(count, latest))
-- Prints:
--   ... articles, the latest of 2026-...
