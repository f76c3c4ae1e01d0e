-- Export a list to CSV
--
-- The list is paginated; its style is detected. Each row is written as soon as its item arrives, so the list may be
-- larger than memory. `safe` prevents a spreadsheet from evaluating formulas in the data.
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

-- Read the file back: one record per row, keyed by the header.
local count, latest = 0, ""
for row in csv.rows(io.lines(path), { header = true, lines = true }) do
  count = count + 1
  if row.day > latest then latest = row.day end
end
print(("%d articles, the latest of %s"):format(count, latest))
-- Prints:
--   ... articles, the latest of 2026-...
