-- Synchronize one API with another
--
-- Items that are missing in the second API are created, changed items are updated, and removed items are deleted. A
-- second run changes nothing. Idempotency keys make it safe to retry a write whose response was lost.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local source = nightjar.client { base_url = origin .. "/v1/lists/stock" }
local target = nightjar.client { base_url = origin .. "/v1/articles" }

local function body_of(item) return "Number " .. item.id end

local function sync(count)
  local there = {}
  for article in target:paginate("", { query = { tag = "stock" } }) do there[article.title] = article end
  local done = { made = 0, changed = 0, deleted = 0 }
  for item in source:paginate("/cursor", { query = { count = count, limit = 4 } }) do
    local article = there[item.name]
    there[item.name] = nil
    if not article then
      local json = { title = item.name, body = body_of(item), author_id = 1, tags = { "stock" } }
      target:post("", { json = json, idempotency_key = true })
      done.made = done.made + 1
    elseif article.body ~= body_of(item) then
      target:patch("/" .. article.id, { json = { body = body_of(item) } })
      done.changed = done.changed + 1
    end
  end
  for _, article in pairs(there) do
    target:delete("/" .. article.id)
    done.deleted = done.deleted + 1
  end
  print(("made %d, changed %d, deleted %d"):format(done.made, done.changed, done.deleted))
end

sync(10)
sync(10)
source:delete ""
sync(7)
-- Prints:
--   made 10, changed 0, deleted 0
--   made 0, changed 0, deleted 0
--   made 0, changed 0, deleted 3
