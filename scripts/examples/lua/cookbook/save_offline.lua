-- Save changes while the network is absent
--
-- An outbox records each change on the disk before it sends the change, so that nothing is lost if the network is absent or the
-- program is killed. Each change has the ETag of the version that the user has edited. If another user has changed the article
-- meanwhile, the change becomes a conflict, which the script resolves: it keeps both texts.
local nightjar = require "nightjar"
local fs = require "nightjar.fs"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local folder <close> = fs.temp_dir()                     -- a program uses a file that stays, such as its data folder
local api = nightjar.client { base_url = origin, journal = folder.path .. "/changes.db" }
local outbox <close> = api:outbox()

-- Records a change. The same change with the same id is recorded once, also after a restart of the program.
local function save(article, change)
  local path = "/v1/articles/" .. article.json.id
  return outbox:patch(path, { json = change, if_match = article.headers.etag, id = path .. article.headers.etag })
end

local first, second = api:get "/v1/articles/1", api:get "/v1/articles/2"
api:patch("/v1/articles/2", { json = { title = "Their title" } })                                      -- another user
save(first, { title = "My title" })
save(second, { title = "My title" })

local open = 2                                           -- the changes that are not settled
for entry in outbox:changes { timeout = 10 } do
  if entry.state == "conflict" then
    print("conflict", entry.mine.json.title, entry.theirs.json.title)
    entry:resolve { json = { title = entry.theirs.json.title .. " / " .. entry.mine.json.title } }
  elseif entry.state == "done" then
    open = open - 1
    entry:remove()                                       -- the response was processed
  elseif entry.state == "parked" then
    print("rejected", entry.error.message)               -- the user decides: entry:retry() or entry:remove()
    open = open - 1
  end
  if open == 0 then break end
end
print(api:get("/v1/articles/1").json.title)
print(api:get("/v1/articles/2").json.title)
-- Prints:
--   conflict	My title	Their title
--   My title
--   Their title / My title
