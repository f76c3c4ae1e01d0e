-- Upload a folder
--
-- Three files at a time, none of which is read into memory. One that fails does not stop the others: its error takes
-- the place of its result.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin }

-- A folder to try it with.
local folder = os.tmpname() .. ".d"
os.execute("mkdir " .. folder)
for number = 1, 5 do
  local file <close> = assert(io.open(("%s/%d.txt"):format(folder, number), "wb"))
  file:write(("line %d\n"):format(number):rep(number * 1000))
end

local paths = {}
for path in io.popen("find " .. folder .. " -type f | sort"):lines() do paths[#paths + 1] = path end
paths[#paths + 1] = folder .. "/gone.txt"

local results, errors = nightjar.map(paths, function(path)
  return api:post("/upload", { file = path, timeout = { idle = 30, total = 3600 } }).json.bytes
end, { concurrency = 3, collect_errors = true })

for place, path in ipairs(paths) do
  local name = path:match "[^/]+$"
  print(name, errors[place] and errors[place].kind or results[place] .. " bytes")
end
os.execute("rm -r " .. folder)
-- Prints:
--   1.txt	7000 bytes
--   2.txt	14000 bytes
--   3.txt	21000 bytes
--   4.txt	28000 bytes
--   5.txt	35000 bytes
--   gone.txt	invalid_request
