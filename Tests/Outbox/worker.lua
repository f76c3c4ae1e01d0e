-- Records writes in an outbox, and waits until all are done. Run by kill.py, which kills it again and again:
--
--   nightjar worker.lua URL JOURNAL ENTRIES KEYS
local nightjar = require "nightjar"
local url, journal, entries, keys = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])

local api <close> = nightjar.client { base_url = url, journal = journal }
local outbox <close> = api:outbox {
  concurrency = 16, retry_delay = 0.05, max_retry_delay = 1, keep_entries = entries, max_entries = entries,
}

-- The entries are recorded in their order, so the first one that is missing is found by bisection.
local first, last = 1, entries + 1
while first < last do
  local middle = (first + last) // 2
  if outbox:get("write-" .. middle) then first = middle + 1 else last = middle end
end
for number = first, entries do
  outbox:post("/v1/orders", {
    id = "write-" .. number, key = "key-" .. number % keys, json = { number = number },
    query = { drop = 0.3, seed = 7 },
  })
end
while outbox:count() > 0 do nightjar.sleep(0.05) end

-- Each key's orders were created in the order in which they were recorded.
local previous = {}
local count = 0
for entry in outbox:list() do
  assert(entry.state == "done", entry.id .. " is " .. entry.state)
  assert(entry.response.json.order.number == tonumber(entry.id:match "%d+"), "another response")
  local id = entry.response.json.id
  assert(id > (previous[entry.key] or 0), entry.key .. " is out of order at " .. entry.id)
  previous[entry.key] = id
  count = count + 1
end
print("done", count)
