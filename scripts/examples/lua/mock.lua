-- Tests of a script without a network: nightjar scripts/examples/lua/mock.lua
local nightjar = require "nightjar"
local testing = require "nightjar.testing"

-- The code under test: adds an article unless one with that title exists.
local function add_once(api, title)
  for _, article in ipairs(api:get("/articles", { query = { q = title } }).json.results) do
    if article.title == title then return article.id, false end
  end
  return api:post("/articles", { json = { title = title }, idempotency_key = true }).json.id, true
end

local function api_with(mock, options)
  options = options or {}
  options.base_url, options.mock = "http://api.example/v1", mock
  options.retry = { base = 0.01 }
  return nightjar.client(options)
end

testing.test("creates a missing article", function(t)
  local mock = nightjar.mock {
    { name = "search", method = "GET", path = "/articles", response = { json = { results = nightjar.array {} } } },
    { name = "make", method = "POST", path = "/articles", headers = { ["Idempotency-Key"] = true },
      response = function(request) return { status = 201, json = { id = 7, title = request.json.title } } end },
  }
  local id, is_new = add_once(api_with(mock), "Hello")
  t:equal({ id, is_new }, { 7, true })
  t:equal(mock:calls("make")[1].json, { title = "Hello" })
  mock:verify()
end)

testing.test("creates it once if the first response is lost", function(t)
  local keys = {}
  local mock = nightjar.mock {
    { method = "GET", path = "/articles", response = { json = { results = nightjar.array {} } } },
    { name = "make", method = "POST", path = "/articles", response = function(request)
      keys[#keys + 1] = request.headers["idempotency-key"]
      if #keys == 1 then return { fault = "connection_lost" } end
      return { status = 201, json = { id = 7 } }
    end },
  }
  t:equal(add_once(api_with(mock), "Hello"), 7)
  t:equal(mock:uses "make", 2)
  t:equal(keys[1], keys[2])
end)

testing.test("reports a server that is down, over a slow network", function(t)
  local api = api_with({ { responses = { 503 } } }, { network = { profile = "edge", latency = 0.01 } })
  local err = t:raises("server", add_once, api, "Hello")
  t:equal(err.attempts, 3)
end)

os.exit(testing.run().exit)
