local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080", cache = true }
local cache = api.cache
cache:put("/greeting", { json = { text = "hello" }, headers = { ["Cache-Control"] = "max-age=60" } })
print(cache:get("/greeting").json.text, api:get("/greeting").source)
print(cache:stats().hits, cache:delete "/greeting", cache:delete { prefix = "/" })
print(cache:clear())
cache:flush()
-- Prints:
--   hello	cache
--   2	1	0
--   0
