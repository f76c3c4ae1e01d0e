-- A view of articles that stays current: a task shows each snapshot, while another one adds an article, searches, and
-- renames an article optimistically.
--
--   nightjar demo &
--   nightjar scripts/examples/lua/resource.lua
local nightjar = require "nightjar"
local url = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = url .. "/v1" }
local articles <close> = api:resource("/articles", {
  query = { per_page = 3 },
  debounce = 0.3,                                    -- for the search field
  keep_previous = true,
  reload_on = { "network", 60, "children" },         -- "children": PUT /articles/7 changes the list
})

-- Shows a snapshot: what a user interface draws.
local function draw(snapshot)
  local data = snapshot.data
  local first = data and data.results[1] and data.results[1].title or "nothing"
  local state = snapshot.mutation or snapshot.phase
  print(("%-8s %s%s"):format(state, first, snapshot.stale and " (may be out of date)" or ""))
  if snapshot.error then print("         " .. snapshot.error.message) end
end

local view = nightjar.spawn(function()
  for snapshot in articles:changes() do draw(snapshot) end
end)

articles:get()

-- A search field: only the last text is sent.
for _, text in ipairs { "p", "pa", "packets" } do articles:set_path("/articles", { query = { q = text, per_page = 3 } }) end
print("found: " .. articles:get().total)

-- The list shows the new title at once. The server's list follows.
local list = articles:get()
local renamed = nightjar.json.decode(nightjar.json.encode(list))
renamed.results[1].title = "A new title"
articles:mutate { method = "PATCH", path = "/articles/" .. list.results[1].id, json = { title = "A new title" },
                  optimistic = renamed }
articles:close()
view:join()
print("the view was closed")
