-- The cache: the options, api.cache, res.source, res:refreshed() and on_refresh. Needs the demo API, whose
-- /cache/{name} responds as its query specifies.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"

local origin = os.getenv "NIGHTJAR_DEMO_URL"
-- Each test has a new client, whose cache is empty.
local api
testing.before(function() api = nightjar.client { base_url = origin, cache = true } end)

local function wait_until(condition)
  for _ = 1, 5000 do
    if condition() then return end
    nightjar.sleep(0.001)
  end
  error("the condition did not become true", 2)
end
-- A new path of the demo.
local function name(what) return "/cache/" .. what .. nightjar.idempotency_key() end
local fresh = { control = "max-age=60", etag = "strong" }
local stale = { control = "max-age=0", etag = "strong" }
local slow = { control = "max-age=0", etag = "strong", delay = "0.3" }
local offline_first = { query = stale, cache = "offline_first" }

testing.test("a fresh response is returned without the server, a stale response after validation", function(t)
  local a = name "a"
  local res = api:get(a, { query = fresh })
  t:equal(res.source, "network")
  t:equal(res.attempts, 1)
  res = api:get(a, { query = fresh })
  t:equal(res.source, "cache")
  t:equal(res.attempts, 0)
  t:equal(res.headers.age ~= nil, true)
  t:equal(res.headers.cache_status ~= nil, true)
  t:equal(res.json.version, 1)
  t:equal(tostring(res:explain()):match "served from the cache: fresh, %d s old" ~= nil, true)
  t:equal(res:refreshed(), nil)
  t:equal(api:get(a, { query = stale }).source, "network")
  res = api:get(a, { query = stale })
  t:equal(res.source, "revalidated")
  t:equal(res.attempts, 1)
end)

testing.test("calls with different partitions share no responses", function(t)
  local a = name "a"
  for round = 1, 2 do
    for _, partition in ipairs { "one", "two" } do
      t:equal(api:get(a, { query = fresh, cache_partition = partition }).source, round == 1 and "network" or "cache")
    end
  end
  t:equal(api:get(a, { query = fresh }).source, "network")
  local tenant = "two"
  local hooked <close> = nightjar.client { base_url = origin, cache = true, before = function(request)
    request.cache_partition = tenant
  end }
  t:equal(hooked:get(a, { query = fresh }).source, "network")
  t:equal(hooked:get(a, { query = fresh }).source, "cache")
  tenant = "three"
  t:equal(hooked:get(a, { query = fresh }).source, "network")
end)

testing.test("lookups, lists, transfers and WebSockets accept a partition", function(t)
  local a, cache = name "a", api.cache
  api:get(a, { query = fresh, cache_partition = "one" })
  t:equal(cache:get(a, { query = fresh }), nil)
  t:equal(cache:get(a, { query = fresh, cache_partition = "one" }).source, "cache")
  cache:put(a, { body = "x", headers = { ["Cache-Control"] = "max-age=60" } }, { cache_partition = "two" })
  t:equal(cache:get(a, { cache_partition = "two" }).body, "x")
  t:equal(cache:get(a), nil)
  t:equal(cache:delete(a, { cache_partition = "two" }) > 0, true)
  local hooked <close> = nightjar.client { base_url = origin, cache = true, before = function(request)
    request.cache_partition = "one"
  end }
  for _, client in ipairs { api, hooked } do
    local title
    for article in client:paginate("/v1/articles", { cache_partition = client == api and "one" or nil }) do
      title = article.title
      break
    end
    t:equal(type(title), "string")
  end
  local path = os.tmpname()
  os.remove(path)
  hooked:download("/file?size=10", path)
  t:equal(os.remove(path), true)
end)

testing.test("a call and a client can have a cache policy", function(t)
  local a = name "a"
  for _, query in ipairs { fresh, stale } do api:get(a, { query = query }) end
  t:equal(api:get(a, { query = fresh, cache = false }).source, "network")
  t:equal(api:get(a, { query = fresh, cache = "reload" }).source, "network")
  t:equal(api:get(a, { query = fresh, cache = "revalidate" }).source, "revalidated")
  t:equal(api:get(a, { query = fresh, cache = true }).source, "cache")
  t:equal(api:get(a, { query = stale, cache = "cache_else_load" }).source, "stale")
  t:equal(api:get(a, { query = stale, cache = "cache_only" }).source, "stale")
  local nowhere = name "nowhere"
  check.fails("cache_miss",
    ("the cache has no usable response for %s%s, and the cache policy does not allow a request: no response is stored "
      .. "for this URL"):format(origin, nowhere),
    api.get, api, nowhere, { cache = "cache_only" })
  local offline = nightjar.client { base_url = origin, cache = { memory = "1MB", policy = "cache_only" } }
  t:equal(select(2, nightjar.try(offline.get, offline, a)).kind, "cache_miss")
  t:equal(offline:get(a, { cache = "protocol" }).source, "network")
  t:equal(nightjar.client({ base_url = origin }):get(a, { query = fresh }).source, "network")
end)

testing.test("only the cookies that identify a login partition the cache", function(t)
  local by_name = nightjar.client { base_url = origin, cache = { login_cookies = { "user" } } }
  local c = name "cookies"
  local function source(cookie) return by_name:get(c, { query = fresh, headers = { Cookie = cookie } }).source end
  t:equal(source "user=ada; n=1", "network")
  t:equal(source "n=2; user=ada", "cache")
  t:equal(source "user=bob; n=1", "network")
  t:equal(source "user=ada", "cache")
  t:equal(source "n=1", "network")
  local err = select(2, nightjar.try(nightjar.client, { cache = { login_cookies = "user" } }))
  t:equal(err.message, 'option "cache.login_cookies" must be a list of strings, found a string')
end)

testing.test("a write invalidates stored responses", function(t)
  local b = name "b"
  api.cache:put(b, { body = "{}", headers = { ["Cache-Control"] = "max-age=60" } })
  t:equal(api:get(b).source, "cache")
  api:post(b)
  t:equal(api:get(b).source, "network")
end)

testing.test("offline first: the stored response is returned immediately, and a fresh one follows", function(t)
  local c = name "c"
  t:equal(api:get(c, offline_first):refreshed(), nil)
  api:post(c)
  local res = api:get(c, offline_first)
  t:equal(res.source, "stale")
  t:equal(res.json.version, 1)
  local new, err = res:refreshed()
  t:equal(err, nil)
  t:equal(new.source, "network")
  t:equal(new.json.version, 2)
  t:equal(res:refreshed().json.version, 2) -- can be called repeatedly
  t:equal(new:refreshed(), nil)
end)

testing.test("several tasks can wait for the fresh response, and cancelling one does not affect the others", function(t)
  local c = name "c"
  api:get(c, offline_first)
  api:post(c)
  local res = api:get(c, offline_first)
  local left = nightjar.spawn(function() return res:refreshed() end)
  local x, y = nightjar.all {
    function() return res:refreshed() end,
    function()
      left:cancel()
      return res:refreshed()
    end,
  }
  t:equal(x.json.version, 2)
  t:equal(y.json.version, 2)
end)

testing.test("on_refresh is called once with the fresh response, and the call does not wait for it", function(t)
  local notified = {}
  local s = name "s"
  api:get(s, { query = slow })
  api:post(s)
  local responses = nightjar.map({ 1 }, function()
    return api:get(s, {
      query = slow, cache = "offline_first",
      on_refresh = function(res, err) notified[#notified + 1] = err or res.json.version end,
    })
  end)
  t:equal(responses[1].json.version, 1)
  t:equal(#notified, 0)
  t:equal(responses[1]:refreshed().json.version, 2)
  wait_until(function() return #notified > 0 end)
  t:equal(notified[1], 2)
  t:equal(#notified, 1)
end)

testing.test("on_refresh is not called if nothing is fetched in the background", function()
  local c = name "c"
  api:get(c, { query = stale })
  for _ = 1, 2 do api:get(c, { query = fresh, on_refresh = function() error "nothing was fetched again" end }) end
end)

testing.test("if the server fails, the stored response is returned, and the error is available", function(t)
  local d = name "d"
  local failing = { control = "max-age=0", etag = "strong", fail = "2", failure = "404" }
  api:get(d, { query = failing })
  local reported
  local res = api:get(d, {
    query = failing, cache = "offline_first", on_refresh = function(res, err) reported = { res, err } end,
  })
  t:equal(res.source, "stale")
  local new, err = res:refreshed()
  t:equal(new, nil)
  t:equal(err.kind, "not_found")
  t:equal(err.status, 404)
  wait_until(function() return reported end)
  t:equal(reported[1], nil)
  t:equal(reported[2].kind, "not_found")
end)

testing.test("stale-while-revalidate has the same effect, also for a streamed response", function(t)
  local e = name "e"
  local swr = { control = "max-age=0, stale-while-revalidate=60", etag = "strong" }
  api:get(e, { query = swr })
  api:post(e)
  local res = api:get(e, { query = swr })
  t:equal(res.source, "stale")
  t:equal(res:refreshed().json.version, 2)
  api:post(e)
  res = api:get(e, { query = swr, stream = true })
  t:equal(res.source, "stale")
  local parts = {}
  for part in res:chunks() do parts[#parts + 1] = part end
  t:equal(nightjar.json.decode(table.concat(parts)).version, 2)
  t:equal(res:refreshed().json.version, 3)
end)

testing.test("put inserts responses, which get and calls return", function(t)
  local a, cache = name "a", api.cache
  api:get(a, { query = fresh })
  cache:clear()
  t:equal(cache:get(a), nil)
  cache:put(a, { headers = { ["Cache-Control"] = "max-age=60", ["X-Mine"] = "1" }, body = "planted" })
  local res = api:get(a)
  t:equal(res.source, "cache")
  t:equal(res.body, "planted")
  t:equal(res.headers.x_mine, "1")
  t:equal(cache:get(a).body, "planted")
  cache:put(a, { json = { title = "later" }, headers = { ["Cache-Control"] = "max-age=60" } })
  t:equal(cache:get(a).json.title, "later")
  t:equal(cache:get(a).headers.content_type, "application/json")
  cache:put(a, { status = 404, json = { error = "none" }, headers = { ["Cache-Control"] = "max-age=60" } },
    { query = { page = 2 } })
  t:equal(cache:get(a, { query = { page = 2 } }).status, 404)
  t:equal(select(2, nightjar.try(api.get, api, a, { query = { page = 2 } })).kind, "not_found")
end)

testing.test("without freshness information, a response is used only by calls that accept any age", function(t)
  local cache = api.cache
  cache:put("/cache/{name}", { body = "old" }, { params = { name = "kept" } })
  t:equal(cache:get("/cache/kept").body, "old")
  t:equal(api:get("/cache/kept", { cache = "cache_only" }).body, "old")
end)

testing.test("delete and clear remove responses by path, options and prefix, and return their number", function(t)
  local a, cache = name "a", api.cache
  cache:put(a, { body = "x" })
  cache:put(a, { body = "x" }, { query = { page = 2 } })
  cache:put("/cache/kept", { body = "x" })
  t:equal(cache:delete(a), 1)
  t:equal(cache:delete(a), 0)
  t:equal(cache:delete(a, { query = { page = 2 } }), 1)
  t:equal(cache:delete { prefix = "/cache/k" }, 1)
  t:equal(cache:get("/cache/kept"), nil)
  for _, path in ipairs { "/cache/p1", "/cache/p2", "/cache/q1" } do cache:put(path, { body = "x" }) end
  t:equal(cache:delete { prefix = "/cache/p" }, 2)
  t:equal(cache:delete { prefix = origin .. "/cache/" }, 1)
  cache:put(a, { body = "x" })
  t:equal(cache:clear(), 1)
end)

testing.test("responses are partitioned by credentials", function(t)
  local a, cache = name "a", api.cache
  cache:put(a, { body = "mine", headers = { ["Cache-Control"] = "max-age=60" } },
    { headers = { Authorization = "Bearer me" } })
  t:equal(cache:get(a), nil)
  t:equal(cache:get(a, { headers = { Authorization = "Bearer you" } }), nil)
  t:equal(cache:get(a, { headers = { Authorization = "Bearer me" } }).body, "mine")
end)

testing.test("stats counts hits, misses, validations and entries", function(t)
  local a = name "a"
  api:get(a, { query = fresh })
  api:get(a, { query = fresh })
  api:get(a, { query = fresh, cache = "revalidate" })
  local stats = api.cache:stats()
  t:equal(stats.hits, 1)
  t:equal(stats.misses, 1)
  t:equal(stats.validations, 1)
  t:equal(stats.stale, 0)
  t:equal(stats.memory_entries, 1)
  t:equal(stats.disk_entries, 0)
  t:equal(stats.disk_bytes, 0)
  t:equal(stats.memory_bytes > 0 and stats.bytes_saved > 0, true)
end)

testing.test("the next client and the next run use a cache on disk", function(t)
  local a = name "a"
  local folder = os.tmpname()
  os.remove(folder)
  do
    local first <close> = nightjar.client { base_url = origin, cache = { disk = "1MB", path = folder } }
    first:get(a, { query = fresh })
    first.cache:flush()
    t:equal(first.cache:stats().disk_entries, 1)
  end
  do
    local second <close> = nightjar.client {
      base_url = origin, cache = { disk = "1MB", path = folder, memory = false },
    }
    t:equal(second:get(a, { query = fresh }).source, "cache")
    t:equal(second.cache:get(a, { query = fresh }).json.version, 1)
    t:equal(second.cache:clear(), 1)
    t:equal(second.cache:stats().disk_entries, 0)
  end
  collectgarbage()
  collectgarbage()
  os.execute("rm -rf '" .. folder .. "'")
end)

testing.test("an ephemeral client has no cache on disk", function(t)
  local folder = os.tmpname()
  os.remove(folder)
  check.fails("invalid_argument", "an ephemeral client writes nothing to disk, so it cannot have a disk cache",
    nightjar.client, { ephemeral = true, cache = { disk = "1MB", path = folder } })
  t:equal(io.open(folder), nil)
end)

testing.test("invalid options are reported", function()
  local a = name "a"
  check.fails("invalid_argument", 'option "cache" must be true, false or a table, found a string', nightjar.client,
    { cache = "x" })
  check.fails("invalid_argument", 'unknown option "cache.dist"; did you mean "disk"?', nightjar.client,
    { cache = { dist = 1 } })
  check.fails("invalid_argument", 'option "cache.path" names a folder but there is no disk limit; set the option disk',
    nightjar.client, { cache = { path = "/tmp/x" } })
  check.fails("invalid_argument",
    'option "cache.policy" is "offline"; it must be one of protocol, reload, revalidate, cache_else_load, cache_only, '
      .. 'offline_first', nightjar.client, { cache = { policy = "offline" } })
  check.fails("invalid_argument",
    'option "cache" is "relaod"; it must be one of protocol, reload, revalidate, cache_else_load, cache_only, '
      .. 'offline_first; did you mean "reload"?', api.get, api, a, { cache = "relaod" })
  check.misuse("get: on_refresh must be a function, got boolean", api.get, api, a, { on_refresh = true })
end)

testing.test("api.cache is nil without a cache, and is always the same value", function(t)
  local cache = api.cache
  t:equal(nightjar.client({}).cache, nil)
  t:equal(nightjar.client({ cache = false }).cache, nil)
  t:equal(api.cache, api.cache)
  t:matches(tostring(cache), "^nightjar%.cache: 0x%x+$")
end)

testing.test("invalid arguments of the functions are reported", function()
  local cache = api.cache
  check.misuse("cache expected, got string; call methods with a colon, as in api.cache:get(\"/path\")", cache.get, "x")
  check.misuse("a cache has no field 'gets'; did you mean 'get'?", function() return cache.gets end)
  check.misuse("get: path must be a string, got nil", function() cache:get() end)
  check.misuse("get: options must be a table, got number", function() cache:get("/", 1) end)
  check.misuse("get: unknown option 'json'", function() cache:get("/", { json = 1 }) end)
  check.misuse("put: response must be a table, got string", function() cache:put("/", "x") end)
  check.misuse("put: unknown option 'boddy'; did you mean 'body'?", function() cache:put("/", { boddy = "" }) end)
  check.misuse("put: body must be a string, got function", function() cache:put("/", { body = print }) end)
  check.misuse("put: status must be a number from 100 to 999", function() cache:put("/", { status = "200" }) end)
  check.misuse("put: only one of json, form, multipart, file and body may be set",
    function() cache:put("/", { body = "", json = 1 }) end)
  check.misuse("delete: a path or { prefix = PATH } expected, got nil", function() cache:delete() end)
  check.misuse("delete: prefix is missing; clear() deletes all", function() cache:delete {} end)
  check.misuse("delete: prefix must be a string, got number", function() cache:delete { prefix = 1 } end)
  check.misuse("delete: unknown option 'perfix'; did you mean 'prefix'?", function() cache:delete { perfix = "/" } end)
end)

testing.test("put refuses responses that cannot be stored", function()
  local cache = api.cache
  check.fails("invalid_argument", "the response cannot be stored: the response has no-store",
    function() cache:put("/", { headers = { ["Cache-Control"] = "no-store" } }) end)
  check.fails("invalid_argument", "the response cannot be stored: the request has no-store",
    function() cache:put("/", { body = "" }, { headers = { ["Cache-Control"] = "no-store" } }) end)
  check.fails("invalid_argument", "the response cannot be stored: the status of the response is not cacheable",
    function() cache:put("/", { status = 100 }) end)
  check.fails("invalid_request",
    "the value of header \"A\" contains a control character such as CR, LF or NUL; remove it",
    function() cache:put("/", { headers = { A = "x\r\ny" } }) end)
end)

testing.test("the cache of a closed client has statistics, and cannot be used", function(t)
  local kept = api.cache
  api:close()
  t:equal(kept:stats().hits, 0)
  t:equal(kept:clear(), 0)
  check.fails("closed", "the client is closed", function() kept:get "/" end)
  check.fails("closed", "the client is closed", function() kept:put("/", {}) end)
  check.fails("closed", "the client is closed", function() kept:delete "/" end)
  check.fails("closed", "the client is closed", function() return api.cache end)
end)

testing.test("a refresh in the background ends when its client is closed", function(t)
  local s = name "s"
  api:get(s, { query = slow })
  local res = api:get(s, { query = slow, cache = "offline_first" })
  api:close()
  local new, err = res:refreshed()
  t:equal(new, nil)
  t:equal(err.kind, "cancelled")
end)

testing.test("on_store decides which responses are stored", function(t)
  local seen, answer = {}, false
  local deciding = nightjar.client { base_url = origin, cache = true, on_store = function(response)
    nightjar.sleep(0.001)
    seen[#seen + 1] = response
    if answer == "error" then error "no decision" end
    return answer
  end }
  local path = name "stored"
  local function source() return deciding:get(path, { query = fresh }).source end
  local res = deciding:get(path, { query = fresh })
  t:equal(seen[1].call_id, res.call_id)
  t:equal(seen[1].method, "GET")
  t:equal(seen[1].status, 200)
  t:equal(seen[1].url:find(path, 1, true) ~= nil, true)
  t:equal(seen[1].headers["cache-control"], "max-age=60")
  t:equal(source(), "network")
  answer = "error"
  t:equal(source(), "network")
  answer = 7
  t:equal(source(), "network")
  answer = nil
  t:equal(source(), "network")
  t:equal(source(), "cache")
  t:equal(#seen, 5)
  local ok, why = pcall(nightjar.client, { on_store = 1 })
  t:equal(ok, false)
  t:equal(tostring(why):find("client: on_store must be a function, got number", 1, true) ~= nil, true)
end)

assert(testing.run().ok, "a case failed")
