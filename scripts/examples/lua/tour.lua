-- A tour of Nightjar with its demo API.
--
--   nightjar demo --port 8080                          in one terminal
--   nightjar scripts/examples/lua/tour.lua [origin]    in another
--
-- The origin may also be set in NIGHTJAR_DEMO_URL.
local nightjar = require "nightjar"

local origin = ... or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1", timeout = { connect = 2, total = 20 } }

-- A call waits for its response while other tasks run. It returns the response or raises an error.
local res = api:get("/articles", { query = { per_page = 3, sort = "-created_at" } })
print(("There are %d articles; the newest (%s, %d bytes, %.1f ms):"):format(
  res.json.total, res.headers.content_type, #res.body, res.timing.total * 1000))
for _, article in ipairs(res.json.results) do
  print(("  %2d  %s  [%s]"):format(article.id, article.title, table.concat(article.tags, ", ")))
end

-- Writing. The key makes it safe to retry the request if the response is lost.
local made = api:post("/articles", {
  json = { title = "A night at the terminal", body = "It began with a GET.", author_id = 1, tags = { "lua" } },
  idempotency_key = true,
})
local path = "/articles/" .. made.json.id
print(("\nCreated article %d at %s"):format(made.json.id, made.headers.location))

-- JSON null is nightjar.null, because a table cannot contain nil.
local changed = api:patch(path, { json = { title = "Two nights at the terminal", summary = nightjar.null } }).json
print(("Changed its title to %q; its summary is %s"):format(changed.title, changed.summary))

api:post(path .. "/comments", { json = { author_id = 2, body = "And then?" } })
print(("It has %d comment"):format(api:get(path .. "/comments").json.total))

print(("Deleted it: %d"):format(api:delete(path).status))

-- A failure raises an error object.
local ok, err = pcall(api.get, api, path)
assert(not ok)
print(("\nReading it again fails, as it should:\n  kind     %s\n  message  %s\n  detail   %s\n  for the user: %s"):format(
  err.kind, err.message, err.response.json.detail, err.user_message))

-- nightjar.try returns the error instead.
local article, why = nightjar.try(api.get, api, "/articles/none")
print(("Without pcall: %s, %s"):format(article, why.kind))

-- With expect, a call accepts the status as a response.
local missing = api:get(path, { expect = { 200, 404 } })
print(("Expected: %d"):format(missing.status))

-- Two calls concurrently.
local authors, comments = nightjar.all {
  function() return api:get("/users", { query = { per_page = 100 } }).json.total end,
  function() return api:get("/comments", { query = { per_page = 1 } }).json.total end,
}
print(("\n%d users wrote %d comments"):format(authors, comments))

-- Iterators may wait, too: this one reads page after page.
local function every(path)
  return coroutine.wrap(function()
    local page = 1
    repeat
      local json = api:get(path, { query = { page = page } }).json
      for _, item in ipairs(json.results) do coroutine.yield(item) end
      page = page + 1
    until page > json.total_pages
  end)
end
local longest = { title = "" }
for article in every "/articles" do
  if #article.title > #longest.title then longest = article end
end
print(("The longest title: %s"):format(longest.title))

-- A timeout for several calls.
local slow = nightjar.client { base_url = origin }
local late, timeout = nightjar.try(nightjar.timeout, 0.2, function() return slow:get "/delay/5" end)
print(("After 0.2 s: %s, %s"):format(late, timeout.kind))
