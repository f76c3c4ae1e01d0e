-- Certificates from memory, the key log, and the TLS connection of an error. Starts TLS servers with openssl.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, fails = testing.test, check.fails

local folder = nightjar.fs.temp_dir()
local function path(name) return folder.path .. "/" .. name end
local function read(name) return nightjar.fs.read(path(name)) end
nightjar.fs.write(path "page", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

local function openssl(...)
  local words = { "openssl", ... }
  words.cwd = folder.path
  local result = nightjar.process.run(words)
  assert(result.ok, result.stderr)
end

check.certificate(folder, "server", "subjectAltName=DNS:localhost")
check.certificate(folder, "device", "extendedKeyUsage=clientAuth")
openssl("pkcs12", "-export", "-in", "device.pem", "-inkey", "device.key", "-out", "device.p12", "-passout", "pass:secret")

local server, url = check.s_server(folder, "-HTTP")
local mutual, mutual_url = check.s_server(folder, "-HTTP", "-Verify", "1", "-verify_return_error", "-CAfile", "device.pem")
local silent, silent_url = check.s_server(folder)

local function client(tls, base_url)
  tls.ca = tls.ca or not tls.ca_file and read "server.pem" or nil
  return nightjar.client { base_url = base_url, tls = tls, retry = false, proxy = false }
end

test("the authorities are a text", function(t)
  local api <close> = client {}
  t:equal(api:get(url .. "/page").text, "ok")
  fails("invalid_argument", "tls.ca and tls.ca_file cannot be used together; set only one of them", client,
    { ca = read "server.pem", ca_file = path "server.pem" })
  fails("tls", "reading the certificate authorities as PEM failed: the text contains no certificate in PEM form", client,
    { ca = "text" })
end)

test("a client certificate is in memory", function(t)
  for _, certificate in ipairs {
    { pem = read "device.pem", key_pem = read "device.key" },
    { pem = read "device.pem" .. read "device.key" },
    { pkcs12_base64 = nightjar.base64.encode(read "device.p12"), password = "secret" },
  } do
    local api <close> = client({ client_certificate = certificate }, mutual_url)
    t:equal(api:get("/page").text, "ok")
    local other <close> = client { hosts = { localhost = { client_certificate = certificate } } }
    t:equal(other:get(mutual_url .. "/page").text, "ok")
  end
end)

test("invalid contents are rejected without secrets", function(t)
  local function rejected(certificate)
    local api, err = nightjar.try(client, { client_certificate = certificate }, mutual_url)
    t:equal(api, nil)
    t:falsy(tostring(err):find "hunter2")
    return err.message
  end
  t:equal(rejected { pem = read "device.pem", key_pem = read "server.key", password = "hunter2" },
    "reading the client certificate failed: the private key does not match the certificate CN=device")
  t:matches(rejected { pkcs12_base64 = nightjar.base64.encode(read "device.p12"), password = "hunter2" }, "its password is wrong")
  t:matches(rejected { pem = "hunter2" }, "contains no certificate in PEM form")
  t:matches(rejected { pkcs12_base64 = "*hunter2*" }, "must be valid Base64")
  t:matches(rejected { pem = read "device.pem", file = path "device.pem" }, "must have exactly one of")
end)

test("keys are written to a file on request", function(t)
  local warnings = {}
  local api <close> = nightjar.client {
    tls = { ca = read "server.pem", key_log_file = path "keys" }, proxy = false,
    log = { level = "warning", write = function(_, message) warnings[#warnings + 1] = message end },
  }
  t:equal(api:get(url .. "/page").text, "ok")
  t:matches(read "keys", "CLIENT_TRAFFIC_SECRET_0 %x+ %x+\n")
  while #warnings == 0 do nightjar.sleep(0.001) end
  t:matches(warnings[1], "the keys of TLS connections are written to")
  fails("storage", ("opening the key log file %q failed: Is a directory"):format(folder.path), client,
    { key_log_file = folder.path })
end)

test("an error has the TLS connection", function(t)
  local api <close> = client {}
  local _, err = nightjar.try(api.get, api, silent_url, { timeout = { idle = 0.2 } })
  t:equal(err.kind, "timeout")
  t:equal(err.tls.version, "1.3")
  t:equal(err.tls.chain[1].subject, "CN=server")
end)

local result = testing.run()
for _, process in ipairs { server, mutual, silent } do process:close() end
assert(result.ok, "a case failed")
