-- Cassettes, which are recorded against the demo API. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local plain = nightjar.client { base_url = origin }
plain:post("/__control", { json = { reset = true } })

-- Each test has a new cassette.
local file
testing.before(function(t)
  local name = os.tmpname()
  os.remove(name)
  file = name .. ".json"
  t:cleanup(os.remove, file)
end)
local function content()
  local handle <close> = assert(io.open(file))
  return handle:read "a"
end

-- The number of requests that the server has received.
local function requests()
  local sum = 0
  for route, count in pairs(plain:get("/__stats").json.requests) do
    if not route:find("__", 1, true) then sum = sum + count end
  end
  return sum
end

local function log_in()
  local login = plain:post("/v1/auth/login",
    { json = { email = "ada@example.org", password = "moonlight", expires_in = 60 } }).json
  plain:post("/__control", { json = { expire_access_tokens = true } })
  return login
end

-- A sequence of calls: a token refresh, JSON, lists, an error and a compressed body. Returns the results as text.
local function run(mode, base, tokens, more)
  local options = {
    base_url = base, cookies = true, retry = { attempts = 1 },
    auth = {
      type = "oauth2", token_url = "/v1/oauth/token", client_id = "demo",
      access_token = tokens.access_token, refresh_token = tokens.refresh_token,
    },
    cassette = { file = file, mode = mode },
  }
  for name, value in pairs(more or {}) do options.cassette[name] = value end
  local api <close> = nightjar.client(options)
  local out = {}
  local function note(...)
    for _, value in ipairs { ... } do out[#out + 1] = tostring(value) end
  end
  note(api:get("/v1/me").json.handle)
  local list = api:get("/v1/articles", { query = { page = 1, per_page = 3 } })
  note(list.status, #list.body > 100, list.headers.content_type)
  note(api:get("/v1/articles", { query = { page = 2, per_page = 3 } }).json ~= nil)
  note(select(2, pcall(api.get, api, "/v1/articles/999999")).kind)
  note(#api:get("/encoded/gzip").body)
  return table.concat(out, " ")
end

-- A client without a login.
local function api_of(options)
  options.file = file
  return nightjar.client { base_url = origin, cassette = options, retry = { attempts = 1 } }
end

testing.test("a cassette contains no secrets, known or unknown", function(t)
  local login = log_in()
  local secrets = { login.access_token, login.refresh_token }
  run("record", origin, login)
  local text = content()
  t:equal(text:find '"format": "nightjar%-cassette"' ~= nil, true)
  for _, secret in ipairs(secrets) do t:equal(text:find(secret, 1, true), nil) end
  -- The new token of the refresh is unknown to the script, but everything with the format of a token is scrubbed.
  for token in text:gmatch '"access_token": "([^"]*)"' do t:matches(token, "^scrubbed%-%d+$") end
  for token in text:gmatch '"Authorization": "Bearer ([^"]*)"' do t:matches(token, "^scrubbed%-%d+$") end
end)

testing.test("a replay has the same results, with other secrets and without the server", function(t)
  local recorded = run("record", origin, log_in())
  local before = requests()
  local fake = { access_token = "another-one", refresh_token = "another-two" }
  t:equal(run("replay", origin, fake), recorded)
  t:equal(requests() - before, 0)
  t:equal(run("replay", "http://127.0.0.1:1", fake, { ignore = { origin = true } }), recorded)
end)

testing.test("each exchange is replayed once, unless the last one may repeat", function(t)
  run("record", origin, log_in())
  do
    local api <close> = api_of { mode = "replay" }
    local query = { page = 1, per_page = 3 }
    t:equal(api:get("/v1/articles", { query = query }).status, 200)
    local _, err = pcall(api.get, api, "/v1/articles", { query = query })
    t:equal(err.kind, "invalid_request")
    t:equal(err.message:find("has already played its one exchange for GET", 1, true) ~= nil, true)
    _, err = pcall(api.get, api, "/v1/articles", { query = { page = 3, per_page = 3 } })
    t:equal(err.message:find('has "page=1" in its query instead of "page=3"', 1, true) ~= nil, true)
  end
  do
    local api <close> = api_of { mode = "replay", repeats = true }
    for _ = 1, 3 do t:equal(api:get("/v1/articles", { query = { page = 1, per_page = 3 } }).status, 200) end
  end
end)

testing.test("with the mode auto, a missing exchange is recorded, and is read from the file next time", function(t)
  run("record", origin, log_in())
  local before = requests()
  for _ = 1, 2 do
    local api <close> = api_of { mode = "auto" }
    t:equal(api:get("/v1/articles/1").status, 200)
  end
  t:equal(requests() - before, 1)
end)

testing.test("a failure is also recorded", function(t)
  local dead = "http://127.0.0.1:1"
  for _, mode in ipairs { "record", "replay" } do
    local api <close> = nightjar.client {
      base_url = dead, cassette = { file = file, mode = mode }, retry = { attempts = 1 },
    }
    t:equal(select(2, pcall(api.get, api, "/")).kind, "connect")
  end
end)

testing.test("a damaged cassette is refused and not modified", function(t)
  local handle = assert(io.open(file, "w"))
  handle:write "{\"format\": \"nightjar-cassette\", "
  handle:close()
  local _, err = pcall(api_of, { mode = "auto" })
  t:equal(err.kind, "decoding")
  t:equal(err.message:find("reading the cassette", 1, true), 1)
  t:equal(content(), "{\"format\": \"nightjar-cassette\", ")
end)

testing.test("a cassette to replay must exist, and its mode must be valid", function(t)
  local _, err = pcall(api_of, { mode = "replay" })
  t:equal(err.kind, "storage")
  check.fails("invalid_argument", 'option "cassette.mode" must be "record", "replay" or "auto", found a string', api_of,
    { mode = "play" })
end)

assert(testing.run().ok, "a case failed")
