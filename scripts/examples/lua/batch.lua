-- Sends a list of requests a few at a time, and goes on where some of them fail.
--
--   nightjar scripts/examples/lua/batch.lua [origin]
local nightjar = require "nightjar"

local origin = ... or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

-- The answers come in the order of the requests. The first failure cancels the rest and is raised, with its `index`.
local articles = api:batch {
  "/articles/1",
  { path = "/articles/{id}", params = { id = 2 } },
  { method = "POST", path = "/articles", json = { title = "Of many", body = "One.", author_id = 1 }, idempotency_key = true },
  concurrency = 2,
}
for _, res in ipairs(articles) do print(res.status, res.json.title) end

local list = { collect_errors = true }
for id = 1, 40 do list[id] = "/articles/" .. id * 1000 - 999 end

-- Each has its own end: `answers` has holes where `errors` has something, and `n` tells how many there are.
local answers, errors = api:batch(list)
local there = 0
for id = 1, answers.n do
  if answers[id] then there = there + 1 end
end
local _, first = next(errors)
print(("%d of %d are there; of the others: %s"):format(there, answers.n, first.kind))

-- What is more than a request is a function of its own: nightjar.map has the same two options.
local titles, failures = nightjar.map({ 1, 2, 0 }, function(id)
  return api:get("/articles/" .. id).json.title:upper()
end, { concurrency = 2, collect_errors = true })
print(titles[1], titles[3], failures[3])
