-- Update without overwriting changes by others
--
-- The change carries the version that was read, in `If-Match`. A server with another version responds with 412, and the
-- change is repeated with the new version.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

local function update(path, change)
  for attempt = 1, 5 do
    local res = api:get(path)
    local updated = api:patch(path, {
      json = change(res.json), headers = { ["If-Match"] = res.headers.etag }, expect = { 200, 412 },
    })
    if updated.status == 200 then return updated.json, attempt end
  end
  error(path .. " changes faster than it can be changed")
end

local disturbed = false
local article, attempts = update("/articles/3", function(article)
  if not disturbed then -- another client is faster, once
    disturbed = true
    api:patch("/articles/3", { json = { summary = "By another client" } })
  end
  return { title = article.title .. ", again" }
end)
print(article.title:sub(-7), article.summary, attempts .. " attempts")
-- Prints:
--   , again	By another client	2 attempts
