-- Watches of etcd over HTTP. POST /v3/watch sends one JSON value per line until the client closes the connection. Keys and
-- values are Base64, and 64-bit integers are strings. Run by Tests/Streams/etcd:
--
--   nightjar etcd.lua ORIGIN PID NIGHTJAR
--
-- ORIGIN is the origin of the server, PID the id of its process, and NIGHTJAR the nightjar executable. The last case kills the
-- server, and waits until it runs again with the same port and data.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local base64, process, test = nightjar.base64, nightjar.process, testing.test

local origin, pid, command = table.unpack(arg, 1, 3)
local api = nightjar.client { base_url = origin, retry = { budget = { reserve = 1000 } } }

local function record(key, value) return { key = base64.encode(key), value = base64.encode(value) } end

-- Stores a value. Returns the revision of the change.
local function put(key, value)
  return math.tointeger(api:post("/v3/kv/put", { json = record(key, value) }).json.header.revision)
end

-- Returns the options of a call that watches all keys that begin with a prefix. `create` has further fields of the watch.
local function watching(prefix, create, options)
  options = options or {}
  create = create or {}
  create.key = base64.encode(prefix)
  create.range_end = base64.encode(prefix:sub(1, -2) .. string.char(prefix:byte(-1) + 1))
  options.method, options.json = "POST", { create_request = create }
  return options
end

local function watch(...) return api:ndjson("/v3/watch", watching(...)) end

-- Appends the changes of a value of a watch to a list.
local function append(list, value)
  for _, event in ipairs(value.result.events or {}) do
    list[#list + 1] = {
      key = base64.decode(event.kv.key), value = base64.decode(event.kv.value or ""),
      revision = math.tointeger(event.kv.mod_revision), type = event.type or "PUT",
    }
  end
end

-- Returns a list of one field of all changes.
local function field(changes, name)
  local list = {}
  for place, change in ipairs(changes) do list[place] = change[name] end
  return list
end

-- Returns the changes of a watch up to the change of a key, which is the last one.
local function changes_until(key, records)
  local changes = {}
  for value in records do
    append(changes, value)
    if #changes > 0 and changes[#changes].key == key then break end
  end
  return changes
end

-- Returns the next value of a watch, which must be the confirmation of the server.
local function confirm(t, records)
  local value = records()
  t:equal(value.result.created, true)
  return value
end

-- Waits until the server has this number of watches, at most 10 seconds. The server does not notify of their ends.
local function await_watches(t, expected)
  local deadline = nightjar.time.monotonic() + 10
  repeat
    local count = tonumber(api:get("/metrics").body:match "\netcd_debugging_mvcc_watcher_total (%S+)")
    if count == expected then return end
    nightjar.sleep(0.01)
  until nightjar.time.monotonic() > deadline
  t:fail(("the server has %s watches, expected %d"):format(count, expected))
end

test("each change arrives once and in order while another task makes the changes", function(t)
  local keys, values = {}, {}
  for n = 1, 200 do
    keys[n] = ("order/grün \0\xFF\n%d"):format(n % 7)
    values[n] = n % 10 == 0 and "" or ("%d: \"\0\r\n\xFF "):format(n):rep(n)
  end
  keys[201], values[201] = "order/end", ""

  local created, revisions = nightjar.channel(1), {}
  local writer = nightjar.spawn(function()
    created:receive()
    for n = 1, 201 do revisions[n] = put(keys[n], values[n]) end
  end)
  local records = watch "order/"
  confirm(t, records)
  created:send(true)
  local changes = changes_until("order/end", records)
  writer:join()
  t:equal(field(changes, "key"), keys)
  t:equal(field(changes, "value"), values)
  t:equal(field(changes, "revision"), revisions)
end)

test("the changes of concurrent tasks arrive once and in the order of their revisions", function(t)
  local records = watch "concurrent/"
  confirm(t, records)
  local writer = nightjar.spawn(function()
    local numbers = {}
    for n = 1, 100 do numbers[n] = n end
    local revisions = nightjar.map(numbers, function(n) return put("concurrent/" .. n, tostring(n)) end, { concurrency = 8 })
    put("concurrent/end", "")
    return revisions
  end)
  local changes = changes_until("concurrent/end", records)
  local expected = {}
  for n, revision in ipairs(writer:join()) do
    expected[#expected + 1] = { key = "concurrent/" .. n, value = tostring(n), revision = revision, type = "PUT" }
  end
  table.sort(expected, function(a, b) return a.revision < b.revision end)
  changes[#changes] = nil
  t:equal(changes, expected)
end)

test("50 watches receive the same change", function(t)
  local created, numbers = nightjar.channel(50), {}
  for n = 1, 50 do numbers[n] = n end
  local writer = nightjar.spawn(function()
    for _ = 1, 50 do created:receive() end
    put("many/end", "for all")
  end)
  local watches = nightjar.map(numbers, function()
    local records = watch "many/"
    confirm(t, records)
    created:send(true)
    return field(changes_until("many/end", records), "value")
  end, { concurrency = 50 })
  writer:join()
  t:equal(#watches, 50)
  for _, values in ipairs(watches) do t:equal(values, { "for all" }) end
  await_watches(t, 0)
end)

test("the changes of a transaction arrive as one value, and a deletion has no value", function(t)
  local records <close> = watch("txn/", { prev_kv = true })
  confirm(t, records)
  api:post("/v3/kv/txn", { json = { success = {
    { request_put = record("txn/a", "1") }, { request_put = record("txn/b", "2") }, { request_put = record("txn/c", "") },
  } } })
  local changes = {}
  append(changes, records())
  t:equal(field(changes, "key"), { "txn/a", "txn/b", "txn/c" })
  t:equal(field(changes, "value"), { "1", "2", "" })
  t:equal(changes[3].revision, changes[1].revision)

  api:post("/v3/kv/deleterange", { json = { key = base64.encode "txn/b" } })
  local value = records()
  append(changes, value)
  t:equal(changes[4], { key = "txn/b", value = "", revision = changes[1].revision + 1, type = "DELETE" })
  t:equal(base64.decode(value.result.events[1].prev_kv.value), "2")
end)

test("a watch resumes at the next revision after each end of the loop", function(t)
  local revisions, changes = {}, {}
  local function change() revisions[#revisions + 1] = put("resume/" .. #revisions % 3, tostring(#revisions + 1)) end
  for _ = 1, 5 do
    for _ = 1, 10 do change() end -- while there is no watch
    local first = #changes == 0 and revisions[1] or changes[#changes].revision + 1
    local last = #revisions + 3
    for value in watch("resume/", { start_revision = first }) do
      append(changes, value)
      if #changes >= last then break end
      if #changes >= #revisions then change() end -- while there is a watch
    end
  end
  t:equal(field(changes, "revision"), revisions)
  t:equal(#changes, 65)
  for n, each in ipairs(changes) do t:equal(each.value, tostring(n)) end
  await_watches(t, 0)
end)

test("a watch of a compacted revision is a value with the first revision that can be resumed", function(t)
  local revision = put("compacted/a", "1")
  api:post("/v3/kv/compaction", { json = { revision = tostring(revision) } })
  local records <close> = watch("compacted/", { start_revision = revision - 1 })
  confirm(t, records)
  local value = records()
  t:equal(value.result.canceled, true)
  t:equal(math.tointeger(value.result.compact_revision), revision)
end)

test("an invalid request is an error before the first value", function(t)
  local err = t:raises({ kind = "server", status = 500 }, watch, "invalid/", { start_revision = "one" },
    { retry = false })
  t:matches(err.response.json.error, "invalid character")
end)

test("a value of 500 KiB arrives as one line, unless the line is longer than max_line", function(t)
  local text = ("large \0\xFF"):rep(64000)
  local revision = put("large/a", text)
  local create = { start_revision = revision }
  local length
  for line in api:lines("/v3/watch", watching("large/", create)) do
    if not line:find '"created":true' then
      length = #line
      break
    end
  end
  t:truthy(length > 512000 * 4 // 3, length)
  local changes = changes_until("large/a", watch("large/", create, { max_line = length }))
  t:equal(#changes, 1)
  t:truthy(changes[1].value == text)

  for _, method in ipairs { "lines", "ndjson" } do
    local count = 0
    local err = t:raises({ kind = "too_large", delivered = 1 }, function()
      for _ in api[method](api, "/v3/watch", watching("large/", create, { max_line = length - 1 })) do count = count + 1 end
    end)
    t:equal(count, 1)
    t:matches(err.message, tostring(length - 1))
  end
  await_watches(t, 0)
end)

test("a line longer than 1 MiB is an error by default", function(t)
  local text = ("x"):rep(900 * 1024)
  local create = { start_revision = put("large/b", text) }
  t:raises({ kind = "too_large", delivered = 1 }, changes_until, "large/b", watch("large/b", create))
  local changes = changes_until("large/b", watch("large/b", create, { max_line = 2 << 20 }))
  t:truthy(changes[1].value == text)
end)

-- Ways to end a watch. Each function opens one watch, and calls `created` when the server has confirmed the watch.
local ways = {
  { "leaving the loop", function(t, created)
    for value in watch "leave/" do
      t:equal(value.result.created, true)
      created()
      break
    end
  end },
  { "an error in the loop", function(t, created)
    local ok, err = pcall(function()
      for _ in watch "leave/" do
        created()
        error "left"
      end
    end)
    t:equal(ok, false)
    t:matches(err, "left$")
  end },
  { "close", function(t, created)
    local records = watch "leave/"
    confirm(t, records)
    created()
    records:close()
    t:equal(records(), nil)
  end },
  { "the end of the scope", function(t, created)
    local records <close> = watch "leave/"
    confirm(t, records)
    created()
  end },
  { "cancelling the task that waits for a value", function(t, created)
    local confirmed = nightjar.channel(1)
    local task = nightjar.spawn(function()
      for _ in watch "leave/" do confirmed:send(true) end
    end)
    confirmed:receive()
    created()
    task:cancel()
    t:raises({ kind = "cancelled" }, task.join, task)
  end },
  { "closing the client", function(t, created)
    local other = nightjar.client { base_url = origin }
    local records = other:ndjson("/v3/watch", watching "leave/")
    confirm(t, records)
    created()
    other:close()
    t:raises({ kind = "cancelled", delivered = 1 }, records)
  end },
  { "a timeout of the function that waits for a value", function(t, created)
    t:raises({ kind = "timeout" }, nightjar.timeout, 2, function()
      for _ in watch "leave/" do created() end
    end)
  end },
  { "a timeout of the call", function(t, created)
    t:raises({ kind = "timeout", phase = "total", delivered = 1 }, function()
      for _ in watch("leave/", nil, { timeout = 2 }) do created() end
    end)
  end },
  { "the idle timeout", function(t, created)
    t:raises({ kind = "timeout", phase = "idle", delivered = 1 }, function()
      for _ in watch("leave/", nil, { timeout = { idle = 1 } }) do created() end
    end)
  end },
}
for _, way in ipairs(ways) do
  test("the server's watch ends after " .. way[1], function(t)
    await_watches(t, 0)
    local existed = false
    way[2](t, function()
      await_watches(t, 1)
      existed = true
    end)
    t:equal(existed, true)
    await_watches(t, 0)
  end)
end

test("progress notifications are values without changes", function(t)
  local revision = put("other", "")
  local records <close> = watch("progress/", { progress_notify = true })
  confirm(t, records)
  for _ = 1, 3 do
    local value = records()
    t:equal(value.result.events, nil)
    t:equal(math.tointeger(value.result.header.revision), revision)
  end
end)

test("nightjar post --lines writes values as they arrive, and Ctrl-C closes the connection", function(t)
  await_watches(t, 0)
  -- A shell may have started this test with SIGINT ignored, which children inherit.
  local child <close> = process.spawn {
    "env", "--default-signal=INT", command, "post", origin .. "/v3/watch", "create_request[key]=" .. base64.encode "command",
    "--lines", stdout = "pipe", stderr = "pipe",
  }
  t:equal(nightjar.json.decode(child.stdout:line()).result.created, true)
  await_watches(t, 1)
  for _, text in ipairs { "one", "zwei: ü", "" } do
    put("command", text)
    local changes = {}
    append(changes, nightjar.json.decode(child.stdout:line()))
    t:equal(field(changes, "value"), { text })
  end
  child:kill "INT"
  t:equal(child.stdout:line(), nil)
  t:equal(child.stderr:read_all(), "nightjar: interrupted\n")
  t:equal(child:wait().signal, "INT")
  await_watches(t, 0)
end)

test("nightjar get --lines writes the lines of a response that ends", function(t)
  local result = process.run { command, "get", origin .. "/metrics", "--lines" }
  t:equal(result.stderr, "")
  t:equal(result.ok, true)
  t:matches(result.stdout, "\netcd_server_has_leader 1\n")
end)

test("a killed server is the error connection_lost, and the watch resumes after its restart", function(t)
  local changes, count = {}, 0
  local err = t:raises({ kind = "connection_lost", attempts = 1, delivered = 6 }, function()
    for value in watch "killed/" do
      count = count + 1
      append(changes, value)
      if count <= 5 then put("killed/a", tostring(count)) end
      if count == 6 then process.run { "sh", "-c", "kill -KILL " .. pid, check = true } end
    end
  end)
  t:equal(count, 6)
  t:matches(err.message, "6 values were delivered")
  t:equal(field(changes, "value"), { "1", "2", "3", "4", "5" })

  -- Until the server runs again, connections are refused, or reset while the killed process ends. With an idempotency key, a POST
  -- is also sent again after a reset.
  local records <close> = watch("killed/", { start_revision = changes[5].revision },
    { idempotency_key = true, retry = { attempts = 100, base = 0.05, cap = 0.2 } })
  confirm(t, records)
  put("killed/a", "6")
  changes = {}
  while #changes < 2 do append(changes, records()) end
  t:equal(field(changes, "value"), { "5", "6" })
end)

assert(testing.run().ok, "a case failed")
