-- Test a script without a network
--
-- A mock stands where the network is: what it answers is retried, followed and cached as a server's answers are. A test
-- that leaves tasks behind, or asks what no route fits, fails. `nightjar test FILES` runs such tests, too.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"

-- What is tested.
local function titles(api)
  local list = {}
  for article in api:paginate "/articles" do list[#list + 1] = article.title end
  return list
end

testing.test("reads all pages, and one again that failed", function(t)
  local mock = nightjar.mock {
    { name = "first", path = "/articles", query = { page = "2" }, answers = {
      { fault = "connection_lost" },
      { json = { results = { { id = 3, title = "c" } }, page = 2, total_pages = 2, total = 3 } },
    } },
    { name = "rest", path = "/articles", answer = {
      json = { results = { { id = 1, title = "a" }, { id = 2, title = "b" } }, page = 1, total_pages = 2, total = 3 },
    } },
  }
  local api = nightjar.client { base_url = "http://api.example/v1", mock = mock, retry = { base = 0.01 } }
  t:equal(titles(api), { "a", "b", "c" })
  t:equal(mock:uses "first", 2)
  mock:verify()
end)

testing.test("says that nobody is there", function(t)
  local api = nightjar.client { base_url = "http://api.example/v1", network = "offline", mock = { { answer = 200 } } }
  t:raises("offline", titles, api)
end)

local result = testing.run { format = "tap" }
print(result.passed .. " passed, " .. result.failed .. " failed")
-- Prints:
--   ...
--   2 passed, 0 failed
