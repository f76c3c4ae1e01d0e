local nightjar = require "nightjar"
local api = nightjar.client {
  base_url = "http://127.0.0.1:8080/v1",
  auth = { type = "login", url = "/auth/login", json = { email = "ada@example.org", password = "moonlight" } },
  rate_limit = { requests = 1000 },
}
local made = api:post("/articles", { json = { title = "Hello", body = "World", author_id = 1 } }).json
print(api:get("/articles/{id}", { params = { id = made.id } }).json.title)
print(api:patch("/articles/" .. made.id, { json = { title = "Good evening" } }).json.title)
print(api:put("/articles/" .. made.id, { json = { title = "Bye", body = "World", author_id = 1 } }).status)
print(api:head("/articles/" .. made.id).headers.content_type, api:delete("/articles/" .. made.id).status)
print(api:request({ method = "GET", path = "/articles", query = { per_page = 1 } }).json.total)
print(#api:batch { "/articles/1", { path = "/articles/2" }, concurrency = 2 })
print(#api:paginate("/articles", { query = { per_page = 10 } }):collect())

api:log_in()
print(api:get("/me").json.handle)
api:log_out()
api:set_token { access_token = "token-of-another-program" }
print(api:get("/me"):explain()[1].cause)               -- the server rejects the token: the client logs in again

print(api:limits()[1].circuit)
api:drain { timeout = 10 }
local journal = os.tmpname()
local other = nightjar.client { base_url = "http://127.0.0.1:8080", journal = journal }
print(#other:load_openapi "url:/openapi.json" > 30)
for line in other:lines "/lines/1" do print(line) end
for value in other:ndjson "/ndjson/1" do print(value.id) end
for event in other:events("/events", { query = { count = 1 } }) do print(event.id, event.type) end
local feed = other:resource("/v1/articles/1", { tags = { "articles" } })
print(feed:get().id)
other:invalidate "articles"
print(feed:reload().id, feed.snapshot.stale)
for message in other:websocket("/ws/count", { query = { n = 1 } }):messages() do print(message.json.n) end
local file = os.tmpname()
print(other:download("/bytes/100", file).size, other:start_download("/bytes/200", file):wait().size)
print(other:upload("/echo", file).size, other:start_upload("/echo", file, { protocol = "post" }):wait().size)
other:upload("/echo", file, { id = "notes" })
print(other:upload("/echo", file, { id = "notes" }).response)  -- was uploaded before; nothing is sent
other:remove_transfer "notes"
print(other:outbox():post("/v1/orders", { json = { item = "tea" } }):wait().response.status)
os.remove(file)
os.remove(journal)
other:set_pinning "report"                              -- has an effect only with the option tls.pins
other:close()
-- Prints:
--   Hello
--   Good evening
--   200
--   application/json	204
--   25
--   2
--   25
--   ada
--   refused
--   closed
--   true
--   line 1
--   1
--   1	tick
--   1
--   1	false
--   1
--   100	200
--   200	200
--   nil
--   201
