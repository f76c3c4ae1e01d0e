-- The cache: the options, api.cache, res.source, res:refreshed() and on_refresh. The demo's /cache/{name} responds as its query
-- specifies. Demo-Read counts the requests that have reached it.
local nightjar = require "nightjar"
local check = require "check"
local equal = check.equal

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, cache = true }

local function wait_until(condition)
  for _ = 1, 5000 do
    if condition() then return end
    nightjar.sleep(0.001)
  end
  error("it never came to be", 2)
end
local function name(what) return "/cache/" .. what .. os.tmpname():gsub(".*/", "") end
local fresh = { control = "max-age=60", etag = "strong" }
local stale = { control = "max-age=0", etag = "strong" }

-- A fresh response is returned without the server, a stale response after validation.
local a = name "a"
local res = api:get(a, { query = fresh })
equal(res.source, "network")
equal(res.attempts, 1)
res = api:get(a, { query = fresh })
equal(res.source, "cache")
equal(res.attempts, 0)
equal(res.headers.age ~= nil, true)
equal(res.headers.cache_status ~= nil, true)
equal(res.json.version, 1)
equal(tostring(res:explain()):match "served from the cache: fresh, %d s old" ~= nil, true)
equal(res:refreshed(), nil)
equal(api:get(a, { query = stale }).source, "network")
res = api:get(a, { query = stale })
equal(res.source, "revalidated")
equal(res.attempts, 1)

-- Cache policies of a call and of a client.
equal(api:get(a, { query = fresh, cache = false }).source, "network")
equal(api:get(a, { query = fresh, cache = "reload" }).source, "network")
equal(api:get(a, { query = fresh, cache = "revalidate" }).source, "revalidated")
equal(api:get(a, { query = fresh, cache = true }).source, "cache")
equal(api:get(a, { query = stale, cache = "cache_else_load" }).source, "stale")
equal(api:get(a, { query = stale, cache = "cache_only" }).source, "stale")
local nowhere = name "nowhere"
check.fails("cache_miss",
  ("the cache has no usable response for %s%s, and the cache policy does not allow a request: no response is stored for this URL"):format(origin, nowhere),
  api.get, api, nowhere, { cache = "cache_only" })
local offline = nightjar.client { base_url = origin, cache = { memory = "1MB", policy = "cache_only" } }
equal(select(2, nightjar.try(offline.get, offline, a)).kind, "cache_miss")
equal(offline:get(a, { cache = "protocol" }).source, "network")
equal(nightjar.client({ base_url = origin }):get(a, { query = fresh }).source, "network")

-- The cookies that identify a login: only the names given here partition the cache.
do
  local by_name = nightjar.client { base_url = origin, cache = { login_cookies = { "user" } } }
  local c = name "cookies"
  local function source(cookie) return by_name:get(c, { query = fresh, headers = { Cookie = cookie } }).source end
  equal(source "user=ada; n=1", "network")
  equal(source "n=2; user=ada", "cache")
  equal(source "user=bob; n=1", "network")
  equal(source "user=ada", "cache")
  equal(source "n=1", "network")
  local err = select(2, nightjar.try(nightjar.client, { cache = { login_cookies = "user" } }))
  equal(err.message, 'option "cache.login_cookies" must be a list of strings, found a string')
end

-- A write invalidates stored responses.
local b = name "b"
api.cache:put(b, { body = "{}", headers = { ["Cache-Control"] = "max-age=60" } })
equal(api:get(b).source, "cache")
api:post(b)
equal(api:get(b).source, "network")

-- Offline first: the stored response immediately, and a fresh one in the background.
local c = name "c"
local first = { query = stale, cache = "offline_first" }
equal(api:get(c, first):refreshed(), nil)
api:post(c)
res = api:get(c, first)
equal(res.source, "stale")
equal(res.json.version, 1)
local new, err = res:refreshed()
equal(err, nil)
equal(new.source, "network")
equal(new.json.version, 2)
equal(res:refreshed().json.version, 2) -- can be called repeatedly
equal(new:refreshed(), nil)

-- Several tasks can wait for it, and cancelling one does not affect the others.
api:post(c)
res = api:get(c, first)
local left = nightjar.spawn(function() return res:refreshed() end)
local x, y = nightjar.all { function() return res:refreshed() end, function() left:cancel() return res:refreshed() end }
equal(x.json.version, 3)
equal(y.json.version, 3)

-- on_refresh runs as a task of the script. The call does not wait for it.
local notified = {}
local slow = { control = "max-age=0", etag = "strong", delay = "0.3" }
local s = name "s"
api:get(s, { query = slow })
api:post(s)
local responses = nightjar.map({ 1 }, function()
  return api:get(s, {
    query = slow, cache = "offline_first",
    on_refresh = function(res, err) notified[#notified + 1] = err or res.json.version end,
  })
end)
equal(responses[1].json.version, 1)
equal(#notified, 0)
equal(responses[1]:refreshed().json.version, 2)
wait_until(function() return #notified > 0 end)
equal(notified[1], 2)
equal(#notified, 1)
api:get(c, { query = fresh, on_refresh = function() error "nothing was fetched again" end })
api:get(c, { query = fresh, on_refresh = function() error "nothing was fetched again" end })

-- A failing server: the old response stays, and the error is available.
local d = name "d"
local failing = { control = "max-age=0", etag = "strong", fail = "2", failure = "404" }
api:get(d, { query = failing })
local reported
res = api:get(d, { query = failing, cache = "offline_first", on_refresh = function(res, err) reported = { res, err } end })
equal(res.source, "stale")
new, err = res:refreshed()
equal(new, nil)
equal(err.kind, "not_found")
equal(err.status, 404)
wait_until(function() return reported end)
equal(reported[1], nil)
equal(reported[2].kind, "not_found")

-- stale-while-revalidate has the same effect.
local e = name "e"
local swr = { control = "max-age=0, stale-while-revalidate=60", etag = "strong" }
api:get(e, { query = swr })
api:post(e)
res = api:get(e, { query = swr })
equal(res.source, "stale")
equal(res:refreshed().json.version, 2)
-- Also for a streamed response.
api:post(e)
res = api:get(e, { query = swr, stream = true })
equal(res.source, "stale")
local parts = {}
for part in res:chunks() do parts[#parts + 1] = part end
equal(nightjar.json.decode(table.concat(parts)).version, 2)
equal(res:refreshed().json.version, 3)

-- The functions of api.cache.
local cache = api.cache
cache:clear()
equal(cache:get(a), nil)
cache:put(a, { headers = { ["Cache-Control"] = "max-age=60", ["X-Mine"] = "1" }, body = "planted" })
res = api:get(a)
equal(res.source, "cache")
equal(res.body, "planted")
equal(res.headers.x_mine, "1")
equal(cache:get(a).body, "planted")
cache:put(a, { json = { title = "later" }, headers = { ["Cache-Control"] = "max-age=60" } })
equal(cache:get(a).json.title, "later")
equal(cache:get(a).headers.content_type, "application/json")
cache:put(a, { status = 404, json = { error = "none" }, headers = { ["Cache-Control"] = "max-age=60" } }, { query = { page = 2 } })
equal(cache:get(a, { query = { page = 2 } }).status, 404)
equal(select(2, nightjar.try(api.get, api, a, { query = { page = 2 } })).kind, "not_found")
-- Without freshness information, a response is used only by calls that accept any age.
cache:put("/cache/{name}", { body = "old" }, { params = { name = "kept" } })
equal(cache:get("/cache/kept").body, "old")
equal(api:get("/cache/kept", { cache = "cache_only" }).body, "old")
equal(cache:delete(a), 1)
equal(cache:delete(a), 0)
equal(cache:delete(a, { query = { page = 2 } }), 1)
equal(cache:delete { prefix = "/cache/k" }, 1)
equal(cache:get("/cache/kept"), nil)
for _, path in ipairs { "/cache/p1", "/cache/p2", "/cache/q1" } do cache:put(path, { body = "x" }) end
equal(cache:delete { prefix = "/cache/p" }, 2)
equal(cache:delete { prefix = origin .. "/cache/" }, 1)
cache:put(a, { body = "x" })
equal(cache:clear(), 1)

-- Responses are partitioned by credentials.
cache:put(a, { body = "mine", headers = { ["Cache-Control"] = "max-age=60" } }, { headers = { Authorization = "Bearer me" } })
equal(cache:get(a), nil)
equal(cache:get(a, { headers = { Authorization = "Bearer you" } }), nil)
equal(cache:get(a, { headers = { Authorization = "Bearer me" } }).body, "mine")

-- Statistics.
do
  local counted = nightjar.client { base_url = origin, cache = true }
  counted:get(a, { query = fresh })
  counted:get(a, { query = fresh })
  counted:get(a, { query = fresh, cache = "revalidate" })
  local stats = counted.cache:stats()
  equal(stats.hits, 1)
  equal(stats.misses, 1)
  equal(stats.validations, 1)
  equal(stats.stale, 0)
  equal(stats.memory_entries, 1)
  equal(stats.disk_entries, 0)
  equal(stats.disk_bytes, 0)
  equal(stats.memory_bytes > 0 and stats.bytes_saved > 0, true)
end

-- A cache on disk, which the next client and the next run use.
local folder = os.tmpname()
os.remove(folder)
do
  local first <close> = nightjar.client { base_url = origin, cache = { disk = "1MB", path = folder } }
  first:get(a, { query = fresh })
  first.cache:flush()
  equal(first.cache:stats().disk_entries, 1)
end
do
  local second <close> = nightjar.client { base_url = origin, cache = { disk = "1MB", path = folder, memory = false } }
  equal(second:get(a, { query = fresh }).source, "cache")
  equal(second.cache:get(a, { query = fresh }).json.version, 1)
  equal(second.cache:clear(), 1)
  equal(second.cache:stats().disk_entries, 0)
end
collectgarbage()
collectgarbage()
os.execute("rm -rf '" .. folder .. "'")
check.fails("invalid_argument", "an ephemeral client writes nothing to disk, so it cannot have a disk cache",
  nightjar.client, { ephemeral = true, cache = { disk = "1MB", path = folder } })
equal(io.open(folder), nil)

-- Invalid options.
check.fails("invalid_argument", 'option "cache" must be true, false or a table, found a string', nightjar.client, { cache = "x" })
check.fails("invalid_argument", 'unknown option "cache.dist"; did you mean "disk"?', nightjar.client, { cache = { dist = 1 } })
check.fails("invalid_argument", 'option "cache.path" names a folder but there is no disk limit; set the option disk',
  nightjar.client, { cache = { path = "/tmp/x" } })
check.fails("invalid_argument",
  'option "cache.policy" is "offline"; it must be one of protocol, reload, revalidate, cache_else_load, cache_only, '
    .. 'offline_first', nightjar.client, { cache = { policy = "offline" } })
check.fails("invalid_argument",
  'option "cache" is "relaod"; it must be one of protocol, reload, revalidate, cache_else_load, cache_only, offline_first; '
    .. 'did you mean "reload"?', api.get, api, a, { cache = "relaod" })
check.misuse("get: on_refresh must be a function, got boolean", api.get, api, a, { on_refresh = true })

-- Misuse.
equal(nightjar.client({}).cache, nil)
equal(nightjar.client({ cache = false }).cache, nil)
equal(api.cache, api.cache)
equal(tostring(cache):match "^nightjar%.cache: 0x%x+$" ~= nil, true)
check.misuse("cache expected, got string; call it with a colon, as in api.cache:get(\"/path\")", cache.get, "x")
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
check.fails("invalid_argument", "the response cannot be stored: the response says no-store",
  function() cache:put("/", { headers = { ["Cache-Control"] = "no-store" } }) end)
check.fails("invalid_argument", "the response cannot be stored: the request says no-store",
  function() cache:put("/", { body = "" }, { headers = { ["Cache-Control"] = "no-store" } }) end)
check.fails("invalid_argument", "the response cannot be stored: its status is not cacheable",
  function() cache:put("/", { status = 100 }) end)
check.fails("invalid_request", "the value of header \"A\" contains a control character such as CR, LF or NUL; remove it",
  function() cache:put("/", { headers = { A = "x\r\ny" } }) end)
local closed = nightjar.client { base_url = origin, cache = true }
local kept = closed.cache
closed:close()
equal(kept:stats().hits, 0)
equal(kept:clear(), 0)
check.fails("closed", "the client is closed", function() kept:get "/" end)
check.fails("closed", "the client is closed", function() kept:put("/", {}) end)
check.fails("closed", "the client is closed", function() kept:delete "/" end)
check.fails("closed", "the client is closed", function() return closed.cache end)
-- A refresh ends when its client is closed.
do
  local leaving = nightjar.client { base_url = origin, cache = true }
  leaving:get(s, { query = slow })
  res = leaving:get(s, { query = slow, cache = "offline_first" })
  leaving:close()
  new, err = res:refreshed()
  equal(new, nil)
  equal(err.kind, "cancelled")
end
