-- Logins: tokens that expire, for each way to obtain them. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

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

control { reset = true }

-- Two hundred calls with an expired token cause one refresh, and all succeed.
local first = log_in()
control { expire_access_tokens = true }
local oauth = {
  type = "oauth2", token_url = "/v1/oauth/token", client_id = "demo",
  access_token = first.access_token, refresh_token = first.refresh_token,
}
local api = client(oauth)
local calls = {}
for i = 1, 200 do calls[i] = i end
for _, handle in ipairs(nightjar.map(calls, function() return me(api) end, { concurrency = 200 })) do equal(handle, "ada") end
equal(auth_counts().refreshes, 1)
equal(auth_counts().refresh_reuses, 0)
equal(me(api), "ada")
equal(auth_counts().refreshes, 1)

-- A rotating refresh token is stored in a file, where the next run finds it.
local store = os.tmpname()
os.remove(store)
store = store .. ".token"
local kept = log_in()
local function with_store()
  return client {
    type = "oauth2", token_url = "/v1/oauth/token", client_id = "demo", store = "file:" .. store,
    access_token = kept.access_token, refresh_token = kept.refresh_token,
  }
end
for _ = 1, 3 do
  control { expire_access_tokens = true }
  local run <close> = with_store()
  equal(me(run), "ada")
end
equal(auth_counts().refreshes, 4)
equal(auth_counts().refresh_reuses, 0)
os.remove(store)

-- The login endpoint of an API, and its refresh.
local before = auth_counts()
api = client {
  type = "login", url = "/v1/auth/login", json = { email = "ada@example.org", password = "moonlight" },
  refresh = { url = "/v1/auth/refresh" },
}
equal(me(api), "ada")
control { expire_access_tokens = true }
equal(me(api), "ada")
local after = auth_counts()
equal(after.logins - before.logins, 1)
equal(after.refreshes - before.refreshes, 1)

-- The client credentials grant.
for _, way in ipairs { "basic", "post" } do
  api = client {
    type = "oauth2", grant = "client_credentials", token_url = "/v1/oauth/token", client_id = "demo",
    client_secret = "demo-secret", client_auth = way,
  }
  equal(api:get("/v1/me").json.client_id, "demo")
end
equal(auth_counts().client_credentials, 2)

-- Credentials that do not expire.
for _, algorithm in ipairs { "SHA-256", "MD5", "SHA-256-sess", "both" } do
  api = client { type = "digest", user = "demo", password = "secret" }
  equal(api:get("/v1/digest", { query = { algorithm = algorithm } }).json.user, "demo")
  equal(api:post("/v1/digest", { query = { algorithm = algorithm }, body = "abc" }).json.body_bytes, 3)
  -- Each response proves that the server has the password, and contains the nonce of the next request.
  api = client { type = "digest", user = "demo", password = "secret" }
  for round = 1, 3 do
    local res = api:get("/v1/digest", { query = { algorithm = algorithm, next = 1, uses = 1 } })
    equal(res.json.nc, 1)
    equal(#res:explain(), round == 1 and 1 or 0)
    assert(res.headers["authentication-info"]:find "rspauth=")
  end
end
equal(client({ type = "basic", user = "demo", password = "secret" }):get("/v1/basic").json.user, "demo")
equal(client({ type = "api_key", key = "demo-key" }):get("/v1/api-key").json["in"], "header")
equal(client({ type = "api_key", key = "demo-key", query = "api_key" }):get("/v1/api-key").json["in"], "query")
equal(client({ type = "bearer", token = log_in().access_token }):get("/v1/me").status, 200)

-- A call without authentication.
api = client(oauth)
equal(nightjar.try(api.get, api, "/v1/me", { auth = false }), nil)

-- A function that provides tokens with a call of its own. Other tasks run meanwhile, and it is called once for all calls.
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
api = client(provided)
local ticker = nightjar.spawn(function() while true do nightjar.sleep(0.005) ticks = ticks + 1 end end)
local first_caller = nightjar.spawn(function() return me(api) end)
local other_caller = nightjar.spawn(function() return me(api) end)
nightjar.sleep(0.01)
first_caller:cancel() -- the first caller may leave; the token is for all callers
equal(other_caller:join(), "ada")
ticker:cancel()
equal(#nightjar.map(calls, function() return me(api) end, { concurrency = 200 }), 200)
equal(#requested, 1)
equal(requested[1], false)
control { expire_access_tokens = true }
equal(#nightjar.map(calls, function() return me(api) end, { concurrency = 200 }), 200)
equal(#requested, 2)
equal(requested[2], true)
equal(ended, 0)

-- A token is refreshed before its known expiry.
local lifetimes = 0
api = client { type = "bearer", skew = 0, provider = function() lifetimes = lifetimes + 1 return log_in().access_token, 0.02 end }
me(api)
nightjar.sleep(0.03)
me(api)
equal(lifetimes, 2)

-- Invalid results and errors of the function.
local kept_text = "token refresh failed: the server refused; the login is kept: "
local respond
api = client {
  type = "bearer", provider = function() return respond() end, on_login_required = function() ended = ended + 1 end,
}
respond = function() error("no network here", 0) end
fails("unauthorized", kept_text .. "no network here", me, api)
respond = function() plain:get "/status/401" end
fails("unauthorized", kept_text .. [[GET returned 401 Unauthorized: "this response was requested"; the server requires Basic (realm "demo")]], me, api)
respond = function() return {} end
fails("unauthorized", kept_text .. "auth.provider must return a string or nil, got table", me, api)
respond = function() return "x", "soon" end
fails("unauthorized", kept_text .. "auth.provider must return a non-negative number of seconds as its second value", me, api)
respond = function() return "x\n" end
fails("unauthorized", kept_text .. "the access token is empty or contains a character that is not allowed in a header", me, api)
equal(ended, 0)

-- Nil ends the login: its calls fail, and a callback runs once before they do.
local lost = client {
  type = "bearer", provider = function() nightjar.sleep(0.001) return nil end,
  on_login_required = function() ended = ended + 1 end,
}
local failed = 0
nightjar.map({ 1, 2, 3 }, function()
  fails("unauthorized", "there is no login, or the server has ended it; log in again", me, lost)
  equal(ended, 1)
  failed = failed + 1
end)
equal(failed, 3)
fails("unauthorized", "there is no login, or the server has ended it; log in again", me, lost)
equal(ended, 1)

-- A login with a token from the script, and its end.
local brought = log_in()
lost:set_token { access_token = brought.access_token, refresh_token = brought.refresh_token, expires_in = 60 }
equal(me(lost), "ada")
lost:log_out()
fails("unauthorized", "there is no login, or the server has ended it; log in again", me, lost)
lost:set_token { access_token = brought.access_token }
equal(me(lost), "ada")

-- The callback also runs when the server ends the login.
ended = 0
local dead = client {
  type = "oauth2", token_url = "/v1/oauth/token", client_id = "demo", access_token = "at_old", refresh_token = "rt_gone",
  on_login_required = function() ended = ended + 1 end,
}
fails("unauthorized", "there is no login, or the server has ended it; log in again", me, dead)
equal(ended, 1)

-- The device flow: a user authorizes the program on another device. Other tasks run meanwhile.
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
api = device()
fails("unauthorized", "there is no login, or the server has ended it; log in again", me, api)
api:log_in { prompt = function(info)
  shown = info
  nightjar.sleep(0.005)
  decide(info, 1)
end }
assert(shown.page:find "/v1/oauth/device$" and shown.complete_page:find(shown.user_code, 1, true))
equal(shown.url, nil)
equal(me(api), "ada")
local _, denied = nightjar.try(api.log_in, api, { prompt = function(info) decide(info, 0) end })
assert(denied.kind == "unauthorized" or denied.kind == "forbidden", denied)
misuse("no screen", api.log_in, api, { prompt = function() error "no screen" end })
local left = nightjar.spawn(function() api:log_in { prompt = function() shown = "left" end } end)
repeat nightjar.sleep(0.002) until shown == "left"
left:cancel()
fails("cancelled", "the task was cancelled", left.join, left)
equal(me(api), "ada")

-- The authorization code flow. The script acts as the browser.
api = client {
  type = "oauth2", grant = "authorization_code", token_url = "/v1/oauth/token", client_id = "demo",
  authorize_url = "/v1/oauth/authorize",
}
local browser = nightjar.client {}
api:log_in { prompt = function(info)
  equal(info.user_code, nil)
  nightjar.spawn(function() browser:get(info.url) end)
end }
equal(me(api), "ada")
fails("invalid_request", "the client has no login: its option auth is not set or has no token that expires", plain.log_in, plain)
misuse("log_in: prompt must be a function, got string", api.log_in, api, { prompt = "x" })
misuse("log_in: unknown option 'promt'; did you mean 'prompt'?", api.log_in, api, { promt = print })

-- A logout that cannot be saved is an error, but this client is logged out. Other tasks run meanwhile.
do
  local folder = os.tmpname()
  os.remove(folder)
  nightjar.fs.mkdir(folder)
  local brought = log_in()
  local api <close> = client {
    type = "oauth2", token_url = "/v1/oauth/token", client_id = "demo", store = "file:" .. folder .. "/a.token",
  }
  local function bring() api:set_token { access_token = brought.access_token, refresh_token = brought.refresh_token } end
  bring()
  equal(me(api), "ada")
  api:log_out()
  fails("unauthorized", "there is no login, or the server has ended it; log in again", me, api)
  bring()
  equal(me(api), "ada")
  nightjar.fs.remove(folder, { recursive = true })
  nightjar.fs.write(folder, "no folder")
  local beats = 0
  local heart = nightjar.spawn(function() while true do beats = beats + 1 nightjar.sleep(0) end end)
  local _, err = nightjar.try(api.log_out, api)
  heart:cancel()
  equal(err.kind, "storage")
  assert(err.message:find("this client is logged out, but its store still has the login: ", 1, true), err.message)
  assert(beats > 0)
  equal(select(2, nightjar.try(me, api)) ~= nil, true)
  os.remove(folder)
end

-- No output contains secrets.
local _, err = nightjar.try(me, client { type = "bearer", token = "hunter2" })
for _, shown in ipairs { api, lost, err, err:explain(), err:curl(), err.response } do
  assert(not tostring(shown):find "hunter2", tostring(shown))
end

-- Misuse.
misuse("client: auth.provider must be a function, got string", client, { type = "bearer", provider = "x" })
misuse("client: auth.on_login_required must be a function, got number", client, { type = "oauth2", on_login_required = 1 })
misuse("client: auth.provider requires the type \"bearer\"", client, { type = "login", provider = print })
misuse("client: unknown option 'auth.token'", client, { type = "bearer", provider = print, token = "x" })
misuse("client: unknown option 'auth.skwe'; did you mean 'auth.skew'?", client,
  { type = "bearer", provider = print, skwe = 1 })
fails("invalid_argument",
  'option "auth.on_login_required" requires type "oauth2", "login", or "bearer" with a provider', client,
  { type = "basic", user = "a", password = "b", on_login_required = print })
fails("invalid_argument", 'option "auth.skew" must be a number of seconds, found a string', client,
  { type = "bearer", provider = print, skew = "x" })
misuse("set_token: access_token is missing", api.set_token, api, {})
misuse("set_token: a table expected, got string", api.set_token, api, "token")
misuse("set_token: refresh_token must be a string, got number", api.set_token, api, { access_token = "x", refresh_token = 1 })
misuse("set_token: expires_in must be a non-negative number of seconds", api.set_token, api, { access_token = "x", expires_in = -1 })
misuse("set_token: unknown option 'acess_token'; did you mean 'access_token'?", api.set_token, api, { acess_token = "x" })

-- Several credentials, with the names of security schemes: an endpoint sends those that it names.
control { reset = true }
local function server_saw(res, name)
  local found = {}
  for _, field in ipairs(res.json.headers) do
    if field[1]:lower() == name then found[#found + 1] = field[2] end
  end
  return table.concat(found, "|")
end
local several = nightjar.client {
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
several.cookies:set(origin .. "/", "sid=jar; Path=/")
several.cookies:set(origin .. "/", "lang=en; Path=/")
local got = several.endpoints.by_key()
equal(server_saw(got, "x-api-key") .. " " .. server_saw(got, "authorization"), "demo-key ")
equal(server_saw(got, "cookie"), "sid=jar; lang=en")
got = several.endpoints.by_token()
equal(server_saw(got, "x-api-key") .. " " .. server_saw(got, "authorization"), " Bearer t")
got = several.endpoints.by_both()
equal(server_saw(got, "x-api-key") .. " " .. server_saw(got, "authorization"), "demo-key Bearer t")
equal(server_saw(several.endpoints.by_cookie { theme = "dark" }, "cookie"), "lang=en; theme=dark; sid=s3")
equal(server_saw(several.endpoints.open(), "authorization"), "")
equal(server_saw(several:get("/echo"), "x-api-key"), "")
equal(server_saw(several:get("/echo", { auth = "key" }), "x-api-key"), "demo-key")
equal(server_saw(several:get("/echo", { auth = { "key", "token" } }), "authorization"), "Bearer t")
fails("invalid_request", 'the client has no credentials for the scheme "tokn"; did you mean "token"?',
  several.get, several, "/echo", { auth = "tokn" })
fails("invalid_request",
  'endpoint "nobody": authentication is required by "key" and "missing", or by "other", and the client has credentials for '
    .. '"key", "oauth", "sid", "token"; set them in the option auth.schemes', several.endpoints.nobody)
equal(several.endpoints.me().json.client_id, "demo")
equal(asked_scope(), "read")
equal(auth_counts().client_credentials, 1)
several:log_out { scheme = "oauth" }
fails("invalid_request", 'the client has no login for the scheme "ouath"; did you mean "oauth"?',
  several.log_out, several, { scheme = "ouath" })
several:log_in { scheme = "oauth" }
equal(several.endpoints.me().json.client_id, "demo")
several:set_token { access_token = log_in().access_token, scheme = "oauth" }
equal(several.endpoints.me().json.handle, "ada")
misuse("log_out: scheme must be a string, got number", several.log_out, several, { scheme = 1 })
misuse("log_out: unknown option 'schem'; did you mean 'scheme'?", several.log_out, several, { schem = "oauth" })

-- Two logins, each with its own refresh, regardless of the number of waiting calls.
control { reset = true }
local function user_login(person)
  return { type = "login", url = "/v1/auth/login", json = { email = person, password = "moonlight" }, refresh = { url = "/v1/auth/refresh" } }
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
equal(two.endpoints.one().json.handle .. two.endpoints.other().json.handle, "adaada")
equal(auth_counts().logins, 2)
control { expire_access_tokens = true }
local hundred = {}
for i = 1, 100 do hundred[i] = i end
for _, handle in ipairs(nightjar.map(hundred, function(i)
  return (i % 2 == 0 and two.endpoints.one or two.endpoints.other)().json.handle
end, { concurrency = 100 })) do equal(handle, "ada") end
equal(auth_counts().refreshes, 2)
equal(auth_counts().logins, 2)
equal(ended_logins, 0)

-- Functions that provide the tokens of some schemes. Each is called for its own scheme.
control { reset = true }
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
api = nightjar.client(options)
nightjar.map(hundred, function(i)
  equal((i % 2 == 0 and api.endpoints.one or api.endpoints.other)().json.handle, "ada")
end, { concurrency = 100 })
table.sort(seen_requests)
equal(table.concat(seen_requests, ","), "one,other")
got = api.endpoints.keyed()
equal(server_saw(got, "x-api-key"), "demo-key")
assert(server_saw(got, "authorization"):find "^Bearer ")
control { expire_access_tokens = true }
equal(api.endpoints.other().json.handle, "ada")
equal(seen_requests[3], "other again")
equal(#seen_requests, 3)
-- The table of the caller is unchanged.
equal(options.auth.schemes.one.type, "bearer")
assert(options.auth.schemes.one.provider and not options.auth.schemes.one.url)
options.auth.schemes.one = { type = "bearer", provider = function() return nil end }
fails("unauthorized", "there is no login, or the server has ended it; log in again", nightjar.client(options).endpoints.one)
equal(seen_requests[4], "ended")
local function refuses(message, scheme)
  misuse(message, client, { schemes = { one = scheme } })
end
refuses("client: auth.schemes.one.provider must be a function, got string", { type = "bearer", provider = "x" })
refuses("client: auth.schemes.one.provider requires the type \"bearer\"", { type = "login", provider = print })
refuses("client: unknown option 'auth.schemes.one.skwe'; did you mean 'auth.schemes.one.skew'?",
  { type = "bearer", provider = print, skwe = 1 })

-- The schemes and scopes of a description.
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
      oauth = { client_id = "demo", client_secret = "demo-secret" }, key = { key = "demo-key" }, session = { key = "s4" },
    },
  },
}
equal(from_document.endpoints.me().json.client_id, "demo")
equal(asked_scope(), "read write")
equal(nightjar.client {
  openapi = described, auth = { schemes = { oauth = { type = "bearer", provider = function() return log_in().access_token end } } },
}.endpoints.me().json.handle, "ada")
equal(from_document.endpoints.keyed().json["in"], "header")
equal(server_saw(from_document.endpoints.echo(), "cookie"), "sid=s4")
equal(server_saw(from_document.endpoints.echo(), "authorization"), "")
equal(from_document.endpoints.write.security[1].oauth[1], "write")
local narrow = nightjar.client {
  openapi = described, auth = { scheme = "oauth", client_id = "demo", client_secret = "demo-secret", scope = "admin" },
}
equal(narrow.endpoints.me().json.client_id, "demo")
equal(asked_scope(), "admin")
fails("invalid_argument", 'the API has no security scheme "oath"; did you mean "oauth"?',
  nightjar.client, { openapi = described, auth = { schemes = { oath = { token = "t" } } } })
os.remove(described)
