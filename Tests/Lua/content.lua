-- Content of responses: text by charset, schemas, error messages of the server. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin }

testing.test("text is decoded by its charset", function(t)
  local common = "Naïve façade, Übergröße: ½ £, señor."
  local astral = "Naïve façade 🐦 Ελλάδα."
  t:equal(api:get("/text/latin1").text, common)
  t:equal(api:get("/text/windows-1252").text, "“Naïve” façade… costs 5 €—señor Žižka™.")
  for _, charset in ipairs { "utf-8", "utf-8-bom", "utf-16", "utf-16be-bom", "utf-16le", "utf-16be", "unknown" } do
    t:equal(api:get("/text/" .. charset, { query = { quoted = true } }).text, astral)
  end
  t:equal(api:get("/text/broken-utf-8").text, "Na\u{FFFD}(\u{FFFD}ve")
  t:equal(#api:get("/text/latin1").body, #common - 8) -- the bytes are unchanged
end)

-- The error for a response of /errors.
local function failure(shape)
  local _, err = nightjar.try(api.get, api, "/errors/" .. shape)
  return err
end

testing.test("the error message of the server is found in each common format", function(t)
  local err = failure "problem"
  t:equal(err.details.title, "The article is not valid.")
  t:equal(err.details.detail, "The title must not be empty.")
  t:equal(err.details.type, "https://api.example/problems/invalid")
  t:equal(err.details.code, nil)
  t:equal(#err.details.fields, 0)
  t:truthy(rawequal(err.details, err.details))
  -- The demo API sends the former phrase of 422. HTTP/2 has no phrases, and the message then has the registered one.
  local phrase = check.http_version == "1.1" and "Unprocessable Entity" or "Unprocessable Content"
  t:equal(err.message, "GET returned 422 " .. phrase .. ': "The article is not valid. The title must not be empty."')
  err = failure "errors-objects"
  t:equal(err.details.fields[1].name, "title")
  t:equal(err.details.fields[1].message, "The title must not be empty.")
  t:equal(err.details.fields[2].name, "body")
  t:equal(failure("error-object").details.code, "title_empty")
  t:equal(failure("error-text").details.message, "The title must not be empty.")
  t:equal(failure("html").details, nil)
  t:equal(failure("html").message, "GET returned 422 " .. phrase)
  local nobody = nightjar.client { base_url = "http://127.0.0.1:1" }
  local _, refused = nightjar.try(nobody.get, nobody, "/")
  t:equal(refused.details, nil)
end)

testing.test("a body that does not match the schema of the call is an error", function(t)
  local article = {
    type = "object",
    required = { "id", "title" },
    properties = { id = { type = "integer", minimum = 1 }, title = { type = "string" } },
  }
  t:equal(api:get("/v1/articles/1", { schema = article }).json.id, 1)
  local list = { type = "object", properties = { results = { type = "array", items = article } } }
  t:equal(#api:get("/v1/articles", { schema = list, query = { per_page = 2 } }).json.results, 2)
  article.properties.title.type = "integer"
  local err = check.fails("decoding",
    [[the JSON is not as expected: at "/results/0/title": expected an integer, found a string]],
    api.get, api, "/v1/articles", { schema = list })
  t:equal(err.status, 200)
  t:equal(err.retryable, false)
  t:equal(err.response.json.results[1].id ~= nil, true)
  t:equal(api:get("/status/204", { schema = article }).status, 204) -- an empty body is not validated
  t:equal(failure("problem").kind, "client")
  check.fails("not_found", [[GET returned 404 Not Found: "there is no article 999"]],
    api.get, api, "/v1/articles/999", { schema = article })
end)

testing.test("an invalid schema is reported as invalid use", function(t)
  for _, case in ipairs {
    { { type = "text" }, "schema" }, { { typ = "string" }, "typ" }, { "string", "schema" },
    { { pattern = "(" }, "pattern" },
  } do
    local ok, misuse = pcall(api.get, api, "/v1/articles", { schema = case[1] })
    t:equal(ok, false)
    t:truthy(tostring(misuse):find(case[2], 1, true), tostring(misuse))
  end
end)

testing.test("a streamed response cannot have a schema", function(t)
  local ok, streamed = pcall(api.get, api, "/v1/articles", { schema = {}, stream = true })
  t:equal(ok, false)
  t:equal(streamed.kind, "invalid_request")
end)

assert(testing.run().ok, "a case failed")
