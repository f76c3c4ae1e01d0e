-- Logging in: a login that is kept in a file and renewed by itself, a function that provides tokens, a person who lets the
-- program in, and what to do when a login has ended.
--
--   nightjar demo --port 8080                          in one terminal
--   nightjar scripts/examples/lua/login.lua [origin]   in another
--
-- The origin may also stand in NIGHTJAR_DEMO_URL.
local nightjar = require "nightjar"

local origin = ... or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local plain = nightjar.client { base_url = origin }
-- Lets every token that the server has issued expire, as time would.
local function let_tokens_expire() plain:post("/__control", { json = { expire_access_tokens = true } }) end

-- An API's own login. The file is for the next run, and for other programs that share the login with this one.
local store = os.tmpname()
os.remove(store) -- the library makes it, for nobody else to read
local api = nightjar.client {
  base_url = origin,
  auth = {
    type = "login",
    url = "/v1/auth/login", json = { email = "ada@example.org", password = "moonlight" },
    refresh = { url = "/v1/auth/refresh" },
    store = { file = store },
    on_login_required = function() print "somebody has to log in again" end,
  },
}
print("logged in as " .. api:get("/v1/me").json.name)

-- Tokens run out. However many calls find that out at once, one refresh serves them all.
let_tokens_expire()
local before = plain:get("/__stats").json.auth.refreshes
local calls = {}
for i = 1, 20 do calls[i] = i end
local answers = nightjar.map(calls, function() return api:get "/v1/me" end, { concurrency = 20 })
local refreshes = plain:get("/__stats").json.auth.refreshes - before
print(("%d calls went on after %d refresh"):format(#answers, refreshes))
print("why the last took so long:\n" .. tostring(answers[#answers]:explain()))

-- Another run finds the login in the file.
do
  local another <close> = nightjar.client {
    base_url = origin,
    auth = {
      type = "login", url = "/v1/auth/login", json = { email = "ada@example.org", password = "changed since" },
      refresh = { url = "/v1/auth/refresh" }, store = { file = store },
    },
  }
  print("still logged in as " .. another:get("/v1/me").json.name)
end
api:sign_out() -- the file is emptied, too
local _, err = nightjar.try(api.get, api, "/v1/me", { timeout = 5 })
print("signed out: " .. tostring(err))
os.remove(store)

-- Tokens from code of one's own, which may make calls with another client; it is asked once for all calls that wait.
local mine = nightjar.client {
  base_url = origin,
  auth = {
    type = "bearer",
    provider = function(info)
      if info.refused then print "the server has refused the last token" end
      local token = plain:post("/v1/auth/login", { json = { email = "ada@example.org", password = "moonlight" } }).json
      return token.access_token, token.expires_in
    end,
  },
}
print("a token of my own: " .. mine:get("/v1/me").json.name)
let_tokens_expire()
print("and another: " .. mine:get("/v1/me").json.name)

-- A person lets the program in on another device. Here the script plays the person.
local device = nightjar.client {
  base_url = origin,
  auth = {
    type = "oauth2", grant = "device_code", client_id = "demo",
    device_url = "/v1/oauth/device", token_url = "/v1/oauth/token",
  },
}
device:log_in {
  prompt = function(info)
    print(("open %s and type %s"):format(info.page, info.user_code))
    plain:post("/v1/oauth/device/decide", { form = { user_code = info.user_code, allow = 1 } })
  end,
}
print("let in as " .. device:get("/v1/me").json.name)
