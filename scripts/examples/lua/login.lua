-- Logging in: a login that is saved in a file and refreshed automatically, a token provider, an interactive login, and
-- the end of a login.
--
--   nightjar demo --port 8080                          in one terminal
--   nightjar scripts/examples/lua/login.lua [origin]   in another
--
-- The origin may also be set in NIGHTJAR_DEMO_URL.
local nightjar = require "nightjar"

local origin = ... or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local plain = nightjar.client { base_url = origin }
-- Expires all tokens that the server has issued.
local function let_tokens_expire() plain:post("/__control", { json = { expire_access_tokens = true } }) end

-- A login call of the API. The file keeps the login for the next run and for other programs.
local store = os.tmpname()
os.remove(store) -- the library creates the file with access for its owner only
local api = nightjar.client {
  base_url = origin,
  auth = {
    type = "login",
    url = "/v1/auth/login", json = { email = "ada@example.org", password = "moonlight" },
    refresh = { url = "/v1/auth/refresh" },
    store = { file = store },
    on_login_required = function() print "a new login is required" end,
  },
}
print("logged in as " .. api:get("/v1/me").json.name)

-- When tokens expire, one refresh serves all concurrent calls.
let_tokens_expire()
local before = plain:get("/__stats").json.auth.refreshes
local calls = {}
for i = 1, 20 do calls[i] = i end
local responses = nightjar.map(calls, function() return api:get "/v1/me" end, { concurrency = 20 })
local refreshes = plain:get("/__stats").json.auth.refreshes - before
print(("%d calls continued after %d refresh"):format(#responses, refreshes))
print("why the last took so long:\n" .. tostring(responses[#responses]:explain()))

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
api:log_out() -- also removes the token from the file
local _, err = nightjar.try(api.get, api, "/v1/me", { timeout = 5 })
print("signed out: " .. tostring(err))
os.remove(store)

-- Tokens from a callback, which may call another client. It is called once for all waiting calls.
local mine = nightjar.client {
  base_url = origin,
  auth = {
    type = "bearer",
    provider = function(info)
      if info.rejected then print "the server has rejected the last token" end
      local token = plain:post("/v1/auth/login", { json = { email = "ada@example.org", password = "moonlight" } }).json
      return token.access_token, token.expires_in
    end,
  },
}
print("a token from the provider: " .. mine:get("/v1/me").json.name)
let_tokens_expire()
print("and another: " .. mine:get("/v1/me").json.name)

-- The user authorizes the program on another device. Here the script acts as the user.
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
print("the device is logged in as " .. device:get("/v1/me").json.name)
