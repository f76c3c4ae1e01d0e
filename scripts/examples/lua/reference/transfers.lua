local nightjar = require "nightjar"
local folder <close> = require("nightjar.fs").temp_dir()
local transfers = nightjar.transfers.open(folder.path .. "/journal.db")
-- No worker runs for this journal, so the transfers wait.
transfers.start { id = "film", download = "http://127.0.0.1:8080/cache/film", to = folder.path .. "/", priority = 5 }
transfers.start { id = "log", upload = "http://127.0.0.1:8080/tus", from = folder.path .. "/log", protocol = "tus" }
for transfer in transfers.list() do print(transfer.id, transfer.kind, transfer.state) end
transfers.pause "film"
print(transfers.get("film").state)
transfers.resume "film"
transfers.cancel "log"
print(transfers.get("film").state, transfers.get("log").state)
transfers.retry "log"
print(transfers.get("log").state)
transfers.remove "log"
print(transfers.get "log")
transfers.cancel "film"
for transfer in transfers.ended() do
  print(transfer.id, transfer.state)
  transfer:acknowledge()
end
for entry in transfers.log() do print(entry.id, entry.event) end
transfers.wake()
-- Prints:
--   film	download	waiting
--   log	upload	waiting
--   paused
--   waiting	cancelled
--   waiting
--   nil
--   film	cancelled
