-- Certificate pinning. Starts TLS servers with openssl.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails

local backup, other = "sha256/" .. ("A"):rep(43) .. "=", "sha256/" .. ("A"):rep(42) .. "E="

local folder = nightjar.fs.temp_dir()
nightjar.fs.write(folder.path .. "/page", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
check.certificate(folder, "server", "subjectAltName=DNS:localhost")
local pin = "sha256/" .. nightjar.process.run { "sh", "-c",
  "openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64",
  cwd = folder.path }.stdout:gsub("%s", "")

local server, origin = check.s_server(folder, "-HTTP")
local url = origin .. "/page"

local function client(tls)
  tls.ca_file = folder.path .. "/server.pem"
  return nightjar.client { tls = tls, retry = false, proxy = false }
end

test("a chain with a pinned key is accepted", function(t)
  local api <close> = client { pins = { localhost = { backup, pin } } }
  local res = api:get(url)
  t:equal(res.text, "ok")
  t:equal(res.tls.chain[1].pin, pin)
end)

test("a chain without a pinned key fails with pin_mismatch and is reported", function(t)
  local reports = nightjar.channel(1)
  local api <close> = client {
    pins = { localhost = { backup, other } }, on_pin_mismatch = function(report) reports:send(report) end,
  }
  local res, err = nightjar.try(api.get, api, url)
  t:equal(res, nil)
  t:equal(err.kind, "pin_mismatch")
  t:equal(err.phase, "tls")
  t:equal(err.retryable, false)
  for _, each in ipairs { backup, other, pin } do t:truthy(err.message:find(each, 1, true)) end
  t:equal(reports:receive(), { host = "localhost", expected = { backup, other }, served = { pin }, enforced = true })
end)

test("on_retry is not called for a mismatch", function(t)
  local api <close> = client { pins = { localhost = { backup, other } } }
  local count = 0
  local _, err = nightjar.try(api.get, api, url, {
    retry = 3, on_retry = function()
      count = count + 1
      return 0
    end,
  })
  t:equal(err.kind, "pin_mismatch")
  t:equal(err.attempts, 1)
  t:equal(err.tls, nil)
  t:equal(count, 0)
end)

test("set_pinning changes the effect at run time", function(t)
  local count = 0
  local api <close> = client {
    pins = { localhost = { backup, other } }, on_pin_mismatch = function(report)
      count = count + 1
      t:equal(report.enforced, false)
    end,
  }
  api:set_pinning "report"
  t:equal(api:get(url).text, "ok")
  while count == 0 do nightjar.sleep(0.001) end
  api:set_pinning "off"
  t:equal(api:get(url).text, "ok")
  nightjar.sleep(0.01)
  t:equal(count, 1)
  api:set_pinning "enforce"
  api:close()
  fails("closed", "the client is closed", api.set_pinning, api, "off")
end)

test("from its date, a mismatch is only reported", function(t)
  local reports = nightjar.channel(1)
  local pins = { localhost = { backup, other, report_only_after = "2020-01-01" } }
  local api <close> = client { pins = pins, on_pin_mismatch = function(report) reports:send(report) end }
  t:equal(api:get(url).text, "ok")
  t:equal(reports:receive().enforced, false)
  t:equal(pins, { localhost = { backup, other, report_only_after = "2020-01-01" } }, "the options are not changed")
  local strict <close> = client { pins = { localhost = { pins = { backup, other }, report_only_after = "9999-12-31" } } }
  local _, err = nightjar.try(strict.get, strict, url)
  t:equal(err.kind, "pin_mismatch")
end)

test("a resumed session is not used in another mode", function(t)
  local api <close> = client { pins = { localhost = { pin, backup } } }
  t:equal(api:get(url).tls.resumed, false)
  t:equal(api:get(url).tls.resumed, true)
  api:set_pinning "report"
  t:equal(api:get(url).tls.resumed, false)
end)

test("invalid pins are rejected when the client is created", function(t)
  for _, row in ipairs {
    { { localhost = { backup } }, 'option "tls.pins.localhost": at least two different pins are required, got 1; add the pin of a '
      .. "backup key that is kept offline" },
    { { localhost = { backup, other, report_only = true } },
      'unknown option "tls.pins.localhost.report_only"; the known options are pins, report_only_after' },
    { { localhost = { backup, other, report_only_after = "soon" } },
      'option "tls.pins.localhost.report_only_after": the date "soon" is invalid; write a date such as "2027-01-31", or a date '
      .. 'and time such as "2027-01-31T12:00:00Z"' },
    { { ["*.com"] = { backup, other } },
      'the host pattern "*.com" is too wide: after "*.", a domain with at least two labels is required' },
    { "sha256", 'option "tls.pins" must be a table of host patterns and pins, found a string' },
  } do
    fails("invalid_argument", row[2], nightjar.client, { tls = { pins = row[1] } })
  end
  fails("invalid_argument",
    "tls.pins requires verified certificates, but tls.verify is false; set tls.ca_file for a private certificate authority, or "
      .. "remove the pins", nightjar.client, { tls = { verify = false, pins = { localhost = { backup, other } } } })
  misuse("client: tls.on_pin_mismatch must be a function, got string", nightjar.client, { tls = { on_pin_mismatch = "f" } })
  misuse("client: tls.pins: write the pins of a host either as list items or as pins = {...}, not both", nightjar.client,
    { tls = { pins = { localhost = { backup, pins = { other } } } } })
end)

test("the mode must be one of three names", function(t)
  local api <close> = nightjar.client {}
  fails("invalid_argument", 'the pinning mode must be "enforce", "report" or "off", got "strict"', api.set_pinning, api, "strict")
  misuse('set_pinning: mode must be "enforce", "report" or "off", got no value', api.set_pinning, api)
end)

local result = testing.run()
server:close()
assert(result.ok, "a case failed")
