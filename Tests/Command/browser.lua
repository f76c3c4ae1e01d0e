-- A login with the browser of BROWSER, which curl stands for: `log_in` prints the page, opens it, and takes the code that
-- comes back to a port of this machine.
local nightjar = require "nightjar"
local api = nightjar.client {
  base_url = os.getenv "NIGHTJAR_DEMO_URL" .. "/v1",
  auth = { type = "oauth2", token_url = "/oauth/token", authorize_url = "/oauth/authorize", client_id = "demo",
    grant = "authorization_code" },
}
nightjar.timeout(20, function() api:log_in() end)
assert(api:get("/me").status == 200)
print "logged in"
