-- Keep a session that is a cookie
--
-- A client with `cookies` keeps what it is given and sends it where it belongs. A file keeps it for the next run, those
-- that end with the session only where that is asked for; `cookies.txt` is for curl and others.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local file = os.tmpname()
os.remove(file)

do
  local api <close> = nightjar.client { base_url = origin, cookies = { file = file, keep_session = true } }
  api:get("/cookies/set", { query = { name = "session", value = "s3cr3t", path = "/", http_only = "true" } })
  print("kept: " .. #api.cookies:list())
  api.cookies:flush()
end

-- The next run.
local api = nightjar.client { base_url = origin, cookies = { file = file, keep_session = true } }
print("sent: " .. api:get("/cookies").json.cookies[1][1])
print((api.cookies:text():match "%#HttpOnly_127%.0%.0%.1[^\n]*session"))

-- Logging out.
api.cookies:delete { name = "session" }
print("kept: " .. #api.cookies:list())
api:close()
os.remove(file)
-- Prints:
--   kept: 1
--   sent: session
--   #HttpOnly_127.0.0.1	FALSE	/	FALSE	...	session
--   kept: 0
