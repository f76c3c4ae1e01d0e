-- Calls a TLS server that supports HTTP/1.1 and HTTP/2: Tests/HTTP2/library.py. The first argument is the state of
-- libnghttp2: missing, old, once (it is missing only at first).
local nightjar = require "nightjar"
local expected, url, ca_file = arg[1], arg[2], arg[3]

local function client(versions)
  return nightjar.client { base_url = url, retry = false, http = { versions = versions }, tls = { ca_file = ca_file } }
end

local function expect(value, text) assert(tostring(value):find(text, 1, true), ("%s lacks %q"):format(value, text)) end

local reason = expected == "old" and "lacks the function" or "libnghttp2"

local both = client { "1.1", "2" }
local res = both:get "/"
assert(res.http_version == "1.1", res.http_version)
expect(res:explain(), "HTTP/2 is not available")
expect(res:explain(), reason)
-- The client continues to use HTTP/1.1.
assert(both:get("/").http_version == "1.1")

local ok, err = pcall(function() return client({ "2" }):get "/" end)
if expected == "once" then
  assert(ok and err.http_version == "2", err)
  -- The next client uses HTTP/2.
  assert(client({ "1.1", "2" }):get("/").http_version == "2")
else
  assert(not ok and err.kind == "connect", err)
  expect(err, "HTTP/2 is not available")
  expect(err, reason)
  expect(err, "libnghttp2")
end
