-- api.cookies, and cookies of servers. Needs the demo API, whose /cookies returns the cookies that it received.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"

local origin = os.getenv "NIGHTJAR_DEMO_URL"
-- Each test has a new client without cookies.
local api
testing.before(function() api = nightjar.client { base_url = origin, cookies = true } end)

-- The cookies that the server receives.
local function sent(client, path)
  return table.concat((client or api):get(path or "/cookies").json.fields, "|")
end

-- The cookies that the client has.
local function names(client)
  local found = {}
  for _, cookie in ipairs((client or api).cookies:list()) do found[#found + 1] = cookie.name .. "=" .. cookie.value end
  return table.concat(found, " ")
end

-- Stores two cookies of another host.
local function set_two()
  api.cookies:set("https://example.com/x/y",
    "s=v; Max-Age=100; Path=/x; Secure; HttpOnly; SameSite=Strict; Domain=example.com")
  api.cookies:set("https://example.com/", "t=1")
end

testing.test("a server sets a cookie, receives it, and deletes it", function(t)
  t:equal(sent(), "")
  api:get("/cookies/set", { query = { name = "a", value = "1", path = "/" } })
  t:equal(sent(), "a=1")
  api:get("/cookies/set", { query = { name = "a", value = "2", path = "/" } })
  t:equal(sent(), "a=2")
  api:get("/cookies/delete", { query = { name = "a", path = "/" } })
  t:equal(sent(), "")
end)

testing.test("a cookie is sent where its path matches, the longer path first", function(t)
  api:get("/cookies/set", { query = { raw = { "w=1; Path=/", "d=1; Path=/cookies/paths/x" } } })
  t:equal(sent(), "w=1")
  t:equal(sent(api, "/cookies/paths/x"), "d=1; w=1")
end)

testing.test("a cookie of a redirect is sent with the next request; each redirect of a chain can set one", function(t)
  api:get("/cookies/set", { query = { name = "hop", value = "1", path = "/", ["then"] = "/cookies" } })
  local hop = api:get("/cookies/set", { query = { name = "hop", value = "2", path = "/", ["then"] = "/cookies" } })
  t:equal(hop.json.fields[1], "hop=2")
  local second = "/cookies/set?name=two&value=2&path=/&then=/cookies"
  local both = api:get("/cookies/set",
    { query = { name = "one", value = "1", path = "/", ["then"] = second } })
  t:equal(both.json.fields[1], "hop=2; one=1; two=2")
  t:equal(names(), "hop=2 one=1 two=2")
end)

testing.test("a call with cookies = false neither sends nor stores cookies, and a Cookie field replaces the stored cookies", function(t)
  api:get("/cookies/set", { query = { raw = { "hop=2; Path=/", "one=1; Path=/", "two=2; Path=/" } } })
  t:equal(#api:get("/cookies", { cookies = false }).json.fields, 0)
  api:get("/cookies/set", { cookies = false, query = { name = "no", value = "1", path = "/" } })
  t:equal(names(), "hop=2 one=1 two=2")
  t:equal(api:get("/cookies", { headers = { Cookie = "mine=1" } }).json.fields[1], "mine=1")
end)

testing.test("delete removes cookies by name, domain and path, and returns their number", function(t)
  api:get("/cookies/set", { query = { raw = { "hop=2; Path=/", "one=1; Path=/", "two=2; Path=/" } } })
  t:equal(api.cookies:delete { name = "one" }, 1)
  t:equal(api.cookies:delete { name = "one" }, 0)
  t:equal(api.cookies:delete { domain = "127.0.0.1", path = "/" }, 2)
  t:equal(names(), "")
end)

testing.test("set stores cookies, and list returns them with their attributes", function(t)
  set_two()
  local list = api.cookies:list()
  t:equal(#list, 2)
  local plain, strict = list[1], list[2]
  t:equal(strict.name, "s")
  t:equal(strict.value, "v")
  t:equal(strict.domain, "example.com")
  t:equal(strict.path, "/x")
  t:equal(strict.secure, true)
  t:equal(strict.http_only, true)
  t:equal(strict.host_only, false)
  t:equal(strict.same_site, "strict")
  t:equal(strict.expires > os.time() + 90 and strict.expires < os.time() + 110, true)
  t:equal(plain.expires, nil)
  t:equal(plain.same_site, nil)
  t:equal(plain.secure, false)
  t:equal(plain.host_only, true)
  t:equal(sent(), "") -- they belong to another host
end)

testing.test("cookies are exported and imported in the format of cookies.txt, as text and as a file", function(t)
  set_two()
  local text = api.cookies:text()
  t:matches(text, "^# Netscape HTTP Cookie File\n")
  t:matches(text, "#HttpOnly_%.example%.com\tTRUE\t/x\tTRUE\t%d+\ts\tv\n")
  t:matches(text, "\nexample%.com\tFALSE\t/\tFALSE\t0\tt\t1\n")
  local other = nightjar.client { base_url = origin, cookies = true }
  local stored, skipped = other.cookies:load_text(text .. "garbage\n")
  t:equal(stored, 2)
  t:equal(skipped, 1)
  t:equal(names(other), "t=1 s=v")
  local path = os.tmpname()
  api.cookies:export(path)
  other.cookies:clear()
  t:equal(names(other), "")
  stored, skipped = other.cookies:import(path)
  t:equal(stored, 2)
  t:equal(skipped, 0)
  t:equal(names(other), "t=1 s=v")
  os.remove(path)
  local missing = check.fails("storage", ("opening the file %q failed: No such file or directory"):format(path),
    function() other.cookies:import(path) end)
  t:equal(missing.kind, "storage")
end)

testing.test("a cookie file has the cookies of the next client, without session cookies by default", function(t)
  local file = os.tmpname()
  os.remove(file)
  do
    local first <close> = nightjar.client { base_url = origin, cookies = { file = file } }
    first:get("/cookies/set", { query = { raw = { "keep=1; Path=/; Max-Age=100", "session=1; Path=/" } } })
    t:equal(sent(first), "keep=1; session=1")
    -- Clients of one process share a file, even with different paths to it.
    local same <close> = nightjar.client { base_url = origin, cookies = { file = file:gsub("/([^/]*)$", "/./%1") } }
    t:equal(sent(same), "keep=1; session=1")
    local message = ("the cookie file %q is already open with keep_session false; use the same value"):format(file)
    check.fails("invalid_argument", message,
      nightjar.client, { cookies = { file = file, keep_session = true } })
    first.cookies:flush()
  end
  collectgarbage()
  collectgarbage()
  do
    local next <close> = nightjar.client { base_url = origin, cookies = { file = file, policy = "first_party" } }
    t:equal(sent(next), "keep=1")
  end
  collectgarbage()
  collectgarbage()
  for _, ending in ipairs { "", "-wal", "-shm" } do os.remove(file .. ending) end
end)

testing.test("an ephemeral client leaves nothing on disk, not even an empty file", function(t)
  local file = os.tmpname()
  os.remove(file)
  check.fails("invalid_argument", "an ephemeral client writes nothing to disk, so it cannot have a cookie file",
    nightjar.client, { ephemeral = true, cookies = { file = file } })
  t:equal(io.open(file), nil)
  local ephemeral = nightjar.client { base_url = origin, ephemeral = true, cookies = true }
  ephemeral:get("/cookies/set", { query = { name = "a", value = "1", path = "/" } })
  t:equal(sent(ephemeral), "a=1")
end)

testing.test("invalid options are reported", function()
  check.fails("invalid_argument",
    'option "cookies" must be true, false, "all", "first_party", "none" or a table, found a string',
    nightjar.client, { cookies = "some" })
  check.fails("invalid_argument", 'unknown option "cookies.files"; did you mean "file"?',
    nightjar.client, { cookies = { files = "x" } })
  check.fails("storage", 'creating the cookie file "/nonexistent/x.db" failed: No such file or directory',
    nightjar.client, { cookies = { file = "/nonexistent/x.db" } })
end)

testing.test("api.cookies is nil without cookies, and is always the same value", function(t)
  t:equal(nightjar.client({}).cookies, nil)
  t:equal(nightjar.client({ cookies = { policy = "none" } }).cookies, nil)
  t:equal(api.cookies, api.cookies)
  t:matches(tostring(api.cookies), "^nightjar%.cookies: 0x%x+$")
end)

testing.test("invalid arguments of the functions are reported", function()
  check.misuse("cookies expected, got string; call methods with a colon, as in api.cookies:list()",
    api.cookies.list, "x")
  check.misuse("a cookie jar has no field 'lists'; did you mean 'list'?", function() return api.cookies.lists end)
  check.misuse("a client has no field 'cookie'; did you mean 'cookies'?", function() return api.cookie end)
  check.misuse("delete: name, domain or path is missing; clear() deletes all", function() api.cookies:delete {} end)
  check.misuse("delete: unknown option 'nmae'; did you mean 'name'?", function() api.cookies:delete { nmae = "a" } end)
  check.misuse("delete: name must be a string, got number", function() api.cookies:delete { name = 1 } end)
  check.misuse("set: the cookie must be a string, got nil", function() api.cookies:set("http://h/", nil) end)
  check.misuse("export: the path must not contain a NUL", function() api.cookies:export("/tmp/a\0b") end)
end)

testing.test("a cookie that its URL cannot set is refused", function()
  check.fails("invalid_argument", "storing the cookie failed: it is Secure but was not received over https", function()
    api.cookies:set("http://h/", "a=1; Secure")
  end)
  check.fails("invalid_url", "the URL has no scheme; write http://host/path or https://host/path", function()
    api.cookies:set("h", "a=1")
  end)
end)

testing.test("a name that is not UTF-8 deletes nothing", function(t)
  t:equal(api.cookies:delete { name = "\xff" }, 0)
end)

testing.test("the cookies of a closed client are an empty list", function(t)
  local closed = nightjar.client { cookies = true }
  local jar = closed.cookies
  closed:close()
  t:equal(#jar:list(), 0)
  check.fails("closed", "the client is closed", function() return closed.cookies end)
end)

assert(testing.run().ok, "a case failed")
