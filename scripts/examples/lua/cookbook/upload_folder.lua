-- Upload a folder
--
-- Uploads three files at a time, without reading them into memory. A failed upload does not stop the other uploads:
-- its error takes the place of its result.
local nightjar = require "nightjar"
local fs = nightjar.fs

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin }

-- A folder for the example.
local folder <close> = fs.temp_dir()
for number = 1, 5 do fs.write(("%s/%d.txt"):format(folder.path, number), ("line %d\n"):format(number):rep(number * 1000)) end

local names = fs.list(folder.path)
names[#names + 1] = "gone.txt"
local results, errors = nightjar.map(names, function(name)
  return api:post("/upload", { file = folder.path .. "/" .. name, timeout = { idle = 30, total = 3600 } }).json.bytes
end, { concurrency = 3, collect_errors = true })

for place, name in ipairs(names) do
  print(name, errors[place] and errors[place].kind or results[place] .. " bytes")
end
-- Prints:
--   1.txt	7000 bytes
--   2.txt	14000 bytes
--   3.txt	21000 bytes
--   4.txt	28000 bytes
--   5.txt	35000 bytes
--   gone.txt	invalid_request
