local nightjar = require "nightjar"
local folder <close> = require("nightjar.fs").temp_dir()
local api <close> = nightjar.client { base_url = "http://127.0.0.1:8080", journal = folder.path .. "/journal.db" }
local outbox <close> = nightjar.outboxes.open(api, { name = "orders" })
print(outbox:post("/v1/orders", { json = { item = "tea" } }):wait({ timeout = 60 }).state)
-- Prints:
--   done
