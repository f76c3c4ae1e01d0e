-- WebSockets. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse

local api = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", retry = { attempts = 1 } }

test("text, binary and JSON messages are echoed", function(t)
  local socket <close> = api:websocket("/ws/echo")
  socket:send "grüß"
  t:equal(socket:receive(20).text, "grüß")
  socket:send_binary "\0\255"
  local message = socket:receive(20)
  t:equal(message.binary, "\0\255")
  t:equal(message.text, nil)
  socket:send_json { subscribe = "x" }
  t:equal(socket:receive(20).json.subscribe, "x")
  socket:send ""
  t:equal(socket:receive(20).text, "")
  local large = ("0123456789"):rep(300000)
  socket:send(large)
  t:equal(socket:receive(20).text == large, true)
end)

test("the loop over messages ends when the server closes normally", function(t)
  local socket = api:websocket("/ws/count", { query = { n = 5, interval = 0.001 } })
  local numbers = {}
  for message in socket:messages() do numbers[#numbers + 1] = message.json.n end
  t:equal(table.concat(numbers, " "), "1 2 3 4 5")
  t:equal(socket.state, "closed")
  t:equal(socket.close_code, 1000)
  t:equal(socket:receive(), nil)
end)

test("headers, the subprotocol and hooks are part of the handshake", function(t)
  local hooked <close> = nightjar.client {
    base_url = os.getenv "NIGHTJAR_DEMO_URL",
    before = function(request) request.headers["X-Signature"] = "s1" end,
  }
  local socket <close> = hooked:websocket("/ws/echo", {
    query = { headers = 1 }, protocols = { "v9", "v2" }, headers = { ["X-Test"] = "a" },
  })
  t:equal(socket:connect(20), socket)
  t:equal(socket.subprotocol, "v2")
  local response = socket.response
  t:truthy(response.status == 101 or response.status == 200 and response.http_version == "2", response.status)
  t:equal(response.headers["sec-websocket-protocol"], "v2")
  t:equal(response.body, "")
  local headers = socket:receive(20).json
  t:equal(headers["x-test"], "a")
  t:equal(headers["x-signature"], "s1")
  t:equal(headers["sec-websocket-protocol"], "v9, v2")
end)

test("a WebSocket has no response before the response of the handshake", function(t)
  local socket <close> = api:websocket "/ws/handshake/slow" -- never responds
  t:equal(socket.response, nil)
  t:equal(socket.state, "connecting")
end)

test("the hook before makes the request of each connection", function(t)
  local runs, fails = 0, false
  local hooked <close> = nightjar.client {
    base_url = os.getenv "NIGHTJAR_DEMO_URL", retry = { attempts = 1 },
    before = function(request)
      runs = runs + 1
      nightjar.sleep(0.01)
      if fails then error "no signature" end
      t:equal(request.headers["X-Run"], nil) -- a new copy of the request
      t:equal(request.method, "GET")
      request.headers["X-Run"] = tostring(runs)
    end,
  }
  local socket <close> = hooked:websocket("/ws/drop", { query = { headers = 1, after = 1 }, reconnect = true })
  for run = 1, 3 do
    local headers = socket:receive(20).json
    t:equal(headers["x-run"], tostring(run))
    socket:send "x"
    t:equal(socket:receive(20).text, "x")
  end
  t:equal(socket:receive(20).json["x-run"], "4")
  -- Its failure ends the WebSocket.
  fails = true
  socket:send "x"
  local ok, err
  repeat ok, err = pcall(socket.receive, socket, 20) until not ok
  t:truthy(tostring(err):find("no signature", 1, true), err)
  repeat ok, err = pcall(socket.receive, socket, 20) until not ok
  t:equal(err.kind, "cancelled")
  t:equal(socket.state, "closed")
end)

test("a task that is cancelled in a hook leaves the connection to the next task", function(t)
  local runs, is_slow = 0, false
  local hooked <close> = nightjar.client {
    base_url = os.getenv "NIGHTJAR_DEMO_URL", retry = { attempts = 1 },
    before = function()
      runs = runs + 1
      if is_slow then nightjar.sleep(60) end
    end,
  }
  local opened, opens_slowly = 0, false
  local socket <close> = hooked:websocket("/ws/drop", {
    query = { after = 1 }, reconnect = true,
    on_open = function()
      opened = opened + 1
      if opens_slowly then nightjar.sleep(60) end
    end,
  })
  local function cancel_when(reached)
    local reading = nightjar.spawn(socket.receive, socket)
    nightjar.timeout(20, function() while not reached() do nightjar.sleep(0.005) end end)
    reading:cancel()
    pcall(reading.join, reading)
  end
  socket:send "x"
  t:equal(socket:receive(20).text, "x")
  is_slow = true
  cancel_when(function() return runs == 2 end)
  is_slow, opens_slowly = false, true
  cancel_when(function() return opened == 2 end)
  t:equal(runs, 3)
  socket:send "y" -- is kept until on_open has ended, which the cancel has done
  t:equal(socket:receive(20).text, "y")
end)

test("another task calls the hook if the task in the hook is cancelled", function(t)
  local runs = 0
  local hooked <close> = nightjar.client {
    base_url = os.getenv "NIGHTJAR_DEMO_URL", retry = { attempts = 1 },
    before = function()
      runs = runs + 1
      if runs == 2 then nightjar.sleep(60) end
    end,
  }
  local socket <close> = hooked:websocket("/ws/drop", { query = { after = 1 }, reconnect = true })
  socket:send "x"
  t:equal(socket:receive(20).text, "x")
  local received, readers = nil, {}
  for index = 1, 2 do
    readers[index] = nightjar.spawn(function()
      local message = socket:receive(20)
      received = received or message.text
    end)
  end
  nightjar.timeout(20, function() while runs < 2 do nightjar.sleep(0.005) end end)
  nightjar.sleep(0.02) -- the other reader waits now
  readers[1]:cancel()
  nightjar.timeout(5, function() while runs < 3 do nightjar.sleep(0.005) end end)
  socket:send "y"
  nightjar.timeout(20, function() while not received do nightjar.sleep(0.005) end end)
  t:equal(received, "y")
  readers[2]:cancel()
end)

test("the hook of each connection has its own query", function(t)
  local runs = 0
  local hooked <close> = nightjar.client {
    base_url = os.getenv "NIGHTJAR_DEMO_URL", retry = { attempts = 1 },
    before = function(request)
      runs = runs + 1
      t:equal(request.query.token, nil)
      request.query.token = runs
    end,
  }
  local query = { after = 1 }
  local socket <close> = hooked:websocket("/ws/drop", { query = query, reconnect = true })
  for _ = 1, 2 do
    socket:send "x"
    t:equal(socket:receive(20).text, "x")
    -- The state "waiting" can be missed: its duration is random, and can be shorter than the interval of this loop.
    nightjar.timeout(20, function() while socket.state == "open" do nightjar.sleep(0.005) end end)
  end
  t:truthy(runs >= 2)
  t:equal(query.token, nil)
end)

test("large messages arrive in pieces", function(t)
  local socket <close> = api:websocket("/ws/echo", { pieces = true, compress = false })
  local text = "a" .. ("€"):rep(200000)
  socket:send(text)
  local parts = {}
  repeat
    local piece = socket:receive(20)
    t:truthy(#piece.text <= 65536 and utf8.len(piece.text))
    parts[#parts + 1] = piece.text
    t:equal(piece.is_first, #parts == 1)
  until piece.is_last
  t:equal(table.concat(parts) == text, true)
  t:truthy(#parts >= 10)
  socket:send_binary(text)
  t:equal(socket:receive(20).is_last, false)
  local whole <close> = api:websocket "/ws/echo"
  whole:send(text)
  local message = whole:receive(20)
  t:equal(message.is_last, true)
  t:equal(message.text == text, true)
  t:equal(message.is_first, true)
  t:equal(rawget(message, "is_last"), nil)
end)

test("a first piece follows an incomplete message", function(t)
  local socket <close> = api:websocket("/ws/violation/half-frame", { pieces = true, reconnect = true })
  for _ = 1, 2 do
    local piece = socket:receive(20)
    t:equal(piece.text, "half")
    t:equal(piece.is_first, true)
    t:equal(piece.is_last, false)
  end
end)

test("a timeout leaves the socket open", function(t)
  local socket <close> = api:websocket("/ws/echo")
  local message, err = nightjar.try(socket.receive, socket, 0.05)
  t:equal(message, nil)
  t:equal(err.kind, "timeout")
  socket:send "x"
  t:equal(socket:receive(20).text, "x")
end)

test("a Ping returns the time until its Pong", function(t)
  local socket <close> = api:websocket("/ws/echo")
  socket:connect(20)
  t:truthy(socket:ping(20) > 0)
end)

test("other close codes and losses are errors", function(t)
  local socket = api:websocket("/ws/drop", { query = { after = 0, code = 4401, reason = "token expired" } })
  local _, err = nightjar.try(socket.receive, socket)
  t:equal(err.kind, "connection_lost")
  t:equal(err.message, "the server closed the WebSocket with 4401: token expired")
  t:equal(socket.close_code, 4401)
  t:equal(socket.close_reason, "token expired")
  socket = api:websocket("/ws/drop", { query = { after = 0 } })
  _, err = nightjar.try(socket.receive, socket)
  t:equal(err.kind, "connection_lost")
  t:equal(socket.close_code, 1006)
end)

test("a refused handshake has the error of its status", function(t)
  local socket = api:websocket "/ws/handshake/status-403"
  local _, err = nightjar.try(socket.connect, socket)
  t:equal(err.kind, "forbidden")
  t:equal(err.status, 403)
  _, err = nightjar.try(socket.send, socket, "x")
  t:equal(err.kind, "closed")
end)

test("a violation of the protocol is an error", function(t)
  local socket = api:websocket "/ws/violation/masked"
  local _, err = nightjar.try(socket.receive, socket)
  t:equal(err.kind, "protocol")
  t:equal(socket.close_code, 1002)
end)

test("a lost socket connects again, and on_open comes before kept messages", function(t)
  local opened = 0
  local socket <close> = api:websocket("/ws/drop", {
    query = { after = 2 }, reconnect = true,
    on_open = function(ws)
      opened = opened + 1
      ws:send("hello " .. opened)
    end,
  })
  local received = {}
  for number = 1, 3 do
    socket:send("message " .. number)
    received[#received + 1] = socket:receive(20).text
    received[#received + 1] = socket:receive(20).text
    -- A message that is sent before the client has noticed the loss would be lost.
    nightjar.timeout(20, function()
      while select(2, socket:explain():gsub(": waiting:", "")) < number do nightjar.sleep(0.005) end
    end)
  end
  t:equal(table.concat(received, ", "),
    "hello 1, message 1, hello 2, message 2, hello 3, message 3")
  t:truthy(socket:explain():find("waiting", 1, true))
end)

test("a message that is sent before the socket is open and closed is not lost", function(t)
  local room = "before-close"
  local reader <close> = api:websocket("/ws/broadcast/" .. room)
  reader:connect(20)
  local socket = api:websocket("/ws/broadcast/" .. room)
  socket:send "last words"
  socket:close()
  t:equal(reader:receive(20).text, "last words")
  t:equal(socket.close_code, 1000)
end)

test("without keep_unsent, sending fails while there is no connection", function(t)
  local socket <close> = api:websocket("/ws/drop", { query = { after = 1 }, reconnect = true, keep_unsent = false })
  socket:send "x"
  t:equal(socket:receive(20).text, "x")
  local lost
  nightjar.timeout(20, function()
    repeat
      local _, err = nightjar.try(socket.send, socket, "y")
      lost = err
    until lost
  end)
  t:equal(lost.kind, "connection_lost")
end)

test("a socket keeps its client open", function(t)
  local socket <close> = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL" }:websocket "/ws/echo"
  socket:connect(20)
  collectgarbage() collectgarbage()
  socket:send "x"
  t:equal(socket:receive(20).text, "x")
end)

test("an error of on_open is an error of the function that waits", function(t)
  local socket <close> = api:websocket("/ws/echo", { on_open = function() error "no subscription" end })
  local ok, err = pcall(socket.receive, socket, 20)
  t:equal(ok, false)
  t:truthy(tostring(err):find "no subscription")
end)

test("a full send queue makes the sender wait", function(t)
  local socket <close> = api:websocket("/ws/slow", { query = { seconds = 0.5 }, max_queued = 65536, compress = false })
  local payload = ("x"):rep(1 << 20)
  local sender = nightjar.spawn(function() for _ = 1, 16 do socket:send_binary(payload) end end)
  for _ = 1, 16 do t:equal(#socket:receive(20).binary, #payload) end
  sender:join()
end)

test("a send that waits can time out", function(t)
  local socket = api:websocket("/ws/slow", { query = { seconds = 30 }, max_queued = 65536, compress = false,
    close_timeout = 0.1 })
  local payload = ("x"):rep(1 << 20)
  local err
  for _ = 1, 64 do
    _, err = nightjar.try(socket.send, socket, payload, 0.2)
    if err then break end
  end
  t:equal(err.kind, "timeout")
  socket:close()
end)

test("a cancelled task leaves the socket open", function(t)
  local socket <close> = api:websocket("/ws/echo")
  local task = nightjar.spawn(function() socket:receive() end)
  nightjar.sleep(0.02)
  task:cancel()
  pcall(task.join, task)
  socket:send "x"
  t:equal(socket:receive(20).text, "x")
end)

test("messages go to every member of a room", function(t)
  local first <close> = api:websocket "/ws/broadcast/lua"
  local second <close> = api:websocket "/ws/broadcast/lua"
  first:connect(20)
  second:connect(20)
  first:send "hi"
  t:equal(first:receive(20).text, "hi")
  t:equal(second:receive(20).text, "hi")
end)

test("the login applies, and an expired token closes the socket", function(t)
  local _, err = nightjar.try(function() api:websocket("/ws/chat"):connect(20) end)
  t:equal(err.kind, "unauthorized")
  -- The token expires every second. The WebSocket connects again with a new token.
  local refreshes = 0
  local user <close> = nightjar.client {
    base_url = os.getenv "NIGHTJAR_DEMO_URL",
    auth = { type = "bearer", provider = function()
      refreshes = refreshes + 1
      local login = { email = "ada@example.org", password = "moonlight", expires_in = 1 }
      local token = api:post("/v1/auth/login", { json = login }).json
      return token.access_token, token.expires_in
    end },
  }
  local socket <close> = user:websocket("/ws/chat", { reconnect = true, reconnect_codes = { 4401 } })
  for number = 1, 3 do
    socket:send("message " .. number)
    t:equal(socket:receive(20).json.text, "message " .. number)
    nightjar.timeout(20, function()
      while socket.close_code == nil or refreshes <= number do
        nightjar.try(socket.receive, socket, 0.05)
      end
    end)
  end
  t:equal(socket.close_code, 4401)
  t:truthy(refreshes >= 3, refreshes)
end)

test("select waits for sockets, channels and a timeout", function(t)
  local socket <close> = api:websocket "/ws/echo"
  local channel = nightjar.channel(1)
  t:equal(nightjar.select { socket, channel, timeout = 0.02 }, nil)
  channel:send "c"
  local from, value = nightjar.select { socket, channel, timeout = 20 }
  t:equal(from, channel)
  t:equal(value, "c")
  socket:send "s"
  from, value = nightjar.select { socket, channel, timeout = 20 }
  t:equal(from, socket)
  t:equal(value.text, "s")
  socket:close()
  from, value = nightjar.select { socket, channel, timeout = 20 }
  t:equal(from, socket)
  t:equal(value, nil)
end)

test("a WebSocket works over a slow network, and a mock can only reject it", function(t)
  local slow <close> = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", network = "3g" }
  local socket <close> = slow:websocket "/ws/echo"
  socket:send "x"
  t:equal(socket:receive(20).text, "x")
  local mocked <close> = nightjar.client {
    base_url = "http://api.example", mock = nightjar.mock { { path = "/ws", response = 200 }, { path = "/no", response = 403 } },
  }
  local _, err = nightjar.try(function() mocked:websocket("/ws"):connect(20) end)
  t:equal(err.message, "the WebSocket handshake failed: the server responded 200 instead of 101 (Switching Protocols)")
  _, err = nightjar.try(function() mocked:websocket("/no"):connect(20) end)
  t:equal(err.kind, "forbidden")
end)

test("the end of the scope closes the socket", function(t)
  local kept
  do
    local socket <close> = api:websocket "/ws/echo"
    socket:connect(20)
    kept = socket
  end
  t:equal(kept.state, "closed")
  t:equal(kept.close_code, 1000)
end)

test("wrong arguments are rejected", function(t)
  misuse("websocket: path must be a string, got no value", function() api:websocket() end)
  misuse("websocket: on_open must be a function, got number", function() api:websocket("/", { on_open = 1 }) end)
  local _, err = nightjar.try(api.websocket, api, "/ws/echo", { protocols = { "a b" } })
  t:equal(err.kind, "invalid_argument")
  _, err = nightjar.try(api.websocket, api, "/ws/echo", { max_message = 0 })
  t:equal(err.kind, "invalid_argument")
  t:equal(pcall(api.websocket, api, "/ws/echo", { pign = 1 }), false)
  t:equal(pcall(api.websocket, api, "/ws/echo", { body = "x" }), false)
  local socket <close> = api:websocket "/ws/echo"
  misuse("send: a string expected, got no value", function() socket:send() end)
  _, err = nightjar.try(socket.send, socket, "\255")
  t:equal(err.kind, "invalid_argument")
  _, err = nightjar.try(socket.close, socket, 1005)
  t:equal(err.kind, "invalid_argument")
  t:truthy(not pcall(function() return socket.sned end))
end)

assert(testing.run().ok, "a case failed")
