-- Follows an event stream across runs: the id of the last event is saved in a file, and the next run continues after it.
--
--   nightjar demo &
--   nightjar scripts/examples/lua/events.lua http://127.0.0.1:8080 /tmp/last-event-id
local nightjar = require "nightjar"
local url = arg[1] or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local state = arg[2] or os.tmpname()

local function saved()
  local file <close> = io.open(state)
  return file and file:read "l" or ""
end

local function save(id)
  local file <close> = assert(io.open(state, "w"))
  file:write(id, "\n")
end

local api = nightjar.client { base_url = url }
-- The server breaks each connection after 400 bytes. The stream connects again and repeats no event.
local options = { query = { count = 20, drop = 400, retry = 0 }, reconnection_time = 0.1 }

-- Reads some events, as a run of this program that ends early.
local function run(most)
  options.last_event_id = saved()
  local count = 0
  for event in api:events("/events", options) do
    save(event.id)
    count = count + 1
    if count == most then break end
  end
  return count
end

local first = run(8)
local second = run(math.huge)
print(("%d events, then %d after a restart; the last one is %s"):format(first, second, saved()))
