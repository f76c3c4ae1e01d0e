-- Looks up what comes in by line, a few at a time, and goes on while it waits for the next line.
--
--   seq 3 | nightjar scripts/examples/lua/pipeline.lua [file]
--
-- Each line is the id of an article; what is known of them comes into a file (articles.tsv), sorted, as a whole or not at all.
local nightjar = require "nightjar"
local fs, process, stdin = nightjar.fs, nightjar.process, nightjar.stdin

local path = ... or "articles.tsv"
local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1" }

-- Who reads is no more than a few lines ahead of those who look up.
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

-- A sign of life on standard error, once in a second.
local heart = nightjar.every(1, function() io.stderr:write(("%d so far\n"):format(found)) end)

local lines = {}
for row in rows:values() do
  lines[#lines + 1] = row
  found = found + 1
end
heart:cancel()
reader:join()
workers:join()

-- What another program does well is left to it.
local sorted = process.run { "sort", "-n", input = table.concat(lines), check = true }
fs.write(path, sorted.stdout)
io.write(sorted.stdout)
print(("%d articles in %s, %d not found"):format(found, path, missing))
