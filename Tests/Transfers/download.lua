-- Downloads /file of the demo API in a process of its own, which the tests kill:
--
--   nightjar download.lua PATH QUERY [CONNECTIONS]
--
-- QUERY is a JSON object. Prints the size, and the numbers of bytes that were resumed and received.
local nightjar = require "nightjar"

local path, query, connections = arg[1], nightjar.json.decode(arg[2]), tonumber(arg[3]) or 1
local api = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", timeout = 60 }
local download = api:download("/file", path, { query = query, connections = connections })
print(download.size, download.resumed, download.received)
