-- The addresses of connections: resolve, ip_family, local_address, interface, address_filter; and https_only. Uses the demo server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, fails = testing.test, check.fails

local port = os.getenv "NIGHTJAR_DEMO_URL":match ":(%d+)"

local function client(options)
  options.retry, options.proxy = false, false
  return nightjar.client(options)
end

local function refused(api, path)
  local _, err = nightjar.try(api.get, api, path)
  return err and err.kind, err and err.message
end

-- Returns the error of a WebSocket.
local function socket_error(api, url)
  local _, err = nightjar.try(function()
    local socket <close> = api:websocket(url)
    return socket:receive(20)
  end)
  return err
end

test("resolve replaces the lookup of a name", function(t)
  local api <close> = client { base_url = "http://nowhere.test:" .. port, resolve = { "nowhere.test:" .. port .. ":127.0.0.1" } }
  t:equal(api:get("/echo").status, 200)
  local any <close> = client { resolve = { "*:" .. port .. ":127.0.0.9", ("other.test:%s:127.0.0.1"):format(port) } }
  t:equal(any:get("http://other.test:" .. port .. "/echo").status, 200)
  fails("invalid_argument", 'the resolve entry "a.test:80" is invalid: the address is missing; write HOST:PORT:ADDRESS, such as '
    .. '"example.com:443:127.0.0.1"', client, { resolve = { "a.test:80" } })
end)

test("connections use one version of IP, one local address and one interface", function(t)
  local url = "http://127.0.0.1:" .. port
  local api <close> = client { base_url = url, ip_family = "ipv4", local_address = "127.0.0.2", interface = "lo" }
  t:equal(api:get("/echo").status, 200)
  local other <close> = client { base_url = url, ip_family = "ipv6" }
  t:equal(refused(other, "/echo"), "dns")
  local absent <close> = client { base_url = url, interface = "none0" }
  local kind, message = refused(absent, "/echo")
  t:equal(kind, "connect")
  t:matches(message, 'binding a connection to the interface "none0" failed: No such device')
  fails("invalid_argument", "local_address is an IPv4 address, but ip_family is ipv6; change one of them", client,
    { ip_family = "ipv6", local_address = "127.0.0.2" })
end)

test("address_filter denies addresses after names are resolved", function(t)
  local api <close> = client { address_filter = "public", resolve = { "inner.test:" .. port .. ":127.0.0.1" } }
  for _, host in ipairs { "127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "inner.test" } do
    local kind, message = refused(api, ("http://%s:%s/echo"):format(host, port))
    t:equal(kind, "invalid_request")
    t:matches(message, "address_filter denies its address .*loopback")
  end
  t:equal(socket_error(api, ("ws://127.0.0.1:%s/ws/echo"):format(port)).kind, "invalid_request")
  local allowed <close> = client { address_filter = { allow = { "127.0.0.0/8" } }, base_url = "http://127.0.0.1:" .. port }
  t:equal(allowed:get("/echo").status, 200)
  fails("invalid_argument", 'the address filter rule "loop" is neither a class of addresses nor a network; the classes are non_public, '
    .. "private, loopback, link_local, shared, unspecified, multicast, documentation, reserved, and a network is written as "
    .. '"10.0.0.0/8"', client, { address_filter = { deny = { "loop" } } })
end)

test("explain names the denied addresses", function(t)
  local entry = "mixed.test:" .. port .. ":10.0.0.1,127.0.0.1"
  local api <close> = client { address_filter = { allow = { "127.0.0.1" } }, resolve = { entry } }
  local res = api:get("http://mixed.test:" .. port .. "/echo")
  local decisions = res:explain()
  t:equal(#decisions, 1)
  local one = decisions[1]
  t:equal({ one.decision, one.host, one.by, one.candidates }, { "addresses_denied", "mixed.test", "address_filter", 2 })
  t:equal(one.denied, { { address = "10.0.0.1", because = "private" } })
  t:matches(one.text, "address_filter denied 1 of 2 addresses of mixed.test: 10%.0%.0%.1 %(private%)$")
  t:equal(#api:get("http://mixed.test:" .. port .. "/echo"):explain(), 0, "a reused connection needs no decision")
  local public <close> = client { address_filter = "public" }
  local _, err = nightjar.try(public.get, public, ("http://127.0.0.1:%s/echo"):format(port))
  t:equal(err:explain()[1].denied, { { address = "127.0.0.1", because = "loopback" } })
  _, err = nightjar.try(public.get, public, ("http://localhost:%s/echo"):format(port))
  t:equal(#err:explain(), 1)
  t:equal(err:explain()[1].host, "localhost")
  t:equal(err:explain()[1].candidates, #err:explain()[1].denied)
end)

test("https_only rejects http and ws URLs", function(t)
  local api <close> = client { base_url = "http://127.0.0.1:" .. port, https_only = true }
  local kind, message = refused(api, "/echo")
  t:equal(kind, "invalid_request")
  t:equal(message, ("requests to http://127.0.0.1:%s are not allowed, because https_only is set; use https, or add "
    .. '"127.0.0.1" to https_only.except'):format(port))
  t:equal(socket_error(api, ("ws://127.0.0.1:%s/ws/echo"):format(port)).kind, "invalid_request")
  local excepted <close> = client { base_url = "http://127.0.0.1:" .. port, https_only = { except = { "127.0.0.1", "*.internal" } } }
  t:equal(excepted:get("/echo").status, 200)
end)

assert(testing.run().ok, "a case failed")
