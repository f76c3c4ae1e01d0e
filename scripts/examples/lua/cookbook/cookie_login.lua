-- Keep a session cookie
--
-- A client with `cookies` stores and sends cookies. A file keeps the cookies for the next run; session cookies are
-- saved only with `keep_session`. `cookies.txt` is the format of curl and other tools.
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

-- Log out.
api.cookies:delete { name = "session" }
print("kept: " .. #api.cookies:list())
api:close()
os.remove(file)
-- Prints:
--   kept: 1
--   sent: session
--   #HttpOnly_127.0.0.1	FALSE	/	FALSE	...	session
--   kept: 0
