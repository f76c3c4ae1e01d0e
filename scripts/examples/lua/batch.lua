-- Sends a list of requests with bounded concurrency, and continues if some of them fail.
--
--   nightjar scripts/examples/lua/batch.lua [origin]
local nightjar = require "nightjar"

local origin = ... or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

-- The responses are in the order of the requests. The first failure cancels the other requests and is raised, with its
-- `index`.
local articles = api:batch {
  "/articles/1",
  { path = "/articles/{id}", params = { id = 2 } },
  { method = "POST", path = "/articles", json = { title = "Of many", body = "One.", author_id = 1 }, idempotency_key = true },
  concurrency = 2,
}
for _, res in ipairs(articles) do print(res.status, res.json.title) end

local list = { collect_errors = true }
for id = 1, 40 do list[id] = "/articles/" .. id * 1000 - 999 end

-- Each request has its own result: `responses` has a hole where `errors` has an error, and `n` is the number of requests.
local responses, errors = api:batch(list)
local there = 0
for id = 1, responses.n do
  if responses[id] then there = there + 1 end
end
local _, first = next(errors)
print(("%d of %d exist; the others fail with %s"):format(there, responses.n, first.kind))

-- nightjar.map runs a function for each item, with the same two options.
local titles, failures = nightjar.map({ 1, 2, 0 }, function(id)
  return api:get("/articles/" .. id).json.title:upper()
end, { concurrency = 2, collect_errors = true })
print(titles[1], titles[3], failures[3])
