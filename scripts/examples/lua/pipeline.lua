-- Looks up identifiers from standard input with bounded concurrency. Reads further lines during the lookups.
--
--   seq 3 | nightjar scripts/examples/lua/pipeline.lua [file]
--
-- Each line is the id of an article. The results are written to a file (articles.tsv), sorted, and atomically.
local nightjar = require "nightjar"
local fs, process, stdin = nightjar.fs, nightjar.process, nightjar.stdin

local path = ... or "articles.tsv"
local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

-- The reader is at most a few lines ahead of the lookups.
local ids, rows = nightjar.channel(4), nightjar.channel(4)
local found, missing = 0, 0

local reader = nightjar.spawn(function()
  for line in stdin.lines() do ids:send(line) end
  ids:close()
end)

local workers = nightjar.spawn(function()
  nightjar.map({ 1, 2, 3 }, function()
    for id in ids:values() do
      local res, err = nightjar.try(api.get, api, "/articles/{id}", { params = { id = id } })
      if res then rows:send(("%s\t%s\n"):format(id, res.json.title))
      elseif err.kind == "not_found" then missing = missing + 1
      else error(err, 0) end
    end
  end)
  rows:close()
end)

-- Progress on standard error, once per second.
local heart = nightjar.every(1, function() io.stderr:write(("%d so far\n"):format(found)) end)

local lines = {}
for row in rows:values() do
  lines[#lines + 1] = row
  found = found + 1
end
heart:cancel()
reader:join()
workers:join()

-- Another program sorts the lines.
local sorted = process.run { "sort", "-n", input = table.concat(lines), check = true }
fs.write(path, sorted.stdout)
io.write(sorted.stdout)
print(("%d articles in %s, %d not found"):format(found, path, missing))
