-- A chat over a WebSocket: two users, each with a login whose token expires every second. The server closes the
-- connection of an expired token (4401). The client connects again with a new token, and joins again in on_open.
--
--   nightjar demo &
--   nightjar scripts/examples/lua/chat.lua
local nightjar = require "nightjar"
local url = arg[1] or os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local public = nightjar.client { base_url = url }

local function client_of(email)
  return nightjar.client {
    base_url = url,
    auth = {
      type = "bearer",
      provider = function()
        local login = { email = email, password = "moonlight", expires_in = 1 }
        local token = public:post("/v1/auth/login", { json = login }).json
        return token.access_token, token.expires_in
      end,
    },
  }
end

local joins = 0
local function join(email)
  return client_of(email):websocket("/ws/chat", {
    reconnect = true, reconnect_codes = { 1001, 1006, 1011, 1012, 1013, 1014, 4401 },
    on_open = function() joins = joins + 1 end,
  }):connect(30)
end

-- Says a line, and waits until it has come back. A line that was written when the connection was lost is said again.
local function say(socket, text)
  repeat
    socket:send(text)
    local has_arrived = nightjar.try(nightjar.timeout, 2, function()
      repeat local message = socket:receive() until message.json.text == text
      return true
    end)
  until has_arrived
end

local ada, bruno = join "ada@example.org", join "bruno@example.org"
for number = 1, 3 do
  say(ada, "hello " .. number)
  say(bruno, "hello too " .. number)
  nightjar.sleep(1.1)                                   -- both tokens expire
end
ada:close()
bruno:close()
print(("%d lines said, %s"):format(6, joins > 2 and "with new tokens in between" or "with one token each"))
