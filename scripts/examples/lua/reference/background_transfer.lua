local nightjar = require "nightjar"
local folder <close> = require("nightjar.fs").temp_dir()
local journal = folder.path .. "/journal.db"
local transfer = nightjar.transfers.open(journal).start {
  id = "film", download = "http://127.0.0.1:8080/cache/film?length=300000&etag=strong", to = folder.path .. "/film",
}
transfer:pause()
print(transfer:refresh().state)
transfer:resume()
transfer:cancel()
print(transfer:refresh().state)
transfer:retry()
transfer:refresh()
local worker <close> = nightjar.process.spawn { "nightjar", "transferd", "--journal", journal, "--idle", "1" }
print(transfer:wait({ timeout = 60 }).state, transfer.received, transfer.total, transfer.path:match "[^/]+$")
transfer:acknowledge() -- removes the transfer, but not its file
print(transfer:refresh())
transfer:remove() -- has no effect on a removed transfer
worker:wait()
-- Prints:
--   paused
--   cancelled
--   done	300000	300000	film
--   nil
