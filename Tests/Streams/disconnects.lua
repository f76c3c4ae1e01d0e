-- Reads event streams whose connections are closed at random bytes, until 1,000 connections have been closed, and checks
-- that each event arrives once and in order. The token of the calls expires every 8 seconds; the client does not allow more
-- than 5 refreshes in 30 seconds. Run directly:
--
--   scripts/with-demo nightjar Tests/Streams/disconnects.lua [SEED]
local nightjar = require "nightjar"

local seed = tonumber(arg[1]) or os.time()
local origin = os.getenv "NIGHTJAR_DEMO_URL"
local tokens = nightjar.client { base_url = origin }:post("/v1/auth/login",
  { json = { email = "ada@example.org", password = "moonlight", expires_in = 8 } }).json
local api = nightjar.client {
  base_url = origin, retry = { attempts = 1 },
  auth = {
    type = "oauth2", token_url = "/v1/oauth/token", client_id = "demo", access_token = tokens.access_token,
    refresh_token = tokens.refresh_token, expires_in = 8,
  },
}
print("seed " .. seed)

-- Reads one stream. Returns the number of its connections that were closed.
local function read(number)
  local query = { count = 3000, drop = 1500, replay = number % 5, seed = seed + number, retry = 100 }
  local expected = 0
  local stream <close> = api:events("/private/events", { query = query, reconnection_time = 0.1 })
  for event in stream do
    expected = expected + 1
    assert(event.id == tostring(expected), ("got the event %s, expected %d"):format(event.id, expected))
  end
  assert(expected == 3000, ("got %d events, expected 3000"):format(expected))
  local _, count = stream:explain():gsub("waiting", "")
  return count
end

-- Ten streams in parallel: the explanation of each has at most 100 lines.
local closed, number = 0, 0
while closed < 1000 do
  local numbers = {}
  for index = 1, 10 do numbers[index] = number + index end
  number = number + 10
  for _, count in ipairs(nightjar.map(numbers, read)) do closed = closed + count end
end
print(("%d connections were closed; every event arrived once and in order"):format(closed))
