-- The outbox in scripts: recording, order, conflicts, held entries, limits and arguments. Tests/Outbox kills processes.
-- Needs the demo API.
local nightjar = require "nightjar"
local fs = require "nightjar.fs"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local folder <close> = fs.temp_dir()
local count = 0

-- Returns an outbox and its client with a journal of its own.
local function open(options, client)
  count = count + 1
  client = client or {}
  client.base_url = client.base_url or origin
  client.journal = client.journal or ("%s/journal-%d.db"):format(folder.path, count)
  local api = nightjar.client(client)
  options = options or {}
  options.retry_delay = options.retry_delay or 0.01
  return api:outbox(options), api
end

-- Checks that f(...) raises an error object of this kind whose message contains `part`.
local function fails(t, kind, part, f, ...)
  local ok, err = pcall(f, ...)
  t:equal(ok, false)
  t:equal(err.kind or err, kind)
  t:truthy(err.message:find(part, 1, true), ("%q does not contain %q"):format(err.message, part))
end

local function ids(outbox, state)
  local found = {}
  for entry in outbox:list { state = state } do found[#found + 1] = entry.id end
  return found
end

-- Waits until the entry has the state.
local function await(t, entry, state)
  for _ = 1, 400 do
    if entry:refresh().state == state then return entry end
    nightjar.sleep(0.025)
  end
  t:equal(entry.state, state)
end

test("an entry that is done invalidates the resources with its tags", function(t)
  local outbox <close>, api = open()
  local one = api:resource("/v1/articles/1", { tags = { "articles" } })
  local two = api:resource("/v1/articles/2", { tags = { "others" } })
  one:get()
  two:get()
  outbox:post("/v1/orders", { json = { item = "tea" }, id = "order-tags", invalidates = { "articles" } }):wait { timeout = 60 }
  t:equal({ one.snapshot.stale, two.snapshot.stale }, { true, false })
  -- The tags belong to the write.
  fails(t, "invalid_argument", "another write", outbox.post, outbox, "/v1/orders", { json = { item = "tea" }, id = "order-tags" })
  fails(t, "invalid_argument", "must be a list of strings", outbox.post, outbox, "/v1/orders", { invalidates = "articles" })
end)

test("a write is recorded, sent, and done with its response", function(t)
  local outbox <close>, api = open()
  local entry = outbox:post("/v1/orders", { json = { item = "tea" }, id = "order-1", query = { seed = 1 } })
  t:equal({ entry.id, entry.method, entry.key }, { "order-1", "POST", origin .. "/v1/orders" })
  t:equal(entry.url, origin .. "/v1/orders?seed=1")
  t:equal(entry:wait { timeout = 60 }, entry)
  t:equal({ entry.state, entry.attempts, entry.response.status }, { "done", 1, 201 })
  t:equal(entry.response.json.order, { item = "tea" })
  t:matches(entry.response.location, "^/v1/orders/%d+$")
  t:equal(ids(outbox), { "order-1" })
  t:equal(outbox:count(), 0)
  -- The same id and write are the same entry.
  t:equal(outbox:post("/v1/orders", { json = { item = "tea" }, id = "order-1", query = { seed = 1 } }).state, "done")
  fails(t, "invalid_argument", "the journal has an entry \"order-1\" with another write", outbox.post, outbox,
    "/v1/orders", { json = { item = "coffee" }, id = "order-1" })
  entry:remove()
  t:equal(outbox:get "order-1", nil)
  t:equal(entry:refresh(), nil)
end)

test("lost responses are repeated with the same key: each effect happens once", function(t)
  local outbox <close>, api = open { concurrency = 8 }
  local before = api:get("/v1/orders/count").json
  local run = nightjar.idempotency_key() -- Each run has its own bodies.
  for number = 1, 60 do
    outbox:post("/v1/orders", { json = { test = run, number = number }, id = "n" .. number, key = "k" .. number % 6,
      query = { drop = 0.3, seed = 5 } })
  end
  local last = {}
  for entry in outbox:list() do
    entry:wait { timeout = 60 }
    local key, number = entry.key, entry.response.json.id
    t:truthy(number > (last[key] or 0), "the order of the key is kept")
    last[key] = number
  end
  local after = api:get("/v1/orders/count").json
  t:equal(after.created - before.created, 60)
  t:equal(after.repeated_bodies - before.repeated_bodies, 0)
end)

test("an entry stays in the journal until a server is reached", function(t)
  local path = folder.path .. "/shared.db"
  local first, api = open({}, { journal = path, base_url = "http://127.0.0.1:1" })
  first:put("/v1/articles/2", { json = { title = "x" }, id = "unreachable" })
  -- Attempts that reached no server do not count when they have ended.
  local entry = first:get "unreachable"
  for _ = 1, 500 do
    if entry.state == "pending" and entry.error then break end
    nightjar.sleep(0.01)
    entry = first:get "unreachable"
  end
  t:equal(entry.error.kind, "connect")
  t:equal(entry.attempts, 0)
  first:close()
  local second <close> = open({}, { journal = path, base_url = "http://127.0.0.1:1" })
  t:equal(ids(second), { "unreachable" })
  t:equal(ids(second, "parked"), {})
  fails(t, "timeout", "was not done within 0.1 s", function() second:get("unreachable"):wait { timeout = 0.1 } end)
end)

test("a conflict has both versions, and is resolved", function(t)
  local outbox <close>, api = open()
  local etag = api:get("/v1/articles/3").headers.etag
  api:patch("/v1/articles/3", { json = { title = "Theirs" } })
  local entry = outbox:patch("/v1/articles/3", { json = { title = "Mine" }, if_match = etag, id = "title" })
  local later = outbox:patch("/v1/articles/3", { json = { summary = "Later" }, id = "summary" })
  local changes = {}
  for change in outbox:changes { timeout = 0.5 } do changes[#changes + 1] = change.id .. " " .. change.state end
  t:equal(changes, { "title conflict" })
  entry:refresh()
  t:equal(entry.mine.json, { title = "Mine" })
  t:equal({ entry.theirs.status, entry.theirs.json.title, entry.if_match }, { 200, "Theirs", etag })
  t:equal(entry.error.kind, "content_changed")
  t:equal(later:refresh().state, "pending")
  fails(t, "content_changed", "the server rejected the write with status 412", function() entry:wait() end)
  entry:resolve { json = { title = entry.theirs.json.title .. " and mine" } }
  t:equal(entry:wait({ timeout = 60 }).state, "done")
  t:equal(later:wait({ timeout = 60 }).state, "done")
  t:equal(api:get("/v1/articles/3").json.title, "Theirs and mine")
  fails(t, "storage", "does not wait for a decision", function() entry:resolve {} end)
end)

test("a conflict with a deleted resource has the status 404", function(t)
  local outbox <close>, api = open()
  local made = api:post("/v1/articles", { json = { title = "To be deleted", body = "x", author_id = 1 } })
  local path = made.headers.location
  api:delete(path)
  local entry = outbox:patch(path, { json = { title = "Mine" }, if_match = made.headers.etag, id = "deleted" })
  await(t, entry, "parked")
  t:equal(entry.error.status, 404)
  entry:remove()
  t:equal(outbox:count(), 0)
end)

test("rejected entries are parked, block their key only, and are retried", function(t)
  local status = 422
  local mock = nightjar.mock {
    { path = "/a", response = function() return { status = status, json = { ok = status == 200 } } end },
    { path = "/b", response = { status = 200 } },
  }
  local outbox <close>, api = open({}, { base_url = "http://mock.test", mock = mock })
  local first, second = outbox:post("/a", { id = "first" }), outbox:post("/a", { id = "second" })
  local other = outbox:post("/b", { id = "other" })
  t:equal(other:wait({ timeout = 60 }).state, "done")
  await(t, first, "parked")
  t:equal(first.error.message, "the server rejected the write with status 422")
  t:equal({ first.response.status, first.response.json }, { 422, { ok = false } })
  t:equal(ids(outbox, "parked"), { "first" })
  t:equal(second:refresh().state, "pending")
  status = 200
  first:retry()
  t:equal(second:wait({ timeout = 60 }).state, "done")
  t:equal(first:refresh().state, "done")
end)

test("entries that keep failing are parked after max_attempts", function(t)
  local mock = nightjar.mock { { path = "/a", response = { status = 503 } } }
  local outbox <close>, api = open({ max_attempts = 3 }, { base_url = "http://mock.test", mock = mock })
  local entry = await(t, outbox:put("/a", { body = "\xff", id = "a" }), "parked")
  t:equal(entry.attempts, 3)
  t:matches(entry.error.message, "failed max_attempts %(3%) times")
end)

test("a lost response without an idempotency key is in doubt", function(t)
  local mock = nightjar.mock { { path = "/a", response = { fault = "connection_lost" } } }
  local outbox <close>, api = open({}, { base_url = "http://mock.test", mock = mock })
  local entry = await(t, outbox:post("/a", { id = "a", idempotency_key = false }), "in_doubt")
  t:equal(entry.error.may_have_been_processed, true)
end)

test("an outbox that does not send records, lists and decides", function(t)
  local journal = folder.path .. "/quiet.db"
  local quiet <close>, quiet_api = open({ send = false }, { journal = journal })
  quiet:post("/v1/orders", { json = { item = "tea" }, id = "order" })
  quiet:post("/v1/orders", { body = "{", id = "bad", key = "bad" })
  nightjar.sleep(0.1)
  t:equal(ids(quiet, "pending"), { "order", "bad" })
  do
    local outbox <close>, api = open({}, { journal = journal })
    t:equal(outbox:get("order"):wait({ timeout = 60 }).state, "done")
    await(t, outbox:get "bad", "parked")
  end
  t:equal(quiet:get("bad").mine.body, "{")
  quiet:resolve("bad", { json = { item = "milk" } })
  t:equal(quiet:get("bad").state, "pending")
  quiet:remove "bad"
  t:equal(quiet:count(), 0)
end)

test("retry ends the wait of a pending entry", function(t)
  local status = 503
  local mock = nightjar.mock { { path = "/a", response = function() return { status = status } end } }
  local outbox <close>, api = open({ retry_delay = 3600, max_retry_delay = 3600 }, { base_url = "http://mock.test", mock = mock, retry = false })
  local entry = outbox:put("/a", { body = "tea", id = "a" })
  for each in outbox:changes { timeout = 60 } do
    t:equal(each.state, "pending")
    break
  end
  status = 200
  entry:retry()
  t:equal(entry:wait({ timeout = 60 }).state, "done")
  fails(t, "storage", "is done", entry.retry, entry)
end)

test("limits name themselves", function(t)
  local outbox <close>, api = open({ max_entries = 2, max_bytes = 4000 }, { base_url = "http://127.0.0.1:1" })
  fails(t, "too_large", "max_bytes is 4000", outbox.post, outbox, "/", { body = ("x"):rep(4000) })
  outbox:post "/"
  outbox:post "/"
  fails(t, "too_large", "max_entries is 2", outbox.post, outbox, "/")
  fails(t, "too_large", "at most 1048576 bytes, got 1048577", outbox.post, outbox, "/", { body = ("x"):rep(1048577) })
end)

test("arguments are checked, and secrets are rejected", function(t)
  local outbox <close>, api = open()
  misuse("outbox:post: path must be a string, got table", outbox.post, outbox, {})
  misuse("outbox:post: options must be a table, got number", outbox.post, outbox, "/", 1)
  misuse("outbox: unknown option 'concurency'; did you mean 'concurrency'?", api.outbox, api, { concurency = 1 })
  misuse("outbox:list: unknown state \"sent\"", outbox.list, outbox, { state = "sent" })
  fails(t, "invalid_argument", "unknown option \"jsn\" of an outbox entry; did you mean \"json\"?", outbox.post, outbox,
    "/", { jsn = 1 })
  for name, value in pairs { Authorization = "Bearer x", Cookie = "a=b", ["X-Api-Key"] = "k" } do
    fails(t, "invalid_argument", "has a secret, which an outbox must not record", outbox.post, outbox, "/",
      { headers = { [name] = value } })
  end
  fails(t, "invalid_argument", "the URL has a secret", outbox.post, outbox, "http://user:secret@mock.test/")
  fails(t, "invalid_argument", "the outbox has no entry \"none\"", outbox.retry, outbox, "none")
  outbox:remove "none"
  outbox:close()
  fails(t, "closed", "the outbox is closed", outbox.count, outbox)
  fails(t, "invalid_argument", "an ephemeral client writes nothing to disk", function()
    nightjar.client({ ephemeral = true }):outbox()
  end)
end)

assert(testing.run().ok, "a case failed")
