-- A login with the browser of BROWSER, which is curl in this test: `log_in` prints the URL, opens it, and receives the
-- authorization code on a local port.
local nightjar = require "nightjar"
local api = nightjar.client {
  base_url = os.getenv "NIGHTJAR_DEMO_URL" .. "/v1",
  auth = { type = "oauth2", token_url = "/oauth/token", authorize_url = "/oauth/authorize", client_id = "demo",
    grant = "authorization_code" },
}
nightjar.timeout(20, function() api:log_in() end)
assert(api:get("/me").status == 200)
print "logged in"
