-- Log in, and stay logged in
--
-- The login is described once. The client refreshes the token before it expires and after a server rejects it. The file keeps
-- the token for the next run and for other programs, so that each user logs in only once.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local file = os.tmpname()
os.remove(file) -- the library creates the file with access for its owner only

local function new_client(password)
  return nightjar.client {
    base_url = origin,
    auth = {
      type = "login", url = "/v1/auth/login", json = { email = "ada@example.org", password = password },
      refresh = { url = "/v1/auth/refresh" }, store = { file = file },
    },
  }
end

local api = new_client "moonlight"
print("logged in as " .. api:get("/v1/me").json.handle)

-- The next run does not need a password.
local next_run = new_client "forgotten"
print("still logged in as " .. next_run:get("/v1/me").json.handle)

next_run:log_out()
os.remove(file)
-- Prints:
--   logged in as ada
--   still logged in as ada
