-- Describes an API once and calls it by name. Arguments are validated before anything is sent.
--
--   nightjar demo --port 8080                            in one terminal
--   nightjar scripts/examples/lua/endpoints.lua [origin] in another
--
-- The origin may also be set in NIGHTJAR_DEMO_URL.
local nightjar = require "nightjar"

local origin = ... or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api <close> = nightjar.client {
  base_url = origin .. "/v1",
  response_validation = "error",
  endpoints = {
    article = {
      path = "/articles/{id}",
      summary = "One article",
      parameters = { id = { type = "integer", minimum = 1 } },
      response = { type = "object", required = { "id", "title" } },
    },
    create_article = {
      method = "POST",
      path = "/articles",
      summary = "Writes an article",
      body = {
        type = "object",
        required = { "title" },
        properties = { title = { type = "string", minLength = 1 }, body = { type = "string" } },
      },
    },
  },
}

-- List the endpoints.
for _, endpoint in pairs(api.endpoints) do print(endpoint, "\n") end

print("read: " .. api.endpoints.article { id = 1 }.json.title)

-- Errors name the endpoint and the parameter, and nothing is sent.
for _, mistake in ipairs {
  function() return api.endpoints.artcle end,
  function() return api.endpoints.article { id = "first" } end,
  function() return api.endpoints.article { idd = 1 } end,
  function() return api.endpoints.create_article { json = { titel = "Hello" } } end,
} do
  local _, err = nightjar.try(mistake)
  print("refused: " .. err.message)
end
