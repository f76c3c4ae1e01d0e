-- Test a script without a network
--
-- A mock replaces the network: its responses are retried, followed and cached like those of a server. A test fails if
-- it leaves tasks running or sends a request that matches no route. `nightjar test FILES` runs such tests, too.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"

-- The code under test.
local function titles(api)
  local list = {}
  for article in api:paginate "/articles" do list[#list + 1] = article.title end
  return list
end

testing.test("reads all pages and retries a failed one", function(t)
  local mock = nightjar.mock {
    { name = "first", path = "/articles", query = { page = "2" }, responses = {
      { fault = "connection_lost" },
      { json = { results = { { id = 3, title = "c" } }, page = 2, total_pages = 2, total = 3 } },
    } },
    { name = "rest", path = "/articles", response = {
      json = { results = { { id = 1, title = "a" }, { id = 2, title = "b" } }, page = 1, total_pages = 2, total = 3 },
    } },
  }
  local api = nightjar.client { base_url = "http://api.example/v1", mock = mock, retry = { base = 0.01 } }
  t:equal(titles(api), { "a", "b", "c" })
  t:equal(mock:uses "first", 2)
  mock:verify()
end)

testing.test("reports an unreachable server", function(t)
  local api = nightjar.client { base_url = "http://api.example/v1", network = "offline", mock = { { response = 200 } } }
  t:raises("offline", titles, api)
end)

local result = testing.run { format = "tap" }
print(result.passed .. " passed, " .. result.failed .. " failed")
-- Prints:
--   ...
--   2 passed, 0 failed
