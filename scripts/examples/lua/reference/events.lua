local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080" }
local events = api:events("/events", { query = { count = 5 }, last_event_id = "3" })
print(events().json.n, events.last_event_id, events.reconnection_time, events.state)
print(events:explain():match "open: [^\n]*")
events:close()
print(events.state)
-- Prints:
--   4	4	1.0	open
--   open: the server sent 200
--   closed
