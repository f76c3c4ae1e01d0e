-- HTTP/2 against nghttpd: Tests/HTTP2/run nightjar
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local test = testing.test

local plain_url, tls_url = os.getenv "NIGHTJAR_H2_URL", os.getenv "NIGHTJAR_H2_TLS_URL"
local file <close> = assert(io.open(os.getenv "NIGHTJAR_LARGE_FILE", "rb"))
local large = file:read("a")

local function client(url, versions, options)
  options = options or {}
  options.base_url, options.retry = url, false
  options.http = { versions = versions }
  options.tls = { ca_file = os.getenv "NIGHTJAR_CA_FILE" }
  return nightjar.client(options)
end

local clients = {
  ["with prior knowledge"] = client(plain_url, { "2" }),
  ["with ALPN"] = client(tls_url, { "1.1", "2" }),
}

for name, api in pairs(clients) do
  test("a response has a body " .. name, function(t)
    local res = api:get("/small")
    t:equal(res.status, 200)
    t:equal(res.http_version, "2")
    t:equal(res.body, "hello")
    t:equal(res.headers["content-length"], "5")
  end)

  test("a large response is complete " .. name, function(t)
    t:truthy(api:get("/large").body == large)
  end)

  test("a request body is sent under flow control " .. name, function(t)
    t:truthy(api:post("/small", { body = large }).body == large)
  end)

  test("HEAD has no body " .. name, function(t)
    local res = api:head("/large")
    t:equal(res.headers["content-length"], tostring(#large))
    t:equal(res.body, "")
  end)

  test("a missing file is an error " .. name, function(t)
    t:equal(t:raises("not_found", api.get, api, "/missing").status, 404)
  end)

  test("calls share one connection beyond the limit of streams " .. name, function(t)
    local calls = {}
    for index = 1, 300 do
      calls[index] = function()
        local res = api:get("/small")
        return res.body == "hello" and (res.timing.reused and 0 or 1)
      end
    end
    local opened = 0
    for _, count in ipairs { nightjar.all(calls) } do opened = opened + count end
    -- nghttpd allows 100 streams. One connection was open before.
    t:truthy(opened <= 3, opened)
  end)

  test("a cancelled call leaves the connection open " .. name, function(t)
    for _ = 1, 20 do
      local task = nightjar.spawn(function() return api:get("/large") end)
      nightjar.sleep(0.002)
      task:cancel()
    end
    t:truthy(api:get("/small").timing.reused)
  end)

  test("a paused reader blocks only its own stream " .. name, function(t)
    local parts = {}
    for part in api:get("/large", { stream = true }):chunks() do
      parts[#parts + 1] = part
      if #parts < 20 then t:equal(api:get("/small").body, "hello") end
    end
    t:truthy(table.concat(parts) == large)
  end)
end

test("the server chooses HTTP/2 with ALPN", function(t)
  t:equal(clients["with ALPN"]:get("/small").tls.alpn, "h2")
end)

test("invalid versions are rejected", function(t)
  local err = t:raises("invalid_argument", client, plain_url, { "3" })
  t:truthy(err.message:find('"http.versions[1]" must be "1.1" or "2", got "3"', 1, true), err.message)
  t:raises("invalid_argument", client, plain_url, {})
end)

assert(testing.run().ok, "a case failed")
