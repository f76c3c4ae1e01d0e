-- Logins: tokens that expire, for each way to obtain them. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse, fails = check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local plain = nightjar.client { base_url = origin }

local function control(what) plain:post("/__control", { json = what }) end
local function auth_counts() return plain:get("/__stats").json.auth end
local function asked_scope() return plain:get("/__stats").json.scope end
local function client(auth) return nightjar.client { base_url = origin, auth = auth } end
local function log_in(lifetime)
  return plain:post("/v1/auth/login",
    { json = { email = "ada@example.org", password = "moonlight", expires_in = lifetime } }).json
end
local function me(api) return api:get("/v1/me").json.handle end

-- A client that has tokens and refreshes them.
local function refreshing(tokens, store)
  return client {
    type = "oauth2", token_url = "/v1/oauth/token", client_id = "demo", store = store,
    access_token = tokens.access_token, refresh_token = tokens.refresh_token,
  }
end
local function authorization_code()
  return client {
    type = "oauth2", grant = "authorization_code", token_url = "/v1/oauth/token", client_id = "demo",
    authorize_url = "/v1/oauth/authorize",
  }
end
-- The values of a header of the request to /echo.
local function server_saw(res, name)
  local found = {}
  for _, field in ipairs(res.json.headers) do
    if field[1]:lower() == name then found[#found + 1] = field[2] end
  end
  return table.concat(found, "|")
end
local calls = {}
for i = 1, 200 do calls[i] = i end
local no_login = "there is no login, or the server has ended the login; log in again"

-- The counts of the server start at zero in each case.
testing.before(function() control { reset = true } end)

testing.test("two hundred calls with an expired token cause one refresh, and all succeed", function(t)
  local tokens = log_in()
  control { expire_access_tokens = true }
  local api = refreshing(tokens)
  local handles = nightjar.map(calls, function() return me(api) end, { concurrency = 200 })
  for _, handle in ipairs(handles) do t:equal(handle, "ada") end
  t:equal(auth_counts().refreshes, 1)
  t:equal(auth_counts().refresh_reuses, 0)
  t:equal(me(api), "ada")
  t:equal(auth_counts().refreshes, 1)
end)

testing.test("a rotating refresh token is stored in a file, where the next run finds it", function(t)
  local store = os.tmpname()
  os.remove(store)
  store = store .. ".token"
  local kept = log_in()
  for _ = 1, 3 do
    control { expire_access_tokens = true }
    local run <close> = refreshing(kept, "file:" .. store)
    t:equal(me(run), "ada")
  end
  t:equal(auth_counts().refreshes, 3)
  t:equal(auth_counts().refresh_reuses, 0)
  os.remove(store)
end)

testing.test("the login endpoint is called once, and the refresh endpoint when the token expires", function(t)
  local before = auth_counts()
  local api = client {
    type = "login", url = "/v1/auth/login", json = { email = "ada@example.org", password = "moonlight" },
    refresh = { url = "/v1/auth/refresh" },
  }
  t:equal(me(api), "ada")
  control { expire_access_tokens = true }
  t:equal(me(api), "ada")
  local after = auth_counts()
  t:equal(after.logins - before.logins, 1)
  t:equal(after.refreshes - before.refreshes, 1)
end)

testing.test("the client credentials grant sends its credentials in a header or in the body", function(t)
  for _, way in ipairs { "basic", "post" } do
    local api = client {
      type = "oauth2", grant = "client_credentials", token_url = "/v1/oauth/token", client_id = "demo",
      client_secret = "demo-secret", client_auth = way,
    }
    t:equal(api:get("/v1/me").json.client_id, "demo")
  end
  t:equal(auth_counts().client_credentials, 2)
end)

testing.test("digest authentication proves both sides, and uses the nonce of the last response", function(t)
  for _, algorithm in ipairs { "SHA-256", "MD5", "SHA-256-sess", "both" } do
    local api = client { type = "digest", user = "demo", password = "secret" }
    t:equal(api:get("/v1/digest", { query = { algorithm = algorithm } }).json.user, "demo")
    t:equal(api:post("/v1/digest", { query = { algorithm = algorithm }, body = "abc" }).json.body_bytes, 3)
    -- Each response proves that the server has the password, and contains the nonce of the next request.
    api = client { type = "digest", user = "demo", password = "secret" }
    for round = 1, 3 do
      local res = api:get("/v1/digest", { query = { algorithm = algorithm, next = 1, uses = 1 } })
      t:equal(res.json.nc, 1)
      t:equal(#res:explain(), round == 1 and 1 or 0)
      t:truthy(res.headers["authentication-info"]:find "rspauth=")
    end
  end
end)

testing.test("basic credentials, keys and tokens that do not expire are sent unchanged", function(t)
  t:equal(client({ type = "basic", user = "demo", password = "secret" }):get("/v1/basic").json.user, "demo")
  t:equal(client({ type = "api_key", key = "demo-key" }):get("/v1/api-key").json["in"], "header")
  t:equal(client({ type = "api_key", key = "demo-key", query = "api_key" }):get("/v1/api-key").json["in"], "query")
  t:equal(client({ type = "bearer", token = log_in().access_token }):get("/v1/me").status, 200)
end)

testing.test("a call with auth = false is sent without the token", function(t)
  local api = refreshing(log_in())
  t:equal(nightjar.try(api.get, api, "/v1/me", { auth = false }), nil)
end)

testing.test("a provider may call the server and wait, and is called once for all calls", function(t)
  local requested, ticks, ended = {}, 0, 0
  local provided = {
    type = "bearer",
    provider = function(info)
      requested[#requested + 1] = info.rejected
      repeat nightjar.sleep(0.002) until ticks >= 3
      local token = log_in()
      return token.access_token, token.expires_in
    end,
    on_login_required = function()
      ended = ended + 1
      nightjar.sleep(0.001)
    end,
  }
  local api = client(provided)
  local ticker = nightjar.spawn(function() while true do nightjar.sleep(0.005) ticks = ticks + 1 end end)
  local first_caller = nightjar.spawn(function() return me(api) end)
  local other_caller = nightjar.spawn(function() return me(api) end)
  nightjar.sleep(0.01)
  first_caller:cancel() -- the first caller may leave; the token is for all callers
  t:equal(other_caller:join(), "ada")
  ticker:cancel()
  t:equal(#nightjar.map(calls, function() return me(api) end, { concurrency = 200 }), 200)
  t:equal(#requested, 1)
  t:equal(requested[1], false)
  control { expire_access_tokens = true }
  t:equal(#nightjar.map(calls, function() return me(api) end, { concurrency = 200 }), 200)
  t:equal(#requested, 2)
  t:equal(requested[2], true)
  t:equal(ended, 0)
end)

testing.test("a token is refreshed before its known expiry", function(t)
  local lifetimes = 0
  local function provider()
    lifetimes = lifetimes + 1
    return log_in().access_token, 0.02
  end
  local api = client { type = "bearer", skew = 0, provider = provider }
  me(api)
  nightjar.sleep(0.03)
  me(api)
  t:equal(lifetimes, 2)
end)

testing.test("the server may report lifetimes in milliseconds", function(t)
  for unit, expected in pairs { seconds = 1, milliseconds = 2 } do
    for _, auth in ipairs {
      { type = "login", url = "/token", json = { user = "ada" }, lifetime = "/ttl", skew = 0, lifetime_unit = unit },
      { type = "oauth2", token_url = "/token", grant = "client_credentials", client_id = "a", client_secret = "b", skew = 0,
        lifetime_unit = unit },
    } do
      local issued = 0
      local function issue()
        issued = issued + 1
        return { json = { access_token = "t" .. issued, expires_in = 60, ttl = 60 } }
      end
      local api = nightjar.client {
        base_url = "http://api.test", auth = auth, mock = { { path = "/token", response = issue }, { path = "/x", response = 200 } },
      }
      api:get "/x"
      nightjar.sleep(0.08)
      api:get "/x"
      t:equal(issued, expected, unit .. " " .. auth.type)
    end
  end
  fails("invalid_argument", 'option "auth.lifetime_unit" is "ms"; it must be one of "seconds", "milliseconds"',
    client, { type = "oauth2", token_url = "/token", lifetime_unit = "ms" })
end)

testing.test("invalid results and errors of a provider fail the call, but keep the login", function(t)
  local ended = 0
  local kept_text = "the token was not refreshed and the login is kept: the token provider failed: "
  local respond
  local api = client {
    type = "bearer", provider = function() return respond() end, on_login_required = function() ended = ended + 1 end,
  }
  respond = function() error("no network here", 0) end
  fails("unauthorized", kept_text .. "no network here", me, api)
  respond = function() plain:get "/status/401" end
  fails("unauthorized", kept_text
    .. [[GET returned 401 Unauthorized: "this response was requested"; the server requires Basic (realm "demo")]],
    me, api)
  respond = function() return {} end
  fails("unauthorized", kept_text .. "auth.provider must return a string or nil, got table", me, api)
  respond = function() return "x", "soon" end
  fails("unauthorized", kept_text .. "auth.provider must return a non-negative number of seconds as its second value",
    me, api)
  respond = function() return "x\n" end
  fails("unauthorized",
    kept_text .. "the access token is empty or contains a character that is not allowed in a header", me, api)
  t:equal(ended, 0)
end)

testing.test("a provider that returns nil ends the login: a callback runs once, and then all calls fail", function(t)
  local ended = 0
  local lost = client {
    type = "bearer", provider = function() nightjar.sleep(0.001) return nil end,
    on_login_required = function() ended = ended + 1 end,
  }
  local failed = 0
  nightjar.map({ 1, 2, 3 }, function()
    fails("unauthorized", no_login, me, lost)
    t:equal(ended, 1)
    failed = failed + 1
  end)
  t:equal(failed, 3)
  fails("unauthorized", no_login, me, lost)
  t:equal(ended, 1)
end)

testing.test("set_token starts a login and log_out ends it", function(t)
  local lost = client { type = "bearer", provider = function() return nil end }
  fails("unauthorized", no_login, me, lost)
  local brought = log_in()
  lost:set_token { access_token = brought.access_token, refresh_token = brought.refresh_token, expires_in = 60 }
  t:equal(me(lost), "ada")
  lost:log_out()
  fails("unauthorized", no_login, me, lost)
  lost:set_token { access_token = brought.access_token }
  t:equal(me(lost), "ada")
end)

testing.test("the callback also runs when the server ends the login", function(t)
  local ended = 0
  local dead = client {
    type = "oauth2", token_url = "/v1/oauth/token", client_id = "demo",
    access_token = "at_old", refresh_token = "rt_gone",
    on_login_required = function() ended = ended + 1 end,
  }
  fails("unauthorized", no_login, me, dead)
  t:equal(ended, 1)
end)

testing.test("device flow: a user authorizes the program elsewhere, and a failed login changes nothing", function(t)
  local function device(interval)
    return client {
      type = "oauth2", grant = "device_code", token_url = "/v1/oauth/token", client_id = "demo",
      device_url = "/v1/oauth/device?interval=" .. (interval or 0.01),
    }
  end
  local function decide(info, allow)
    plain:post("/v1/oauth/device/decide", { form = { user_code = info.user_code, allow = allow } })
  end
  local shown
  local api = device()
  fails("unauthorized", no_login, me, api)
  api:log_in { prompt = function(info)
    shown = info
    nightjar.sleep(0.005)
    decide(info, 1)
  end }
  t:truthy(shown.page:find "/v1/oauth/device$" and shown.complete_page:find(shown.user_code, 1, true))
  t:equal(shown.url, nil)
  t:equal(me(api), "ada")
  local _, denied = nightjar.try(api.log_in, api, { prompt = function(info) decide(info, 0) end })
  t:truthy(denied.kind == "unauthorized" or denied.kind == "forbidden", denied)
  misuse("no screen", api.log_in, api, { prompt = function() error "no screen" end })
  local left = nightjar.spawn(function() api:log_in { prompt = function() shown = "left" end } end)
  repeat nightjar.sleep(0.002) until shown == "left"
  left:cancel()
  fails("cancelled", "the task was cancelled", left.join, left)
  t:equal(me(api), "ada")
end)

testing.test("authorization code flow: log_in obtains a token with the code from the browser", function(t)
  -- The script acts as the browser. Without TLS, browsers use HTTP/1.1.
  local api = authorization_code()
  local browser, visit = nightjar.client { http = { versions = { "1.1" } } }, nil
  api:log_in { prompt = function(info)
    t:equal(info.user_code, nil)
    visit = nightjar.spawn(function() browser:get(info.url) end)
  end }
  visit:join()
  t:equal(me(api), "ada")
end)

testing.test("log_in requires a login that obtains tokens, and a function as prompt", function()
  local api = authorization_code()
  fails("invalid_request", "the client has no login; set its option auth with the type oauth2 or login",
    plain.log_in, plain)
  misuse("log_in: prompt must be a function, got string", api.log_in, api, { prompt = "x" })
  misuse("log_in: unknown option 'promt'; did you mean 'prompt'?", api.log_in, api, { promt = print })
end)

testing.test("a logout that cannot be saved is an error, but the client is logged out", function(t)
  local folder = os.tmpname()
  os.remove(folder)
  nightjar.fs.mkdir(folder)
  local brought = log_in()
  local api <close> = refreshing({}, "file:" .. folder .. "/a.token")
  local function bring()
    api:set_token { access_token = brought.access_token, refresh_token = brought.refresh_token }
  end
  bring()
  t:equal(me(api), "ada")
  api:log_out()
  fails("unauthorized", no_login, me, api)
  bring()
  t:equal(me(api), "ada")
  -- set_token saves the login in the background. A later save would fail, or create files in the removed folder.
  repeat nightjar.sleep(0.002) until nightjar.fs.read(folder .. "/a.token"):find(brought.access_token, 1, true)
  nightjar.fs.remove(folder, { recursive = true })
  nightjar.fs.write(folder, "no folder")
  local beats = 0 -- other tasks run meanwhile
  local heart = nightjar.spawn(function() while true do beats = beats + 1 nightjar.sleep(0) end end)
  local _, err = nightjar.try(api.log_out, api)
  heart:cancel()
  t:equal(err.kind, "storage")
  local expected = "this client is logged out, but its store may still have the login: "
  t:truthy(err.message:find(expected, 1, true), err.message)
  t:truthy(beats > 0)
  t:equal(select(2, nightjar.try(me, api)) ~= nil, true)
  os.remove(folder)
end)

testing.test("no output contains secrets", function(t)
  local api = client { type = "bearer", token = "hunter2" }
  local provided = client { type = "bearer", provider = function() return "hunter2" end }
  local _, err = nightjar.try(me, api)
  for _, shown in ipairs { api, provided, err, err:explain(), err:curl(), err.response } do
    t:falsy(tostring(shown):find "hunter2", tostring(shown))
  end
end)

testing.test("invalid options are reported", function()
  misuse("client: auth.provider must be a function, got string", client, { type = "bearer", provider = "x" })
  misuse("client: auth.on_login_required must be a function, got number", client,
    { type = "oauth2", on_login_required = 1 })
  misuse("client: auth.provider requires the type \"bearer\"", client, { type = "login", provider = print })
  misuse("client: unknown option 'auth.token'", client, { type = "bearer", provider = print, token = "x" })
  misuse("client: unknown option 'auth.skwe'; did you mean 'auth.skew'?", client,
    { type = "bearer", provider = print, skwe = 1 })
  fails("invalid_argument",
    'option "auth.on_login_required" requires type "oauth2", "login", or "bearer" with a provider', client,
    { type = "basic", user = "a", password = "b", on_login_required = print })
  fails("invalid_argument", 'option "auth.skew" must be a number of seconds, found a string', client,
    { type = "bearer", provider = print, skew = "x" })
end)

testing.test("set_token reports invalid tokens", function()
  local api = authorization_code()
  misuse("set_token: access_token is missing", api.set_token, api, {})
  misuse("set_token: a table expected, got string", api.set_token, api, "token")
  misuse("set_token: refresh_token must be a string, got number", api.set_token, api,
    { access_token = "x", refresh_token = 1 })
  misuse("set_token: expires_in must be a non-negative number of seconds", api.set_token, api,
    { access_token = "x", expires_in = -1 })
  misuse("set_token: unknown option 'acess_token'; did you mean 'access_token'?", api.set_token, api,
    { acess_token = "x" })
end)

-- Options with several credentials, each with the name of a security scheme.
local several_schemes = {
  base_url = origin,
  cookies = true,
  endpoints = {
    by_key = { path = "/echo", security = "key" },
    by_token = { path = "/echo", security = { "missing", "token" } },
    by_both = { path = "/echo", security = { { token = {}, key = {} } } },
    by_cookie = { path = "/echo", security = "sid", parameters = { theme = { ["in"] = "cookie" } } },
    open = { path = "/echo", security = {} },
    nobody = { path = "/echo", security = { { missing = {}, key = {} }, "other" } },
    me = { path = "/v1/me", security = { { oauth = { "read" } } } },
  },
  auth = {
    schemes = {
      key = { type = "api_key", key = "demo-key" },
      token = { type = "bearer", token = "t" },
      sid = { type = "api_key", key = "s3", cookie = "sid" },
      oauth = {
        type = "oauth2", grant = "client_credentials", token_url = "/v1/oauth/token", client_id = "demo",
        client_secret = "demo-secret", scope = "read",
      },
    },
  },
}

testing.test("an endpoint sends the credentials of the schemes that it names", function(t)
  local several = nightjar.client(several_schemes)
  several.cookies:set(origin .. "/", "sid=jar; Path=/")
  several.cookies:set(origin .. "/", "lang=en; Path=/")
  local got = several.endpoints.by_key()
  t:equal(server_saw(got, "x-api-key") .. " " .. server_saw(got, "authorization"), "demo-key ")
  t:equal(server_saw(got, "cookie"), "sid=jar; lang=en")
  got = several.endpoints.by_token()
  t:equal(server_saw(got, "x-api-key") .. " " .. server_saw(got, "authorization"), " Bearer t")
  got = several.endpoints.by_both()
  t:equal(server_saw(got, "x-api-key") .. " " .. server_saw(got, "authorization"), "demo-key Bearer t")
  t:equal(server_saw(several.endpoints.by_cookie { theme = "dark" }, "cookie"), "lang=en; theme=dark; sid=s3")
  t:equal(server_saw(several.endpoints.open(), "authorization"), "")
  t:equal(server_saw(several:get("/echo"), "x-api-key"), "")
  t:equal(server_saw(several:get("/echo", { auth = "key" }), "x-api-key"), "demo-key")
  t:equal(server_saw(several:get("/echo", { auth = { "key", "token" } }), "authorization"), "Bearer t")
  fails("invalid_request", 'the client has no credentials for the scheme "tokn"; did you mean "token"?',
    several.get, several, "/echo", { auth = "tokn" })
  fails("invalid_request",
    'endpoint "nobody": authentication is required by "key" and "missing", or by "other", '
      .. 'and the client has credentials for '
      .. '"key", "oauth", "sid", "token"; set the required credentials in the option auth.schemes', several.endpoints.nobody)
  t:equal(several.endpoints.me().json.client_id, "demo")
  t:equal(asked_scope(), "read")
  t:equal(auth_counts().client_credentials, 1)
end)

testing.test("log_in, log_out and set_token apply to the named scheme", function(t)
  local several = nightjar.client(several_schemes)
  t:equal(several.endpoints.me().json.client_id, "demo")
  several:log_out { scheme = "oauth" }
  fails("invalid_request", 'the client has no login for the scheme "ouath"; did you mean "oauth"?',
    several.log_out, several, { scheme = "ouath" })
  several:log_in { scheme = "oauth" }
  t:equal(several.endpoints.me().json.client_id, "demo")
  several:set_token { access_token = log_in().access_token, scheme = "oauth" }
  t:equal(several.endpoints.me().json.handle, "ada")
  misuse("log_out: scheme must be a string, got number", several.log_out, several, { scheme = 1 })
  misuse("log_out: unknown option 'schem'; did you mean 'scheme'?", several.log_out, several, { schem = "oauth" })
end)

testing.test("two logins have one refresh each, regardless of the number of waiting calls", function(t)
  local function user_login(person)
    return {
      type = "login", url = "/v1/auth/login", json = { email = person, password = "moonlight" },
      refresh = { url = "/v1/auth/refresh" },
    }
  end
  local ended_logins = 0
  local two = nightjar.client {
    base_url = origin,
    endpoints = { one = { path = "/v1/me", security = "one" }, other = { path = "/v1/me", security = "other" } },
    auth = {
      schemes = { one = user_login "ada@example.org", other = user_login "ada@example.org" },
      on_login_required = function() ended_logins = ended_logins + 1 end,
    },
  }
  t:equal(two.endpoints.one().json.handle .. two.endpoints.other().json.handle, "adaada")
  t:equal(auth_counts().logins, 2)
  control { expire_access_tokens = true }
  local hundred = {}
  for i = 1, 100 do hundred[i] = i end
  for _, handle in ipairs(nightjar.map(hundred, function(i)
    return (i % 2 == 0 and two.endpoints.one or two.endpoints.other)().json.handle
  end, { concurrency = 100 })) do t:equal(handle, "ada") end
  t:equal(auth_counts().refreshes, 2)
  t:equal(auth_counts().logins, 2)
  t:equal(ended_logins, 0)
end)

testing.test("a provider of a scheme is called for its own scheme, and the options are unchanged", function(t)
  local hundred = {}
  for i = 1, 100 do hundred[i] = i end
  local seen_requests = {}
  local function providing(name)
    return function(info)
      seen_requests[#seen_requests + 1] = name .. (info.rejected and " again" or "")
      nightjar.sleep(0.001)
      return log_in().access_token, 60
    end
  end
  local options = {
    base_url = origin,
    endpoints = {
      one = { path = "/v1/me", security = "one" }, other = { path = "/v1/me", security = "other" },
      keyed = { path = "/echo", security = { { one = {}, key = {} } } },
    },
    auth = {
      schemes = {
        one = { type = "bearer", provider = providing "one", skew = 0 },
        other = { type = "bearer", provider = providing "other" },
        key = { type = "api_key", key = "demo-key" },
      },
      on_login_required = function() seen_requests[#seen_requests + 1] = "ended" end,
    },
  }
  local api = nightjar.client(options)
  nightjar.map(hundred, function(i)
    t:equal((i % 2 == 0 and api.endpoints.one or api.endpoints.other)().json.handle, "ada")
  end, { concurrency = 100 })
  table.sort(seen_requests)
  t:equal(table.concat(seen_requests, ","), "one,other")
  local got = api.endpoints.keyed()
  t:equal(server_saw(got, "x-api-key"), "demo-key")
  t:truthy(server_saw(got, "authorization"):find "^Bearer ")
  control { expire_access_tokens = true }
  t:equal(api.endpoints.other().json.handle, "ada")
  t:equal(seen_requests[3], "other again")
  t:equal(#seen_requests, 3)
  t:equal(options.auth.schemes.one.type, "bearer")
  t:truthy(options.auth.schemes.one.provider and not options.auth.schemes.one.url)
  options.auth.schemes.one = { type = "bearer", provider = function() return nil end }
  fails("unauthorized", no_login, nightjar.client(options).endpoints.one)
  t:equal(seen_requests[4], "ended")
end)

testing.test("invalid providers of schemes are reported", function()
  local function refuses(message, scheme)
    misuse(message, client, { schemes = { one = scheme } })
  end
  refuses("client: auth.schemes.one.provider must be a function, got string", { type = "bearer", provider = "x" })
  refuses("client: auth.schemes.one.provider requires the type \"bearer\"", { type = "login", provider = print })
  refuses("client: unknown option 'auth.schemes.one.skwe'; did you mean 'auth.schemes.one.skew'?",
    { type = "bearer", provider = print, skwe = 1 })
end)

testing.test("the schemes and scopes of a description are used", function(t)
  local described = os.tmpname()
  local file = assert(io.open(described, "w"))
  file:write(([[
openapi: 3.1.0
info: { title: Demo, version: "1" }
servers: [{ url: "%s" }]
security: [{ oauth: [read] }]
paths:
  /v1/me: { get: { operationId: me }, post: { operationId: write, security: [{ oauth: [write, read] }] } }
  /v1/api-key: { get: { operationId: keyed, security: [{ key: [] }] } }
  /echo: { get: { operationId: echo, security: [{ session: [] }] } }
components:
  securitySchemes:
    key: { type: apiKey, in: header, name: X-Api-Key }
    session: { type: apiKey, in: cookie, name: sid }
    oauth:
      type: oauth2
      flows: { clientCredentials: { tokenUrl: "%s/v1/oauth/token", scopes: { read: "", write: "", admin: "" } } }
]]):format(origin, origin))
  file:close()
  local from_document = nightjar.client {
    openapi = described,
    auth = {
      schemes = {
        oauth = { client_id = "demo", client_secret = "demo-secret" },
        key = { key = "demo-key" }, session = { key = "s4" },
      },
    },
  }
  t:equal(from_document.endpoints.me().json.client_id, "demo")
  t:equal(asked_scope(), "read write")
  local function provider() return log_in().access_token end
  t:equal(nightjar.client {
    openapi = described, auth = { schemes = { oauth = { type = "bearer", provider = provider } } },
  }.endpoints.me().json.handle, "ada")
  t:equal(from_document.endpoints.keyed().json["in"], "header")
  t:equal(server_saw(from_document.endpoints.echo(), "cookie"), "sid=s4")
  t:equal(server_saw(from_document.endpoints.echo(), "authorization"), "")
  t:equal(from_document.endpoints.write.security[1].oauth[1], "write")
  local narrow = nightjar.client {
    openapi = described,
    auth = { scheme = "oauth", client_id = "demo", client_secret = "demo-secret", scope = "admin" },
  }
  t:equal(narrow.endpoints.me().json.client_id, "demo")
  t:equal(asked_scope(), "admin")
  fails("invalid_argument", 'the API has no security scheme "oath"; did you mean "oauth"?',
    nightjar.client, { openapi = described, auth = { schemes = { oath = { token = "t" } } } })
  os.remove(described)
end)

assert(testing.run().ok, "a case failed")
