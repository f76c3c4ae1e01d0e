-- Show the differences between two responses
--
-- Compares two versions, two servers, or the states before and after a change. Prints one difference per line, with its
-- JSON Pointer.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

local function shown(value) return value == nil and "nothing" or nightjar.json.encode(value) end

local function compare(old, new, path)
  if type(old) ~= "table" or type(new) ~= "table" then
    if old ~= new then print(("%s: %s -> %s"):format(path, shown(old), shown(new))) end
    return
  end
  local keys = {}
  for key in pairs(old) do keys[#keys + 1] = key end
  for key in pairs(new) do
    if old[key] == nil then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    local token = math.type(key) and key - 1 or key:gsub("~", "~0"):gsub("/", "~1")
    compare(old[key], new[key], path .. "/" .. token)
  end
end

local path = "/articles/2"
local before = api:get(path)
api:patch(path, { json = { title = "Another title", tags = { "new" }, summary = nightjar.null } })
local after = api:get(path)
compare(before.json, after.json, "")
print(before.headers.etag == after.headers.etag and "the same version" or "another version")
-- Prints:
--   /summary: "..." -> null
--   /tags/0: "swift" -> "new"
--   /title: "..." -> "Another title"
--   /updated_at: "..." -> "..."
--   another version
