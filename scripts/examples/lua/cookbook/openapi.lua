-- Call an API by its OpenAPI document
--
-- The document defines names, parameters and bodies. Invalid arguments are rejected before anything is sent.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin }
api:load_openapi(origin .. "/openapi.json")
print(#api.endpoints > 30 and "many endpoints")

print(api.endpoints.get_article { id = 1 }.json.title)
for user in api.endpoints.list_users:paginate { q = "ada" } do print(user.handle) end
local made = api.endpoints.create_article { json = { title = "By its name", body = "Hello.", author_id = 1 } }
print(made.status, made.json.title)

for _, mistake in ipairs {
  function() api.endpoints.get_articel { id = 1 } end,
  function() api.endpoints.get_article { id = "first" } end,
  function() api.endpoints.create_article { json = { body = "No title" } } end,
} do
  local _, err = nightjar.try(mistake)
  print((tostring(type(err) == "string" and err or err.message):gsub("^.-:%d+: ", "")))
end
-- Prints:
--   many endpoints
--   The bird that flies by moonlight
--   ada
--   201	By its name
--   ...get_article...
--   ...
--   ...
