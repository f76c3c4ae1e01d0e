-- WebSockets in cassettes, recorded against the demo API. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local test = testing.test

local origin = os.getenv "NIGHTJAR_DEMO_URL"

-- Each test has a new cassette.
local file
testing.before(function(t)
  local name = os.tmpname()
  os.remove(name)
  file = name .. ".json"
  t:cleanup(os.remove, file)
end)

local function client(mode, options)
  options = options or {}
  options.file, options.mode = file, mode
  -- A replay uses no network, so its port can be one that nothing listens on.
  local base = mode == "replay" and options.base or origin
  options.base = nil
  return nightjar.client { base_url = base, cassette = options }
end

local function content() return nightjar.fs.read(file) end

-- A conversation. Returns the received texts.
local function talk(api, token, last)
  local socket <close> = api:websocket("/ws/echo", { query = { token = token }, protocols = { "v2" } })
  local texts = {}
  local function exchange(send, value)
    send(socket, value)
    local message = socket:receive()
    texts[#texts + 1] = message.text or ("%q"):format(message.binary)
  end
  exchange(socket.send, "grüß")
  exchange(socket.send, "")
  exchange(socket.send_json, { a = { 1, 2 }, token = token })
  exchange(socket.send_binary, "\0\255")
  exchange(socket.send, ("x"):rep(70000))
  exchange(socket.send, last or "last")
  texts[#texts + 1] = socket.subprotocol
  socket:close(4000, "done")
  texts[#texts + 1] = socket.close_code .. socket.close_reason
  return table.concat(texts, "|")
end

test("a recorded conversation is replayed", function(t)
  local api <close> = client "record"
  local recorded = talk(api, "secret-token-1")
  api:close()
  local text = content()
  t:falsy(text:find("secret-token-1", 1, true))
  t:matches(text, '"from": "client"')
  t:matches(text, '"close": 4000')
  local replay <close> = client "replay"
  local replayed = talk(replay, "secret-token-1")
  t:equal((replayed:gsub("scrubbed%-1", "secret-token-1")), recorded)
  -- Another token is compared as a secret.
  local other <close> = client "replay"
  t:equal((talk(other, "secret-token-2"):gsub("scrubbed%-1", "secret-token-1")), recorded)
end)

test("a replay fails at a different message", function(t)
  local api <close> = client "record"
  talk(api, "t-1")
  api:close()
  local replay <close> = client "replay"
  local _, err = nightjar.try(talk, replay, "t-1", "other")
  t:equal(err.kind, "invalid_request")
  t:matches(err.message, "message 6 of the WebSocket client is not the expected one: it differs from the recorded message")
  local ignoring <close> = client("replay", { ignore = { body = true } })
  t:truthy(talk(ignoring, "t-1", "other"))
end)

test("the end of a WebSocket is replayed", function(t)
  for _, case in ipairs {
    { "/ws/count?n=3&interval=0&size=1", nil, 1000 }, { "/ws/drop?after=0&code=4401&reason=x", "connection_lost", 4401 },
    { "/ws/drop?after=0", "connection_lost", 1006 }, { "/ws/handshake/status-403", "forbidden", nil },
  } do
    local ends = {}
    for _, mode in ipairs { "record", "replay" } do
      local api <close> = client(mode)
      local socket = api:websocket(case[1])
      local count = 0
      local ok, err = nightjar.try(function() for _ in socket:messages() do count = count + 1 end return true end)
      ends[#ends + 1] = ("%s %s %s %s"):format(count, ok, err and err.kind, socket.close_code)
      t:equal(err and err.kind, case[2])
      t:equal(socket.close_code, case[3])
    end
    t:equal(ends[2], ends[1])
  end
end)

test("auto records once and replays then", function(t)
  local before = nightjar.client { base_url = origin }:get("/__stats").json.web_sockets
  for _ = 1, 3 do
    local api <close> = client "auto"
    t:truthy(talk(api, "abc"))
  end
  local after = nightjar.client { base_url = origin }:get("/__stats").json.web_sockets
  t:equal(after.opened - before.opened, 1)
end)

test("timing is replayed", function(t)
  for _, mode in ipairs { "record", "replay" } do
    local api <close> = client(mode, { timing = true })
    local socket <close> = api:websocket "/ws/count?n=2&interval=0.2&size=0"
    socket:receive()
    local start = nightjar.time.monotonic()
    socket:receive()
    t:truthy(nightjar.time.monotonic() - start > 0.1)
  end
end)

assert(testing.run().ok, "tests failed")
