-- WebSockets of nightjar.mock. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local test = testing.test

-- Opens a WebSocket to a mock with these steps.
local function open(steps, options, response)
  response = response or {}
  response.websocket = steps
  local mock = nightjar.mock { { name = "chat", path = "/chat", response = response } }
  local api = nightjar.client { base_url = "http://api.test", mock = mock, retry = false }
  return api:websocket("/chat", options), mock, api
end

-- Returns the error of a receive that must fail.
local function failure(t, socket)
  local message, err = nightjar.try(socket.receive, socket)
  t:equal(message, nil)
  return err
end

test("the steps are performed in order", function(t)
  local socket <close>, mock = open {
    { send = "welcome" }, { receive = "one" }, { receive = { op = "subscribe" } }, { send = { ok = true, n = 2 } },
    { receive_base64 = "AP8=" }, { send_base64 = "AP8=", delay = 0.01 }, { receive = true }, { close = 4000, reason = "bye" },
  }
  t:equal(socket:receive().text, "welcome")
  socket:send "one"
  socket:send_json { op = "subscribe", topic = "x" }
  t:equal(socket:receive().json.n, 2)
  socket:send_binary "\0\255"
  t:equal(socket:receive().binary, "\0\255")
  socket:send "anything"
  local err = failure(t, socket)
  t:equal(err.kind, "connection_lost")
  t:equal(socket.close_code, 4000)
  t:equal(socket.close_reason, "bye")
  t:equal(mock:uses "chat", 1)
  mock:verify()
end)

test("after the last step the server responds to Pings and to a close", function(t)
  local socket <close> = open { { send = "a" } }
  t:equal(socket:receive().text, "a")
  for _ = 1, 3 do
    socket:send "discarded"
    t:truthy(socket:ping() >= 0)
  end
  socket:close(4001, "done")
  t:equal(socket.state, "closed")
  t:equal(socket.close_code, 4001)
  t:equal(socket.close_reason, "done")
end)

test("a message that is not expected is an error without its content", function(t)
  for _, case in ipairs {
    { { receive = "a" }, "send", "secret", 'it is not "a"' },
    { { receive = { token = "a" } }, "send", '{"token": "secret"}', 'it differs at "/token"' },
    { { receive = { token = "a" } }, "send", "secret", "it is not JSON" },
    { { receive = "a" }, "send_binary", "secret", "it is binary" },
    { { receive_base64 = "AP8=" }, "send", "secret", "it is text" },
    { { receive_base64 = "AP8=" }, "send_binary", "secret", "its bytes differ" },
  } do
    local socket <close> = open { { receive = true }, case[1], { send = "never" } }
    socket:send "first"
    socket[case[2]](socket, case[3])
    local err = failure(t, socket)
    t:equal(err.kind, "invalid_request")
    t:matches(err.message, "message 2 of the WebSocket client is not the expected one")
    t:truthy(err.message:find(case[4], 1, true), err.message)
    t:truthy(not err.message:find("secret", 1, true), err.message)
  end
end)

test("a dropped connection is opened again", function(t)
  local mock = nightjar.mock {
    { path = "/chat", responses = { { websocket = { { send = "a" }, { drop = true } } },
      { websocket = { { send = "b" }, { close = 1012 } } }, { websocket = { { send = "c" }, { close = 1000 } } } } },
  }
  local api = nightjar.client { base_url = "http://api.test", mock = mock }
  local texts = {}
  for message in api:websocket("/chat", { reconnect = true }):messages() do texts[#texts + 1] = message.text end
  t:equal(table.concat(texts), "abc")
  t:equal(mock:uses(), 3)
end)

test("the handshake has a subprotocol, and can be rejected", function(t)
  local socket <close>, mock = open({ { send = "a" } }, { protocols = { "v1", "v2" } },
    { headers = { ["Sec-WebSocket-Protocol"] = "v2" } })
  t:equal(socket:receive().text, "a")
  t:equal(socket.subprotocol, "v2")
  t:equal(mock:calls("chat")[1].headers["sec-websocket-protocol"], "v1, v2")

  local forbidden <close> = nightjar.client { base_url = "http://api.test", mock = { { response = 403 } } }:websocket "/chat"
  t:equal(failure(t, forbidden).kind, "forbidden")
  local plain <close> = nightjar.client { base_url = "http://api.test", mock = { { response = { body = "x" } } } }:websocket "/chat"
  t:equal(failure(t, plain).status, 200)
end)

test("a function can respond with a WebSocket", function(t)
  local mock = nightjar.mock { { path = "/rooms/{room}", response = function(request)
    return { websocket = { { send = request.params.room }, { close = 1000 } } }
  end } }
  local api = nightjar.client { base_url = "http://api.test", mock = mock }
  t:equal(api:websocket("/rooms/blue"):receive().text, "blue")
end)

test("another request of a WebSocket route fails", function(t)
  local _, _, api = open {}
  local _, err = nightjar.try(api.get, api, "/chat")
  t:equal(err.kind, "invalid_request")
  t:matches(err.message, "responds only to WebSocket handshakes")
end)

test("large messages and many messages arrive whole", function(t)
  local large = ("0123456789abcdef"):rep(1 << 16)
  local steps = { { receive = large }, { send = large } }
  for number = 1, 2000 do steps[#steps + 1] = { send = tostring(number) } end
  local socket <close> = open(steps)
  socket:send(large)
  t:truthy(socket:receive().text == large)
  for number = 1, 2000 do t:equal(socket:receive().text, tostring(number)) end
end)

test("messages keep their order while the connection is opened", function(t)
  for round = 1, 20 do
    local steps = {}
    if round % 2 == 0 then steps[1] = { receive = "first" } end
    for number = 1, 500 do steps[#steps + 1] = { receive = tostring(number) } end
    steps[#steps + 1] = { send = "all" }
    local on_open = round % 2 == 0 and function(socket) socket:send "first" end or nil
    local socket <close> = open(steps, { on_open = on_open })
    for number = 1, 500 do socket:send(tostring(number)) end
    t:equal(socket:receive().text, "all")
  end
end)

test("a client that sends faster than the script receives must wait", function(t)
  local steps = {}
  for number = 1, 5000 do steps[number] = { receive = tostring(number), delay = number == 2 and 0.1 or 0 } end
  steps[#steps + 1] = { send = "all" }
  local socket <close> = open(steps, { max_queued = 4096 })
  for number = 1, 5000 do socket:send(tostring(number)) end
  t:equal(socket:receive().text, "all")
end)

test("a network profile applies", function(t)
  local mock = nightjar.mock { { response = { websocket = { { receive = "x" }, { send = "y" } } } } }
  local api = nightjar.client { base_url = "http://api.test", mock = mock, network = { latency = 0.05 } }
  local socket <close> = api:websocket "/"
  socket:send "x"
  t:equal(socket:receive().text, "y")
  t:truthy(socket:ping() >= 0.05)
end)

test("invalid steps are rejected", function(t)
  local function mock(step) return nightjar.mock { { response = { websocket = { step } } } } end
  for _, case in ipairs {
    { {}, "exactly one of" }, { { send = "a", receive = "b" }, "exactly one of" }, { { send = 1 }, "a string or a table" },
    { { receive = false }, "a string, a table or true" }, { { close = 1005 }, "1005" }, { { close = 70000 }, "4999" },
    { { reason = "x", send = "a" }, "without close" }, { { close = 1000, reason = ("x"):rep(124) }, "123" },
    { { send_base64 = "?" }, "base64" }, { { drop = false }, "true" }, { { sned = "a" }, "send" }, { { send = "a", delay = -1 }, "delay" },
  } do
    local made, err = nightjar.try(mock, case[1])
    t:equal(made, nil)
    t:equal(err.kind, "invalid_argument")
    t:truthy(err.message:find(case[2], 1, true), err.message)
  end
  local _, err = nightjar.try(nightjar.mock, { { response = { websocket = "a" } } })
  t:matches(err.message, "list of steps")
end)

assert(testing.run().ok, "tests failed")
