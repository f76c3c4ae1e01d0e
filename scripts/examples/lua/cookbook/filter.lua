-- Write a filter for a pipeline
--
-- Reads identifiers from standard input, writes records to standard output as one line of JSON each, and writes errors
-- to standard error. Eight lines are processed concurrently, and the order is preserved.
--
--   seq 1 100 | nightjar filter.lua | jq .title
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

local function process(batch)
  local records, errors = nightjar.map(batch, function(id)
    local article = api:get("/articles/{id}", { params = { id = id } }).json
    return { id = article.id, title = article.title }
  end, { concurrency = 8, collect_errors = true })
  for place, id in ipairs(batch) do
    if records[place] then print(nightjar.json.encode(records[place], { sorted = true }))
    else io.stderr:write(id, ": ", errors[place].message, "\n") end
  end
end

local batch = {}
for line in nightjar.stdin.lines() do
  batch[#batch + 1] = line
  if #batch == 8 then
    process(batch)
    batch = {}
  end
end
process(batch)
-- Reads:
--   1
--   4711
--   2
-- Prints:
--   {"id":1,"title":"The bird that flies by moonlight"}
--   {"id":2,"title":"..."}
