local nightjar = require "nightjar"
local folder <close> = require("nightjar.fs").temp_dir()
local api <close> = nightjar.client { base_url = "http://127.0.0.1:8080", journal = folder.path .. "/journal.db" }
local outbox <close> = api:outbox()
local order = outbox:post("/v1/orders", { json = { item = "tea" }, id = "order-1" }) -- survives a power failure
print(order:wait({ timeout = 60 }).response.status)
-- The entries of one key are sent in this order.
local path = api:post("/v1/articles", { json = { title = "Draft", body = "-", author_id = 1 } }).headers.location
outbox:put(path, { json = { title = "Tea", body = "Hot", author_id = 1 }, id = "replace" })
outbox:patch(path, { json = { title = "Green tea" }, id = "title", if_match = '"old"' })
outbox:delete(path, { id = "delete" })
for entry in outbox:changes { timeout = 2 } do
  if entry.state == "conflict" then
    print(entry.id, entry.mine.json.title, entry.theirs.json.title)
    outbox:resolve(entry.id, { json = { title = "Tea, green" } })
  end
  if entry.id == "delete" then break end
end
print(outbox:count(), outbox:get("title").state)
for entry in outbox:list { state = "done" } do outbox:remove(entry.id) end -- the responses were processed
print(pcall(outbox.retry, outbox, "title"))
outbox:close()
-- Prints:
--   201
--   title	Green tea	Tea
--   0	done
--   false	the outbox has no entry "title"; it was removed, or is in another outbox
