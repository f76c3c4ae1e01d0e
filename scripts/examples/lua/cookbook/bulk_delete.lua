-- Delete many things, after a preview
--
-- Without `--yes`, the script only prints the articles that it would delete. Articles that another program has deleted are not
-- failures, and one failure does not stop the other deletions.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

local function delete_unpublished(is_meant)
  -- The list is read completely first, because pages shift while their items are deleted.
  local articles = api:paginate("/articles", { query = { published = "false" } }):collect()
  if not is_meant then
    print(("would delete %d articles, the first is %q"):format(#articles, articles[1].title))
    return
  end
  local statuses, errors = nightjar.map(articles, function(article)
    return api:delete("/articles/" .. article.id, { expect = { 204, 404 } }).status
  end, { concurrency = 4, collect_errors = true })
  local failed = 0
  for place, article in ipairs(articles) do
    if statuses[place] == nil then
      failed = failed + 1
      print(article.id, errors[place])
    end
  end
  print(("deleted %d, %d failed"):format(#articles - failed, failed))
end

delete_unpublished(... == "--yes")
delete_unpublished(true)
print(api:get("/articles", { query = { published = "false" } }).json.total .. " are left")
-- Prints:
--   would delete 5 articles, the first is "..."
--   deleted 5, 0 failed
--   0 are left
