local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080", cache = { policy = "offline_first" } }
local bytes = 0
for part in api:get("/bytes/100000", { stream = true }):chunks() do bytes = bytes + #part end
print(bytes)
for line in api:get("/lines/1", { stream = true }):lines() do print(line) end
for value in api:get("/ndjson/1"):ndjson() do print(value.id) end
for event in api:post("/events?count=1&end=close", { stream = true }):events() do print(event.id) end
local endless = api:get("/stream/100000000", { stream = true })
endless:close()

local file = os.tmpname()
print(api:get("/bytes/100", { stream = true }):download(file).size)
print(api:get("/bytes/200", { stream = true }):start_download(file):wait().size)
os.remove(file)
local path = "/cache/reference?control=max-age=0&etag=strong"
api:get(path)
local res = api:get(path)
print(res.source, res:explain()[1].decision, res:refreshed().source)
print(res:curl():match "^curl")
-- Prints:
--   100000
--   line 1
--   1
--   1
--   100
--   200
--   stale	cache	revalidated
--   curl
