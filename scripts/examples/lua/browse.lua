-- Lists the articles in a terminal, and follows the changes: a line for each phase, and the list when it has changed.
--
--   nightjar demo &
--   nightjar scripts/examples/lua/browse.lua --interval 5 moonlight
local nightjar = require "nightjar"

local options = nightjar.args.parse {
  name = "browse.lua", summary = "Lists the articles of the demo API that contain a text, and follows their changes.",
  { "text", help = "a text in the title or summary", optional = true },
  { "-i", "--interval", "SECONDS", type = "number", help = "load the list again after this time", default = 30 },
  { "-u", "--updates", "N", type = "integer", help = "stop after N loads; without it, continue until Ctrl-C" },
}

local origin = nightjar.env.get("NIGHTJAR_DEMO_URL", "http://127.0.0.1:8080")
local api = nightjar.client { base_url = origin .. "/v1" }
local articles <close> = api:resource("/articles", {
  query = { q = options.text, per_page = 50 },
  reload_on = { "network", "children", options.interval },
})

local shown, updates = nil, 0

-- Prints the list unless it is the one on the screen.
local function list(data)
  local text = nightjar.json.encode(data.results)
  if text == shown then return end
  shown = text
  for _, article in ipairs(data.results) do print(("%5d  %s"):format(article.id, article.title)) end
end

for snapshot in articles:changes() do
  local data, err = snapshot.data, snapshot.error
  print(("%-8s %s%s"):format(snapshot.phase, data and data.total .. " articles" or "no data",
                             snapshot.stale and " (may be out of date)" or ""))
  if err then print("         " .. err.user_message) end
  if snapshot.phase == "loaded" or snapshot.phase == "failed" then
    if data then list(data) end
    updates = updates + 1
    if updates == options.updates then break end            -- the end of the loop cancels a load in progress
  end
end
