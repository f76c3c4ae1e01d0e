-- Reads event streams whose connections are closed at random bytes, until 1,000 connections have been closed, and checks
-- that each event arrives once and in order. The token of the calls expires every second. Run directly:
--
--   scripts/with-demo nightjar Tests/Streams/disconnects.lua [SEED]
local nightjar = require "nightjar"

local seed = tonumber(arg[1]) or os.time()
local origin = os.getenv "NIGHTJAR_DEMO_URL"
local tokens = nightjar.client { base_url = origin }:post("/v1/auth/login",
  { json = { email = "ada@example.org", password = "moonlight", expires_in = 1 } }).json
local connections = 0
local api = nightjar.client {
  base_url = origin, retry = { attempts = 1 },
  before = function(request)
    if request.path:find("/private/events", 1, true) then connections = connections + 1 end
  end,
  auth = {
    type = "oauth2", token_url = "/v1/oauth/token", client_id = "demo", access_token = tokens.access_token,
    refresh_token = tokens.refresh_token, expires_in = 1, refresh_limit = 1000,
  },
}
print("seed " .. seed)

-- Reads one stream.
local function read(number)
  local query = { count = 3000, drop = 1500, replay = number % 5, seed = seed + number, retry = 100 }
  local expected = 0
  local stream <close> = api:events("/private/events", { query = query, reconnection_time = 0.1 })
  for event in stream do
    expected = expected + 1
    assert(event.id == tostring(expected), ("got the event %s, expected %d"):format(event.id, expected))
  end
  assert(expected == 3000, ("got %d events, expected 3000"):format(expected))
end

-- Each stream uses one connection more than were closed.
local number = 0
while connections - number < 1000 do
  local numbers = {}
  for index = 1, 10 do numbers[index] = number + index end
  number = number + 10
  nightjar.map(numbers, read)
end
print(("%d connections were closed; every event arrived once and in order"):format(connections - number))
