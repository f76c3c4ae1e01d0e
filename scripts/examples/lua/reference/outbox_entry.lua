local nightjar = require "nightjar"
local folder <close> = require("nightjar.fs").temp_dir()
local api <close> = nightjar.client { base_url = "http://127.0.0.1:8080", journal = folder.path .. "/journal.db" }
local outbox <close> = api:outbox()
local entry = outbox:post("/v1/articles", { json = { title = "" }, id = "article" })
print(entry.state, entry.method, entry.url:match "/v1.*")
print(pcall(entry.wait, entry))
entry:refresh()
print(entry.state, entry.error.kind, entry.error.status)
entry:retry() -- the server rejects it again
print(pcall(entry.wait, entry))
entry:resolve { json = { title = "Tea", body = "Hot", author_id = 1 } }
print(entry:wait({ timeout = 60 }).response.json.title)
entry:remove()
print(entry:refresh())
-- Prints:
--   pending	POST	/v1/articles
--   false	the server rejected the write with status 422
--   parked	client	422
--   false	the server rejected the write with status 422
--   Tea
--   nil
