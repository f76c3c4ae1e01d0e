-- Downloads files in the background, also after the script has ended. The first run records the downloads and ends; a worker
-- process performs them. The second run shows the progress of one and handles the ends of all.
--
--   nightjar demo &
--   nightjar scripts/examples/lua/background.lua start [folder [nightjar]]
--   nightjar scripts/examples/lua/background.lua finish [folder [nightjar]]
--
-- The journal and the files are in the folder. The last argument is the path of the program that works as a worker.
local nightjar = require "nightjar"

local command, folder, transferd = ...
folder = folder or "/tmp/nightjar-background"
-- The nightjar that runs this script. A script for stock Lua needs another path.
transferd = transferd or "/proc/self/exe"
local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"

nightjar.fs.mkdir(folder)
-- Without the option journal, the journal of the user is used, which other programs share.
local transfers = nightjar.transfers.open { journal = folder .. "/journal.db", transferd = transferd }

-- Records the downloads. If the journal has them already, for example because the script runs again, nothing changes.
local function start()
  for id, path in pairs { film = "/file?size=3000000&rate=2000000", log = "/file?size=1000", absent = "/no-such-file" } do
    transfers.start { id = id, download = origin .. path, to = folder .. "/" .. id .. ".bin" }
  end
  print "3 downloads continue in the background"
end

-- Shows the progress of a transfer until it ends.
local function show(id)
  local transfer = transfers.get(id)
  while transfer and (transfer.state == "waiting" or transfer.state == "running") do
    io.stderr:write(("\r%s: %d of %s bytes, %.0f bytes/s   "):format(id, transfer.received, transfer.total or "?", transfer.rate or 0))
    nightjar.sleep(0.2)
    transfer = transfer:refresh()
  end
  if transfer then io.stderr:write(("\r%s: %d bytes, %s   \n"):format(id, transfer.received, transfer.state)) end
end

-- Handles the end of each transfer of the journal. Without acknowledge, the next run handles it again.
local function finish()
  local count, failures = 0, 0
  for transfer in transfers.ended() do
    if transfer.state == "done" then
      print(("%s: %d bytes"):format(transfer.path, transfer.total))
    else
      print(("%s: %s"):format(transfer.id, transfer.error and transfer.error.message or transfer.state))
      failures = failures + 1
    end
    count = count + 1
    transfer:acknowledge()
  end
  print(("%d downloads have ended, %d of them without success"):format(count, failures))
end

if command == "start" then
  start()
elseif command == "finish" then
  -- If the worker was stopped, for example by a restart of the machine, the transfers continue from here.
  transfers.wake()
  show "film"
  finish()
else
  io.stderr:write "usage: background.lua start|finish [folder [nightjar]]\n"
  os.exit(2)
end
