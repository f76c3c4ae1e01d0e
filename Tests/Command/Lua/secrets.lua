-- Tests the detection of secrets in texts, and their replacement by .save: nightjar Tests/Command/Lua/secrets.lua
local secrets = require "nightjar.command.secrets"
local check = require "check"

local function holds(source, wanted) check.equal(source .. ": " .. tostring(secrets.has(source)), source .. ": " .. tostring(wanted)) end

holds("api:get '/articles'", false)
holds("print 'password'", false)
holds("password = os.getenv 'PASSWORD'", false)
holds("token_url = '/oauth/token'", false)
holds("auth = { type = 'bearer', token = os.getenv 'T' }", false)
holds("auth = { type = 'bearer', token = os.getenv('T') }", false)
holds("auth = { type = 'bearer', store = 'file:x' }", false)
holds("password = 'moonshine'", true)
holds("it = 'moonshine'", true) -- a known value
holds("x = { db_password = [[sunlight]] }", true)
holds("headers = { ['X-Api-Key'] = \"k\" }", true)
holds("headers = { Authorization = 'Bearer abc' }", true)
holds("h['cookie'] = 'a=b'", true)
holds("client { auth = { type = 'basic', user = 'ada', password = 'p' } }", true)
holds("client { auth = { type = 'login', json = { email = 'ada@example.org' } } }", true)
holds("api:set_token { access_token = 'abc' }", true)
holds("api:get 'http://ada:pw@example.org/'", true)
holds("api:get 'http://example.org:80/a@b'", false)
holds("x = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0'", true)
holds("x = 'a sentence that is rather long, and no token 1'", false)
holds("token = 'unfinished", true)

holds("login { pin = 1234 }", true)
holds("login { Password = 1234 }", true)
holds("ask { max_tokens = 1234, pinned = 5 }", false)

-- Secrets in other places and forms.
holds("local password <const> = \"hunter2\"", true)
holds("local secret <close> = 'hunter-3'", true)
holds("password = (\"hunter-4\")", true)
holds("key_pem = 'x'", true)
holds("pkcs12_base64 = 'a/b'", true)
holds("pem = [[-----BEGIN EC PRIVATE KEY-----]]", true)
holds("pem = [[-----BEGIN CERTIFICATE-----]]", false)
holds("password = (('hunter-5'))", true)
holds("password = 'hun' .. 'ter'", true)
holds("password = x or 'hunter-6'", true)
holds("user, password = 'ada', 'hunter-7'", true)
holds("if password == 'hunter-8' then end", true)
holds("tokens = { access_token = 'a', 'b' }", true)
holds("api:get \"http://h/x?api_key=k\"", true)
holds("api:get 'wss://h/x?sig=k'", true)
holds("x = [[postgres://ada:k@h/db]]", true)
holds("jwt = 'j'", true)
holds("pw = 'w'", true)
holds("h = { ['X-JWT'] = 'j' }", true)
holds("h = { ['sessionKey'] = 'j' }", true)
holds("x = '{\"token\": \"t\"}'", true)
holds("x = \"{\\\"token\\\": \\\"t\\\"}\"", true)
holds("-- password=hunter-9", true)
holds("password = ask 'Password: '", false)
holds("token = api:post('/login', { json = { user = 'ada' } }).json.token", false)
holds("for item in api:paginate('/items', { key = 'id' }) do end", false)
holds("x <= 'a' y = 'b'", false)
holds("pw = nil print 'done'", false)

local function saved(source, wanted) check.equal((secrets.replace(source)), wanted) end
saved("c = client { auth = { type = 'bearer', token = 'abcdef' } }",
  "c = client { auth = { type = 'bearer', token = (os.getenv \"NIGHTJAR_TOKEN\") } }")
saved("h = { ['X-Api-Key'] = 'k' }", "h = { ['X-Api-Key'] = (os.getenv \"NIGHTJAR_X_API_KEY\") }")
saved("x = 1", "x = 1")
