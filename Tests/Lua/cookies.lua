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

-- A client with two logins, whose cookies and cache are in a folder.
local function with_logins(folder)
  return nightjar.client {
    base_url = origin, cookies = { file = folder .. "/cookies.db", keep_session = true },
    cache = { disk = "1MB", path = folder .. "/cache", memory = false },
    auth = { schemes = {
      ada = { type = "oauth2", token_url = "/none", access_token = "at-ada", store = "file:" .. folder .. "/ada" },
      bob = { type = "oauth2", token_url = "/none", access_token = "at-bob", store = "file:" .. folder .. "/bob" },
    } },
  }
end

-- Returns whether a file of the folder or of its folders contains the text.
local function folder_contains(folder, text)
  local names, kinds = nightjar.fs.list(folder)
  for _, name in ipairs(names) do
    local path = folder .. "/" .. name
    if kinds[name] == "folder" then
      if folder_contains(path, text) then return true end
    elseif nightjar.fs.read(path):find(text, 1, true) then
      return true
    end
  end
  return false
end

testing.test("log_out deletes the cookies of its login on request", function(t)
  local folder <close> = nightjar.fs.temp_dir()
  local client = with_logins(folder.path)
  local function receive(name, scheme)
    client:get("/cookies/set", { auth = scheme, query = { name = name, value = "secret-" .. name, path = "/", max_age = 1000 } })
  end
  receive("ada", "ada")
  receive("bob", "bob")
  receive "page"
  t:equal(sent(client), "ada=secret-ada; bob=secret-bob; page=secret-page")
  client:log_out { scheme = "ada" }
  t:equal(sent(client), "ada=secret-ada; bob=secret-bob; page=secret-page")
  client:log_out { scheme = "ada", clear_cookies = true }
  t:equal(sent(client), "bob=secret-bob")
  -- log_out returns when the file has been changed.
  t:equal(folder_contains(folder.path, "secret-ada"), false)
  t:equal(folder_contains(folder.path, "secret-page"), false)
  t:equal(folder_contains(folder.path, "secret-bob"), true)
  client:close()
  -- The file has the login of a cookie.
  local next_run <close> = with_logins(folder.path)
  t:equal(sent(next_run), "bob=secret-bob")
  next_run:set_token { scheme = "ada", access_token = "at-ada-2" }
  next_run:log_out { scheme = "ada", clear_cookies = true }
  t:equal(sent(next_run), "bob=secret-bob")
  next_run:log_out { scheme = "bob", clear_cookies = true }
  t:equal(sent(next_run), "")
  t:equal(folder_contains(folder.path, "secret-bob"), false)
end)

testing.test("log_out removes the cached responses of its login, also of requests with cookies", function(t)
  local folder <close> = nightjar.fs.temp_dir()
  local client <close> = with_logins(folder.path)
  client.cookies:set(origin .. "/", "theme=dark; Path=/")
  local function read(scheme)
    local name = nightjar.uuid.v7()
    client:get("/cache/" .. name, { auth = scheme, query = { control = "private, max-age=100" } })
    return name
  end
  local ada = read "ada"
  local bob = read "bob"
  t:equal(client.cache:stats().disk_entries, 2)
  client:log_out { scheme = "ada" }
  t:equal(client.cache:stats().disk_entries, 1)
  t:equal(folder_contains(folder.path .. "/cache", ada), false)
  t:equal(folder_contains(folder.path .. "/cache", bob), true)
end)

testing.test("a client without a login can delete the cookies of its host", function(t)
  api.cookies:set("https://example.com/", "other=1; Path=/")
  api:get("/cookies/set", { query = { name = "session", value = "1", path = "/" } })
  api:log_out { clear_cookies = true }
  t:equal(names(), "other=1")
  check.misuse("log_out: clear_cookies must be a boolean, got string", api.log_out, api, { clear_cookies = "yes" })
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
