local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080/v1" }
local changes <close> = api:resource("/articles/1"):changes()
local snapshot
repeat snapshot = changes:next() until snapshot.phase == "loaded"
print(snapshot.data.id, snapshot.stale, snapshot.error)
changes:close()
print(changes:next() == nil)
-- Prints:
--   1	false	nil
--   true
