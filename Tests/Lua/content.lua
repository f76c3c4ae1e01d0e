-- What answers say: text by charset, schemas, the server's words on errors. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, fails = check.equal, check.fails

local origin = DEMO or os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin }

-- Text.
local common = "Naïve façade, Übergröße: ½ £, señor."
local astral = "Naïve façade 🐦 Ελλάδα."
equal(api:get("/text/latin1").text, common)
equal(api:get("/text/windows-1252").text, "“Naïve” façade… costs 5 €—señor Žižka™.")
for _, charset in ipairs { "utf-8", "utf-8-bom", "utf-16", "utf-16be-bom", "utf-16le", "utf-16be", "unknown" } do
  equal(api:get("/text/" .. charset, { query = { quoted = true } }).text, astral)
end
equal(api:get("/text/broken-utf-8").text, "Na\u{FFFD}(\u{FFFD}ve")
equal(#api:get("/text/latin1").body, #common - 8) -- the bytes stay as they came

-- What the server says about an error.
local function failure(shape)
  local _, err = nightjar.try(api.get, api, "/errors/" .. shape)
  return err
end
local err = failure "problem"
equal(err.details.title, "The article is not valid.")
equal(err.details.detail, "The title must not be empty.")
equal(err.details.type, "https://api.example/problems/invalid")
equal(err.details.code, nil)
equal(#err.details.fields, 0)
equal(err.details, err.details)
equal(
  err.message,
  [[GET returned 422 Unprocessable Entity: "The article is not valid. The title must not be empty."]])
err = failure "errors-objects"
equal(err.details.fields[1].name, "title")
equal(err.details.fields[1].message, "The title must not be empty.")
equal(err.details.fields[2].name, "body")
equal(failure("error-object").details.code, "title_empty")
equal(failure("error-text").details.message, "The title must not be empty.")
equal(failure("html").details, nil)
equal(failure("html").message, "GET returned 422 Unprocessable Entity")
local nobody = nightjar.client { base_url = "http://127.0.0.1:1" }
local _, refused = nightjar.try(nobody.get, nobody, "/")
equal(refused.details, nil)

-- Schemas.
local article = {
  type = "object",
  required = { "id", "title" },
  properties = { id = { type = "integer", minimum = 1 }, title = { type = "string" } },
}
equal(api:get("/v1/articles/1", { schema = article }).json.id, 1)
local list = { type = "object", properties = { results = { type = "array", items = article } } }
equal(#api:get("/v1/articles", { schema = list, query = { per_page = 2 } }).json.results, 2)
article.properties.title.type = "integer"
err = fails(
  "decoding", [[the JSON is not as expected: at "/results/0/title": expected an integer, found a string]],
  api.get, api, "/v1/articles", { schema = list })
equal(err.status, 200)
equal(err.retryable, false)
equal(err.response.json.results[1].id ~= nil, true)
equal(api:get("/status/204", { schema = article }).status, 204) -- no content is no mismatch
equal(failure("problem").kind, "client")
fails("not_found", [[GET returned 404 Not Found: "there is no article 999"]], api.get, api, "/v1/articles/999", { schema = article })

-- A schema that is none is misuse.
for _, case in ipairs {
  { { type = "text" }, "schema" }, { { typ = "string" }, "typ" }, { "string", "schema" }, { { pattern = "(" }, "pattern" },
} do
  local ok, misuse = pcall(api.get, api, "/v1/articles", { schema = case[1] })
  equal(ok, false)
  assert(tostring(misuse):find(case[2], 1, true), tostring(misuse))
end
local ok, streamed = pcall(api.get, api, "/v1/articles", { schema = {}, stream = true })
equal(ok, false)
equal(streamed.kind, "invalid_request")
