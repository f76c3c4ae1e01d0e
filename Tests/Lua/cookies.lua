-- api.cookies, and what servers do with them. The demo's /cookies tells what came.
local nightjar = require "nightjar"
local check = require "check"
local equal = check.equal

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, cookies = true }

local function sent(client, path)
  return table.concat((client or api):get(path or "/cookies").json.fields, "|")
end

local function names(client)
  local found = {}
  for _, cookie in ipairs((client or api).cookies:list()) do found[#found + 1] = cookie.name .. "=" .. cookie.value end
  return table.concat(found, " ")
end

-- A server sets, is sent, and deletes.
equal(sent(), "")
api:get("/cookies/set", { query = { name = "a", value = "1", path = "/" } })
equal(sent(), "a=1")
api:get("/cookies/set", { query = { name = "a", value = "2", path = "/" } })
equal(sent(), "a=2")
api:get("/cookies/delete", { query = { name = "a", path = "/" } })
equal(sent(), "")

-- Each is sent where its path reaches, the more special first.
api:get("/cookies/set", { query = { raw = { "w=1; Path=/", "d=1; Path=/cookies/paths/x" } } })
equal(sent(), "w=1")
equal(sent(api, "/cookies/paths/x"), "d=1; w=1")
api.cookies:clear()

-- What a redirect sets goes with the next hop; a chain sets one at each.
api:get("/cookies/set", { query = { name = "hop", value = "1", path = "/", ["then"] = "/cookies" } })
equal(api:get("/cookies/set", { query = { name = "hop", value = "2", path = "/", ["then"] = "/cookies" } }).json.fields[1],
  "hop=2")
local second = "/cookies/set?name=two&value=2&path=/&then=/cookies"
local both = api:get("/cookies/set", { query = { name = "one", value = "1", path = "/", ["then"] = second } })
equal(both.json.fields[1], "hop=2; one=1; two=2")
equal(names(), "hop=2 one=1 two=2")

-- A call without cookies neither sends nor keeps any; one with a field of its own sends that.
equal(#api:get("/cookies", { cookies = false }).json.fields, 0)
api:get("/cookies/set", { cookies = false, query = { name = "no", value = "1", path = "/" } })
equal(names(), "hop=2 one=1 two=2")
equal(api:get("/cookies", { headers = { Cookie = "mine=1" } }).json.fields[1], "mine=1")

-- By hand.
equal(api.cookies:delete { name = "one" }, 1)
equal(api.cookies:delete { name = "one" }, 0)
equal(api.cookies:delete { domain = "127.0.0.1", path = "/" }, 2)
equal(names(), "")
api.cookies:set("https://example.com/x/y", "s=v; Max-Age=100; Path=/x; Secure; HttpOnly; SameSite=Strict; Domain=example.com")
api.cookies:set("https://example.com/", "t=1")
local list = api.cookies:list()
equal(#list, 2)
local t, s = list[1], list[2]
equal(s.name, "s")
equal(s.value, "v")
equal(s.domain, "example.com")
equal(s.path, "/x")
equal(s.secure, true)
equal(s.http_only, true)
equal(s.host_only, false)
equal(s.same_site, "strict")
equal(s.expires > os.time() + 90 and s.expires < os.time() + 110, true)
equal(t.expires, nil)
equal(t.same_site, nil)
equal(t.secure, false)
equal(t.host_only, true)
equal(sent(), "") -- they are of another host

-- cookies.txt, as text and as a file.
local text = api.cookies:text()
equal(text:match "^# Netscape HTTP Cookie File\n" ~= nil, true)
equal(text:match "#HttpOnly_%.example%.com\tTRUE\t/x\tTRUE\t%d+\ts\tv\n" ~= nil, true)
equal(text:match "\nexample%.com\tFALSE\t/\tFALSE\t0\tt\t1\n" ~= nil, true)
local other = nightjar.client { base_url = origin, cookies = true }
local stored, skipped = other.cookies:load_text(text .. "garbage\n")
equal(stored, 2)
equal(skipped, 1)
equal(names(other), "t=1 s=v")
local path = os.tmpname()
api.cookies:export(path)
other.cookies:clear()
equal(names(other), "")
stored, skipped = other.cookies:import(path)
equal(stored, 2)
equal(skipped, 0)
equal(names(other), "t=1 s=v")
os.remove(path)
local missing = check.fails("storage", ("opening the file %q failed: No such file or directory"):format(path), function()
  other.cookies:import(path)
end)
equal(missing.kind, "storage")

-- In a file: the next client has them, without those of the session unless that is asked for.
local file = os.tmpname()
os.remove(file)
do
  local first <close> = nightjar.client { base_url = origin, cookies = { file = file } }
  first:get("/cookies/set", { query = { raw = { "keep=1; Path=/; Max-Age=100", "session=1; Path=/" } } })
  equal(sent(first), "keep=1; session=1")
  -- Clients of one process share a file at once, by whatever name.
  local same <close> = nightjar.client { base_url = origin, cookies = { file = file:gsub("/([^/]*)$", "/./%1") } }
  equal(sent(same), "keep=1; session=1")
  check.fails("invalid_argument", ("the cookie file %q is in use with the other value of keep_session"):format(file),
    nightjar.client, { cookies = { file = file, keep_session = true } })
  first.cookies:flush()
end
collectgarbage()
collectgarbage()
do
  local next <close> = nightjar.client { base_url = origin, cookies = { file = file, policy = "first_party" } }
  equal(sent(next), "keep=1")
end
collectgarbage()
collectgarbage()
for _, ending in ipairs { "", "-wal", "-shm" } do os.remove(file .. ending) end

-- An ephemeral client leaves nothing on disk, not even an empty file.
check.fails("invalid_argument", "an ephemeral client writes nothing to disk, so it cannot have a cookie file",
  nightjar.client, { ephemeral = true, cookies = { file = file } })
equal(io.open(file), nil)
local ephemeral = nightjar.client { base_url = origin, ephemeral = true, cookies = true }
ephemeral:get("/cookies/set", { query = { name = "a", value = "1", path = "/" } })
equal(sent(ephemeral), "a=1")

-- Options that are wrong.
check.fails("invalid_argument", 'option "cookies" must be true, false, "all", "first_party", "none" or a table, found a string',
  nightjar.client, { cookies = "some" })
check.fails("invalid_argument", 'unknown option "cookies.files"; did you mean "file"?',
  nightjar.client, { cookies = { files = "x" } })
check.fails("storage", 'creating the cookie file "/nonexistent/x.db" failed: No such file or directory',
  nightjar.client, { cookies = { file = "/nonexistent/x.db" } })

-- Misuse.
equal(nightjar.client({}).cookies, nil)
equal(nightjar.client({ cookies = { policy = "none" } }).cookies, nil)
equal(api.cookies, api.cookies)
equal(tostring(api.cookies):match "^nightjar%.cookies: 0x%x+$" ~= nil, true)
check.misuse("cookies expected, got string; call it with a colon, as in api.cookies:list()", api.cookies.list, "x")
check.misuse("a cookie jar has no field 'lists'; did you mean 'list'?", function() return api.cookies.lists end)
check.misuse("a client has no field 'cookie'; did you mean 'cookies'?", function() return api.cookie end)
check.misuse("delete: name, domain or path is missing; clear() deletes all", function() api.cookies:delete {} end)
check.misuse("delete: unknown option 'nmae'; did you mean 'name'?", function() api.cookies:delete { nmae = "a" } end)
check.misuse("delete: name must be a string, got number", function() api.cookies:delete { name = 1 } end)
check.misuse("set: the cookie must be a string, got nil", function() api.cookies:set("http://h/", nil) end)
check.misuse("export: there is a NUL in the path", function() api.cookies:export("/tmp/a\0b") end)
check.fails("invalid_argument", "storing the cookie failed: it is Secure but was not received over https", function()
  api.cookies:set("http://h/", "a=1; Secure")
end)
check.fails("invalid_url", "the URL has no scheme; write http://host/path or https://host/path", function()
  api.cookies:set("h", "a=1")
end)
equal(api.cookies:delete { name = "\xff" }, 0)
local closed = nightjar.client { cookies = true }
local jar = closed.cookies
closed:close()
equal(#jar:list(), 0)
check.fails("closed", "the client is closed", function() return closed.cookies end)
