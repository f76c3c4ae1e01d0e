-- Uploads a file in a process of its own, which the tests kill:
--
--   nightjar upload.lua ORIGIN PATH FILE OPTIONS [STATE]
--
-- OPTIONS is a JSON object. STATE is the path of a file. If it exists, the upload continues with the state in it. The state is
-- written to this file every 50 ms. If OPTIONS has an id, STATE is the path of a journal instead. Prints the size, and the
-- numbers of bytes that were resumed and sent.
local nightjar = require "nightjar"
local fs = nightjar.fs

local origin, path, file, options, state_path = arg[1], arg[2], arg[3], nightjar.json.decode(arg[4]), arg[5]
local journal = options.id and state_path
if journal then state_path = nil end
local api = nightjar.client { base_url = origin, timeout = 60, journal = journal }
if state_path and fs.exists(state_path) then options.resume = fs.read(state_path) end

local upload <close> = api:start_upload(path, file, options)
local writer = nightjar.spawn(function()
  while state_path do
    local state = upload:state()
    if state then fs.write(state_path, state, { atomic = true }) end
    nightjar.sleep(0.05)
  end
end)
upload:wait()
writer:cancel()
pcall(writer.join, writer)
print(upload.size, upload.resumed, upload.sent)
