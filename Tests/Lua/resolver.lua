-- The options resolver and on_addresses: functions that resolve names and decide about addresses. Uses the demo server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, fails, misuse = testing.test, check.fails, check.misuse

local port = tonumber(os.getenv "NIGHTJAR_DEMO_URL":match ":(%d+)")
local function url(host, path) return ("http://%s:%d%s"):format(host, port, path or "/echo") end

local function client(options)
  options.retry, options.proxy = options.retry or false, false
  return nightjar.client(options)
end

local function resolving(resolver, options)
  options = options or {}
  options.resolver = resolver
  return client(options)
end

local function deciding(on_addresses, options)
  options = options or {}
  options.on_addresses = on_addresses
  return client(options)
end

local function failure(api, target, options)
  local _, err = nightjar.try(api.get, api, target, options)
  assert(err, "the call succeeded")
  return err
end

-- Occupies the thread of the script, which runs no function meanwhile.
local function compute(seconds)
  local start = os.clock()
  repeat until os.clock() - start >= seconds
end

-- --- resolver ---

test("resolver provides the addresses of a name, which are cached", function(t)
  local seen = {}
  local api <close> = resolving(function(...)
    seen[#seen + 1] = table.pack(...)
    return { "127.0.0.3", "127.0.0.1" }
  end, { max_connections_per_host = 8 })
  t:equal(api:get(url "api.test").status, 200)
  t:equal(api:get(url "api.test").status, 200)
  t:equal(api:get(url "127.0.0.1").status, 200)
  t:equal(seen, { { n = 3, "api.test", port, false } })
  t:equal(api:get(url "other.test").status, 200)
  t:equal(#seen, 2)
end)

test("nil resolves the name as without a resolver", function(t)
  local names, count = { ["api.test"] = { "127.0.0.1" } }, 0
  local api <close> = resolving(function(host)
    count = count + 1
    return names[host]
  end, { ip_family = "ipv4" })
  t:equal(api:get(url "api.test").status, 200)
  t:equal(api:get(url "localhost").status, 200)
  t:equal(api:get(url "localhost").status, 200)
  t:equal(count, 2)
  local err = failure(api, url "nowhere.invalid")
  t:equal(err.kind, "dns")
  t:matches(err.message, '^resolving the host "nowhere.invalid" failed: ')
end)

test("resolver can return nil and a message, or no addresses", function(t)
  for message, results in pairs {
    ['resolving the host "api.test" failed: the resolver callback has no addresses: unknown service'] = { nil, "unknown service" },
    ['resolving the host "api.test" failed: the resolver callback has no addresses: 404'] = { nil, 404 },
    ['resolving the host "api.test" failed: it has no address; check the name and the DNS settings'] = { {} },
  } do
    local api <close> = resolving(function() return results[1], results[2] end)
    local err = failure(api, url "api.test")
    t:equal(err.kind, "dns")
    t:equal(err.phase, "dns")
    t:equal(err.message, message)
  end
end)

test("errors and invalid results of resolver fail the call without retries", function(t)
  local many = {}
  for place = 1, 65 do many[place] = "127.0.0.1" end
  for message, resolver in pairs {
    ["no luck"] = function() error("no luck", 0) end,
    ["resolver must return a table of addresses, nil, or nil and a message, got string"] = function() return "127.0.0.1" end,
    ["resolver must return a table of addresses, nil, or nil and a message, got boolean"] = function() return false end,
    ['resolver: "localhost" is not an IP address'] = function() return { "localhost" } end,
    ["resolver: each address must be a string"] = function() return { 1 } end,
    ["resolver: the table must be a list of addresses"] = function() return { a = "127.0.0.1" } end,
    ["resolver: an address request has more than 64 addresses"] = function() return many end,
    ["cannot be encoded"] = function() return { print } end,
  } do
    local count = 0
    local api <close> = resolving(function()
      count = count + 1
      return resolver()
    end, { retry = { attempts = 3, base = 0 } })
    local err = failure(api, url "api.test")
    t:equal(err.kind, "script", message)
    t:matches(err.message, '^resolving the host "api.test" failed: ')
    t:truthy(message == "cannot be encoded" or err.message:find(message, 1, true), err.message)
    t:equal(count, 1)
  end
end)

test("resolver may wait and use other clients, and concurrent calls share the request", function(t)
  local count = 0
  local plain <close> = client { base_url = url("127.0.0.1", "") }
  local api <close> = resolving(function()
    count = count + 1
    nightjar.sleep(0.02)
    return { plain:get("/echo", { query = { address = "127.0.0.1" } }).json.query[1][2] }
  end)
  local statuses = nightjar.map({ 1, 2, 3, 4 }, function() return api:get(url "api.test").status end, { concurrency = 4 })
  t:equal(statuses, { 200, 200, 200, 200 })
  t:equal(count, 1)
end)

test("resolver cannot use its own client, not even in another task", function(t)
  local message = "a function of resolver cannot use a client that waits for it; use another client"
  local api
  for _, use in ipairs {
    function() api:get(url "127.0.0.1") end,
    function() nightjar.map({ 1 }, function() api:get(url "127.0.0.1") end) end,
    function() api:paginate(url "127.0.0.1") end,
  } do
    api = resolving(use)
    local err = failure(api, url "api.test")
    t:equal(err.kind, "script")
    t:truthy(err.message:find(message, 1, true), err.message)
    api:close()
  end
  local kind
  api = resolving(function()
    local _, err = nightjar.try(api.get, api, "/")
    kind = err.kind
    return { "127.0.0.1" }
  end)
  t:equal(api:get(url "api.test").status, 200)
  t:equal(kind, "reentrant")
  api:close()
end)

test("resolver cannot wait for the lists, WebSockets, transfers and resources of its own client", function(t)
  local demo = url("127.0.0.1", "")
  local path = os.tmpname()
  local api, list, socket, download, resource
  local uses = {
    list = function() list() end,
    socket = function() socket:receive() end,
    download = function() download:wait() end,
    resource = function() resource:get() end,
  }
  for name, use in pairs(uses) do
    api = resolving(use)
    list = api:paginate(demo .. "/v1/lists/resolver/offset", { style = "offset" })
    socket = api:websocket(demo .. "/ws/echo")
    download = api:start_download(demo .. "/delay/30", path)
    resource = api:resource(demo .. "/echo")
    local started = os.time()
    local err = failure(api, url "api.test")
    t:equal(err.kind, "script", name)
    t:truthy(err.message:find("a function of resolver cannot use a client that waits for it", 1, true), err.message)
    t:truthy(os.time() - started <= 5, name)
    api:close()
  end
  os.remove(path)
  os.remove(path .. ".nightjar-part")
end)

test("the connect and the total timeout run while resolver decides", function(t)
  local api <close> = resolving(function() nightjar.sleep(1) return { "127.0.0.1" } end, { timeout = { connect = 0.1 } })
  local err = failure(api, url "api.test")
  t:equal(err.kind, "timeout")
  t:matches(err.message, "the resolver callback did not respond")
  err = failure(api, url "api.test", { timeout = { connect = 5, total = 0.1 } })
  t:equal(err.kind, "timeout")
  t:equal(err.phase, "total")
end)

test("a call ends by its timeout while the script computes and does not wait", function(t)
  local api <close> = resolving(function() compute(0.25) return { "127.0.0.1" } end, { timeout = { connect = 0.1 } })
  local err = failure(api, url "api.test")
  t:equal(err.kind, "timeout")
  t:matches(err.message, "the resolver callback did not respond")
end)

test("a call can be cancelled while resolver runs, and its result is ignored", function(t)
  local ran, ended = false, false
  local api <close> = resolving(function()
    ran = true
    nightjar.sleep(0.1)
    ended = true
    return { "127.0.0.1" }
  end)
  local task = nightjar.spawn(function() api:get(url "api.test") end)
  while not ran do nightjar.sleep(0.005) end
  task:cancel()
  local _, err = nightjar.try(task.join, task)
  t:equal(err.kind, "cancelled")
  t:equal(ended, false)
  while not ended do nightjar.sleep(0.005) end
  t:equal(api:get(url "api.test").status, 200)
end)

test("closing the client ends the call that waits for resolver", function(t)
  local api
  api = resolving(function() api:close() return { "127.0.0.1" } end)
  t:equal(failure(api, url "api.test").kind, "cancelled")
end)

test("closing the client does not wait for a resolver that a token request needs", function(t)
  local ran = false
  local api = resolving(function()
    ran = true
    nightjar.sleep(10)
    return { "127.0.0.1" }
  end, { base_url = url("api.test", ""), auth = { type = "oauth2", grant = "client_credentials", client_id = "demo",
    client_secret = "demo-secret", token_url = url("tokens.test", "/v1/oauth/token") } })
  local task = nightjar.spawn(failure, api, "/v1/me")
  while not ran do nightjar.sleep(0.005) end
  local start = nightjar.time.monotonic()
  api:close()
  t:truthy(nightjar.time.monotonic() - start < 2, "close has waited")
  t:equal(task:join().kind, "cancelled")
end)

test("resolver is called for token requests, WebSockets and redirects", function(t)
  local seen = {}
  local api <close> = resolving(function(host)
    seen[#seen + 1] = host
    return { "127.0.0.1" }
  end, { base_url = url("api.test", ""), auth = { type = "oauth2", grant = "client_credentials", client_id = "demo",
    client_secret = "demo-secret", token_url = url("tokens.test", "/v1/oauth/token") } })
  t:equal(api:get("/v1/me").status, 200)
  t:equal(seen, { "tokens.test", "api.test" })
  do
    local socket <close> = api:websocket(("ws://sockets.test:%d/ws/echo"):format(port))
    socket:send "hello"
    t:equal(socket:receive(5).text, "hello")
  end
  t:equal(seen[3], "sockets.test")
end)

test("the rules of address_filter and the entries of resolve apply to addresses of resolver", function(t)
  local count = 0
  local api <close> = resolving(function()
    count = count + 1
    return { "127.0.0.1", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1" }
  end, { address_filter = "public", resolve = { "known.test:" .. port .. ":127.0.0.1" } })
  local err = failure(api, url "api.test")
  t:equal(err.kind, "invalid_request")
  t:matches(err.message, "address_filter denies its address")
  t:equal(failure(api, url "known.test").kind, "invalid_request")
  t:equal(count, 1)
end)

test("resolver and on_addresses must be functions", function()
  misuse("client: resolver must be a function, got table", nightjar.client, { resolver = {} })
  misuse("client: on_addresses must be a function, got boolean", nightjar.client, { on_addresses = true })
end)

-- --- on_addresses ---

test("on_addresses allows all, some or none of the addresses", function(t)
  local seen, answer = {}, nil
  local api <close> = deciding(function(...)
    seen[#seen + 1] = table.pack(...)
    return answer()
  end, { resolve = { "api.test:" .. port .. ":127.0.0.3,127.0.0.1" }, http = { versions = { check.http_version } } })
  answer = function() return { "127.0.0.1" } end
  t:equal(api:get(url "api.test").status, 200)
  t:equal(seen, { { n = 3, "api.test", { "127.0.0.3", "127.0.0.1" }, port } })
  t:equal(api:get(url "api.test").status, 200)
  t:equal(#seen, 1, "an open connection needs no decision")
  answer = function() return true end
  t:equal(api:get(url "127.0.0.1").status, 200)
  t:equal(seen[2], { n = 3, "127.0.0.1", { "127.0.0.1" }, port })
  for message, results in pairs {
    ["the on_addresses callback denies it"] = { false },
    ["the on_addresses callback denies it: not today"] = { false, "not today" },
    ["the on_addresses callback allows none of its addresses; allow one, or use another host"] = { {} },
  } do
    answer = function() return results[1], results[2] end
    local err = failure(api, url "127.0.0.2")
    t:equal(err.kind, "invalid_request")
    t:equal(err.message, ("connecting to 127.0.0.2:%d failed: %s"):format(port, message))
  end
end)

test("errors and other results of on_addresses deny the connection", function(t)
  for message, on_addresses in pairs {
    ["no luck"] = function() error("no luck", 0) end,
    ["on_addresses must return a table of addresses, true or false, got nil"] = function() end,
    ["on_addresses must return a table of addresses, true or false, got number"] = function() return 1 end,
    ['on_addresses: 127.0.0.9 is not an address of "127.0.0.1" in the request; respond with addresses of the request'] =
      function() return { "127.0.0.9" } end,
  } do
    local count = 0
    local api <close> = deciding(function()
      count = count + 1
      return on_addresses()
    end, { retry = { attempts = 3, base = 0 } })
    local err = failure(api, url "127.0.0.1")
    t:equal(err.kind, "script")
    t:equal(err.message, ("connecting to 127.0.0.1:%d failed: %s"):format(port, message))
    t:equal(count, 1)
  end
end)

test("on_addresses decides about the addresses of resolver, after address_filter", function(t)
  local seen
  local api <close> = client {
    resolver = function() return { "10.0.0.1", "127.0.0.1" } end,
    on_addresses = function(_, addresses)
      seen = addresses
      return true
    end,
    address_filter = { deny = { "private" } },
  }
  t:equal(api:get(url "api.test").status, 200)
  t:equal(seen, { "127.0.0.1" })
end)

test("on_addresses cannot allow an address that address_filter denies", function(t)
  local api <close> = deciding(function() return { "127.0.0.1" } end, { address_filter = "public" })
  t:equal(failure(api, url "127.0.0.1").kind, "invalid_request")
end)

test("on_addresses may wait, its call can be cancelled, and it cannot use its own client", function(t)
  local api
  api = deciding(function()
    api:get "/"
    return true
  end)
  fails("script", ("connecting to 127.0.0.1:%d failed: "):format(port)
    .. "a function of on_addresses cannot use a client that waits for it; use another client",
    api.get, api, url "127.0.0.1")
  api:close()
  local ran = false
  api = deciding(function()
    ran = true
    nightjar.sleep(0.05)
    return true
  end)
  local task = nightjar.spawn(function() api:get(url "127.0.0.1") end)
  while not ran do nightjar.sleep(0.005) end
  task:cancel()
  nightjar.try(task.join, task)
  t:equal(api:get(url "127.0.0.1").status, 200)
  api:close()
end)

test("a client that is collected with its functions closes", function(t)
  do
    local api
    api = resolving(function() return api and { "127.0.0.1" } end)
    t:equal(api:get(url "api.test").status, 200)
  end
  collectgarbage()
  collectgarbage()
end)

assert(testing.run().ok, "a case failed")
