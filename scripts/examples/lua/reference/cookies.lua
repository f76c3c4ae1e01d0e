local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080", cookies = { file = "cookies.db" } }
local cookies = api.cookies
cookies:set("http://127.0.0.1:8080/", "session=abc; Path=/; Max-Age=3600")
print(#cookies:list(), api:get("/cookies").json.cookies[1][1])
cookies:flush()
cookies:export "cookies.txt"
local text = cookies:text()
print(cookies:delete { name = "session" }, #cookies:list())
print(cookies:import "cookies.txt")
cookies:clear()
print(cookies:load_text(text))
-- Prints:
--   1	session
--   1	0
--   1	0
--   1	0
