-- Conflicts of an outbox with kinto, a server with ETags and If-Match but without idempotency keys:
--
--   scripts/with-kinto NIGHTJAR Tests/Outbox/kinto.lua
local nightjar = require "nightjar"
local fs = require "nightjar.fs"
local testing = require "nightjar.testing"
local test = testing.test

local folder <close> = fs.temp_dir()
local origin = assert(os.getenv "NIGHTJAR_KINTO_URL", "run it by scripts/with-kinto")
local api = nightjar.client {
  base_url = origin, journal = folder.path .. "/journal.db", auth = { type = "basic", user = "ada", password = "tea" },
}
local records = "/v1/buckets/outbox/collections/notes/records/"
api:put("/v1/buckets/outbox")
api:put("/v1/buckets/outbox/collections/notes")
local outbox = api:outbox { retry_delay = 0.01 }

-- Waits until the entry is held.
local function held(t, entry)
  for _ = 1, 400 do
    if entry:refresh().state == "conflict" or entry.state == "parked" then return entry end
    nightjar.sleep(0.025)
  end
  t:fail("the entry is " .. entry.state)
end

local function title(name) return api:get(records .. name).json.data.title end

test("a write with the ETag of the present version is accepted, with the login of the client", function(t)
  local made = outbox:put(records .. "a", { json = { data = { title = "one" } }, id = "a-1", idempotency_key = false }):wait()
  t:equal({ made.response.status, made.response.json.data.title }, { 201, "one" })
  local changed = outbox:patch(records .. "a", { json = { data = { title = "two" } }, if_match = made.response.etag, id = "a-2" })
  t:equal(changed:wait().response.status, 200)
  t:equal(title "a", "two")
end)

test("a conflict has both versions, and the merged version is accepted", function(t)
  local seen = api:put(records .. "b", { json = { data = { title = "base" } } }).headers.etag
  nightjar.sleep(0.01) -- the ETag is a time in milliseconds
  api:put(records .. "b", { json = { data = { title = "theirs" } } })
  local entry = outbox:put(records .. "b", { json = { data = { title = "mine" } }, if_match = seen, id = "b" })
  local later = outbox:patch(records .. "b", { json = { data = { tag = "later" } }, id = "b-later" })
  held(t, entry)
  t:equal({ entry.state, entry.mine.json.data.title, entry.theirs.json.data.title }, { "conflict", "mine", "theirs" })
  t:equal(entry.theirs.etag, api:get(records .. "b").headers.etag)
  t:equal(later:refresh().state, "pending")
  entry:resolve { json = { data = { title = entry.theirs.json.data.title .. ", mine" } } }
  later:wait()
  local now = api:get(records .. "b").json.data
  t:equal({ now.title, now.tag }, { "theirs, mine", "later" })
end)

test("the version of the program replaces that of the server, or is discarded", function(t)
  local seen = api:put(records .. "c", { json = { data = { title = "base" } } }).headers.etag
  nightjar.sleep(0.01)
  api:put(records .. "c", { json = { data = { title = "theirs" } } })
  local first = outbox:put(records .. "c", { json = { data = { title = "mine" } }, if_match = seen, id = "c-1" })
  held(t, first):resolve()
  first:wait()
  t:equal(title "c", "mine")
  local second = outbox:delete(records .. "c", { if_match = seen, id = "c-2" })
  t:equal(held(t, second).state, "conflict")
  second:remove()
  t:equal(title "c", "mine")
end)

test("a write to a record that was deleted conflicts with 404, and creates it again", function(t)
  local seen = api:put(records .. "d", { json = { data = { title = "base" } } }).headers.etag
  nightjar.sleep(0.01)
  api:delete(records .. "d")
  local entry = outbox:put(records .. "d", { json = { data = { title = "mine" } }, if_match = seen, id = "d" })
  t:equal({ held(t, entry).state, entry.theirs.status }, { "conflict", 404 })
  entry:resolve()
  t:equal(entry:wait().response.status, 201)
  t:equal(title "d", "mine")
end)

test("If-None-Match: * conflicts with a record that exists", function(t)
  api:put(records .. "e", { json = { data = { title = "theirs" } } })
  local entry = outbox:put(records .. "e", {
    json = { data = { title = "mine" } }, headers = { ["If-None-Match"] = "*" }, id = "e",
  })
  t:equal({ held(t, entry).state, entry.theirs.json.data.title }, { "conflict", "theirs" })
  entry:remove()
end)

test("a write of a user without permission is parked", function(t)
  local other = nightjar.client {
    base_url = origin, journal = folder.path .. "/other.db", auth = { type = "basic", user = "bob", password = "x" },
  }
  local rejected <close> = other:outbox()
  local entry = held(t, rejected:put(records .. "a", { json = { data = { title = "bob's" } }, id = "bob" }))
  t:equal({ entry.state, entry.error.status, entry.response.json.error }, { "parked", 403, "Forbidden" })
end)

assert(testing.run().ok, "a case failed")
