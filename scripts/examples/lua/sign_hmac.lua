-- Signs each request with an HMAC: nightjar scripts/examples/lua/sign_hmac.lua, with `nightjar demo` in another terminal.
--
-- The signature covers the method, the target, the time and the digest of the body, each on its own line.
local nightjar = require "nightjar"
local hash = nightjar.hash

local function signer(secret)
  return function(request)
    if not request.body then return false, "a body that is read while it is sent cannot be signed" end
    local target, timestamp = request.url:match "^%a+://[^/]+(.*)$", tostring(os.time())
    local text = table.concat({ request.method, target, timestamp, hash.sha256(request.body) }, "\n")
    return { ["X-Timestamp"] = timestamp, ["X-Signature"] = hash.hmac("sha256", secret, text) }
  end
end

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin, on_request = signer "demo-signing-secret" }
local res = api:post("/signed", { query = { note = "a b" }, json = { title = "Hello" } })
print(res.status, res.json.body_bytes .. " bytes are signed")
local other = nightjar.client { base_url = origin, on_request = signer "another secret" }
local _, err = nightjar.try(other.get, other, "/signed")
print(err.kind, err.details.detail)
