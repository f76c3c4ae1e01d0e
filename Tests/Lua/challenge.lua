-- Challenges of servers, which on_challenge decides. Needs the demo API. Starts a TLS server with openssl.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local host, number = origin:match "^http://(.*):(%d+)$"

local function client(on_challenge, options)
  options = options or {}
  options.base_url, options.on_challenge = options.base_url or origin, on_challenge
  options.retry, options.proxy = false, false
  return nightjar.client(options)
end

test("a wrong password is rejected, and the next one is used again", function(t)
  local seen = {}
  local api <close> = client(function(challenge)
    seen[#seen + 1] = challenge
    return { user = "demo", password = #seen == 1 and "wrong" or "secret" }
  end)
  local res = api:get "/v1/basic"
  t:equal(res.json.user, "demo")
  t:equal(seen, {
    { kind = "http", host = host, port = tonumber(number), proxy = false, encrypted = false, scheme = "Basic", realm = "demo", rejections = 0 },
    { kind = "http", host = host, port = tonumber(number), proxy = false, encrypted = false, scheme = "Basic", realm = "demo", rejections = 1 },
  })
  local names = {}
  for _, decision in ipairs(res:explain()) do names[#names + 1] = decision.decision .. " " .. tostring(decision.choice) end
  t:equal(names, { "challenged password", "challenged password" })
  t:equal(api:get("/v1/basic").attempts, 1)
  t:equal(#seen, 2)
  t:equal(res:curl():find("ZGVtbzpzZWNyZXQ=", 1, true), nil, "curl() masks the password")
  api:log_out()
  t:equal(api:get("/v1/basic").status, 200)
  t:equal(#seen, 3)
end)

test("Digest is answered, also for a request with a body", function(t)
  local count = 0
  local api <close> = client(function(challenge)
    count = count + 1
    t:equal(challenge.scheme, "Digest")
    return { user = "demo", password = "secret" }
  end)
  t:equal(api:post("/v1/digest", { body = "content" }).status, 200)
  t:equal(api:get("/v1/digest").status, 200)
  t:equal(count, 1)
end)

test("the function may wait, and concurrent calls share the decision", function(t)
  local count = 0
  local api <close> = client(function()
    count = count + 1
    nightjar.sleep(0.05)
    return { user = "demo", password = "secret" }
  end)
  local results = nightjar.map({ 1, 2, 3, 4 }, function() return api:get("/v1/basic").status end, { concurrency = 4 })
  t:equal(results, { 200, 200, 200, 200 })
  t:equal(count, 1)
end)

test("nil is the default, and false cancels", function(t)
  local api <close> = client(function() end)
  local _, err = nightjar.try(api.get, api, "/v1/basic")
  t:equal(err.kind, "unauthorized")
  local refusing <close> = client(function() return false, "the user closed the dialog" end)
  _, err = nightjar.try(refusing.get, refusing, "/v1/basic")
  t:equal(err.kind, "cancelled")
  t:truthy(err.message:find "the challenge callback rejected the request for Basic authentication of .*: the user closed the dialog$")
end)

test("an error or an invalid result cancels the call", function(t)
  for message, f in pairs {
    ["no luck"] = function() error("no luck", 0) end,
    ["on_challenge must return nil, false or a table, got true"] = function() return true end,
    ["must have both \"user\" and \"password\""] = function() return { user = "demo" } end,
    ["unknown"] = function() return { user = "demo", passwort = "secret" } end,
    ["a certificate is no response to a challenge of the kind http"] = function() return { file = "cert.pem" } end,
    ["contains a colon"] = function() return { user = "a:b", password = "secret" } end,
  } do
    local api <close> = client(f)
    local _, err = nightjar.try(api.get, api, "/v1/basic")
    t:equal(err.kind, "cancelled")
    t:truthy(err.message:find(message, 1, true), err.message)
  end
end)

test("the option must be a function", function()
  misuse("client: on_challenge must be a function, got number", nightjar.client, { on_challenge = 1 })
end)

test("the total timeout runs while the function decides", function(t)
  local api <close> = client(function() nightjar.sleep(0.3) end)
  local _, err = nightjar.try(api.get, api, "/v1/basic", { timeout = { total = 0.1 } })
  t:equal(err.kind, "timeout")
  t:equal(err.phase, "total")
end)

-- --- TLS ---

local folder = nightjar.fs.temp_dir()
nightjar.fs.write(folder.path .. "/page", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
check.certificate(folder, "server", "subjectAltName=DNS:localhost")
check.certificate(folder, "client", "extendedKeyUsage=clientAuth")
local server, secure_origin = check.s_server(folder, "-HTTP", "-Verify", "1", "-verify_return_error", "-CAfile", "client.pem")
local tls = { ca_file = folder.path .. "/server.pem" }
local function secure(on_challenge) return client(on_challenge, { base_url = secure_origin, tls = tls }) end

test("a client certificate is chosen during the handshake", function(t)
  local seen = {}
  local api <close> = secure(function(challenge)
    seen[#seen + 1] = challenge
    if challenge.kind == "client_certificate" then
      return { file = folder.path .. "/client.pem", key = folder.path .. "/client.key" }
    end
  end)
  local res = api:get "/page"
  t:equal(res.text, "ok")
  t:equal(seen[1].kind, "server_trust")
  t:equal(seen[1].chain, res.tls.chain)
  t:equal(seen[2].kind, "client_certificate")
  t:equal(seen[2].host, "localhost")
  t:equal(seen[2].encrypted, true)
  t:equal(seen[2].authorities, { "CN=client" })
  t:equal(api:get("/page").text, "ok")
  for index = 3, #seen do t:equal(seen[index].kind, "server_trust") end
end)

test("a valid chain can be rejected", function(t)
  local api <close> = secure(function(challenge)
    t:equal(challenge.kind, "server_trust")
    return false, "another server"
  end)
  local _, err = nightjar.try(api.get, api, "/page")
  t:equal(err.kind, "cancelled")
  t:equal(err.phase, "tls")
  t:equal(err.message, "the challenge callback rejected the certificate of " .. secure_origin:gsub("^https://", "") .. ": another server")
end)

local result = testing.run()
server:close()
assert(result.ok, "a case failed")
