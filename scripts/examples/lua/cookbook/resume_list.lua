-- Resume a long list in another run
--
-- The position in a list is a text. If a run saves the position in a file, the next run continues there, and each item is
-- returned once.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }
local fs = nightjar.fs
local file <close> = fs.temp_file()

-- Reads at most `most` items, starting after the last item of the previous run.
local function run(most)
  local state = fs.read(file.path)
  local list = api:paginate("/lists/long/cursor", {
    query = { count = 25, limit = 10 }, key = "/id", resume = state ~= "" and state or nil,
  })
  local items = list:take(most)
  fs.write(file.path, list:state())
  return items
end

local seen = 0
repeat
  local items = run(9)
  seen = seen + #items
  print(#items, #items > 0 and items[1].name .. " to " .. items[#items].name or "the end")
until #items == 0
print(seen .. " items")
-- Prints:
--   9	Item 1 to Item 9
--   9	Item 10 to Item 18
--   7	Item 19 to Item 25
--   0	the end
--   25 items
