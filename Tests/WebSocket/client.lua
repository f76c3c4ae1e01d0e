-- One conversation over a WebSocket with a server of peers.py, by the Lua API:
--
--   nightjar client.lua CASE URL CONFIG OPTIONS [ARGUMENT...]
--
-- CONFIG is the JSON of nightjar.client's options, OPTIONS the JSON of api:websocket's. The cases and their arguments are the
-- same as in client.c.
local nightjar = require "nightjar"

local LIMIT, LARGE = 20, 8 << 20 -- seconds; bytes

local case, url, config, options = table.unpack(arg, 1, 4)
local api = nightjar.client(nightjar.json.decode(config))
options = nightjar.json.decode(options)

local function opened() return api:websocket(url, options):connect(LIMIT) end

local function shown(value)
  return type(value) == "string" and ("%q (%d bytes)"):format(value:sub(1, 60), #value) or tostring(value)
end

local function expect(name, actual, expected)
  if actual ~= expected then error(("%s is %s, expected %s"):format(name, shown(actual), shown(expected)), 2) end
end

-- Receives one message, which must have this field.
local function receive(socket, field, expected)
  local message = socket:receive(LIMIT) or error("the WebSocket ended, expected a message", 2)
  expect("the message", message[field], expected)
end

local function receive_text(socket, expected) receive(socket, "text", expected) end

-- Receives the end: "ok", or the kind of the error.
local function receive_end(socket, expected)
  local ok, result = pcall(socket.receive, socket, LIMIT)
  if ok and result then error("a message arrived, expected the end", 2) end
  expect("the end", ok and "ok" or result.kind or result, expected)
end

local function close(socket, code, reason)
  socket:close(code, reason)
  receive_end(socket, "ok")
  expect("the state", socket.state, "closed")
  expect("the confirmation", socket:explain():match "the server confirmed the close" ~= nil, true)
end

local function repeated(unit, length) return unit:rep(length // #unit + 1):sub(1, length) end

-- Bytes that deflate cannot compress: a linear congruential generator. They repeat after 64 KiB, the double of the largest
-- window.
local function noise(length)
  local bytes, state = {}, 1
  for index = 1, math.min(length, 1 << 16) do
    state = state * 6364136223846793005 + 1442695040888963407
    bytes[index] = string.char(state >> 56)
  end
  return repeated(table.concat(bytes), length)
end

local function echo_text(socket, text)
  socket:send(text, LIMIT)
  receive_text(socket, text)
end

local function echo_binary(socket, bytes)
  socket:send_binary(bytes, LIMIT)
  receive(socket, "binary", bytes)
end

local cases = {}

-- 34 messages, of which the client compresses all but the empty one: 32 texts and 2 binary messages.
function cases.echo()
  local socket <close> = opened()
  echo_text(socket, repeated("grüß ", 700))
  echo_text(socket, "")
  echo_binary(socket, noise(70000))
  echo_binary(socket, ("\xFF"):rep(125))
  echo_text(socket, repeated('{"a": [1, 2]}, ', 150000))
  echo_text(socket, ("y"):rep(126))
  -- Similar messages, which refer to each other if the context is kept.
  for number = 1, 28 do
    socket:send_json { kind = "quotation", symbol = "EUR", market = "Frankfurt am Main", number = number }
  end
  for number = 1, 28 do expect("the number", socket:receive(LIMIT).json.number, number) end
  close(socket, 1000, "done")
end

-- Two messages of 8 MiB.
function cases.large()
  local socket <close> = opened()
  echo_text(socket, repeated("0123456789 ", LARGE))
  echo_binary(socket, noise(LARGE))
  close(socket)
end

-- The server's message is larger than the option max_message.
function cases.too_large()
  local socket <close> = opened()
  socket:send(repeated("0123456789 ", 300000))
  receive_end(socket, "too_large")
  expect("the close code", socket.close_code, 1009)
end

-- Pings in both directions.
function cases.ping()
  local socket <close> = opened()
  for number = 1, 3 do receive_text(socket, "pong " .. number) end
  local seconds = socket:ping(LIMIT)
  expect("the time of the Pong", seconds > 0 and seconds < LIMIT, true)
  echo_text(socket, "after")
  close(socket)
end

-- Argument: the expected subprotocol, "" for none.
function cases.protocol(expected)
  local socket <close> = opened()
  expect("the subprotocol", socket.subprotocol or "", expected)
  close(socket)
end

-- Arguments: the code and the reason of the client.
function cases.close(code, reason)
  local socket <close> = opened()
  echo_text(socket, "hello")
  close(socket, math.tointeger(code), reason ~= "" and reason or nil)
end

-- Arguments: the expected result, ok or an error kind; the expected code and reason.
function cases.closed(result, code, reason)
  local socket <close> = opened()
  socket:send "close"
  receive_end(socket, result)
  receive_end(socket, result)
  expect("the close code", socket.close_code, math.tointeger(code))
  expect("the reason", socket.close_reason or "", reason)
end

-- Argument: the number of texts that the server sends before it closes.
function cases.count(count)
  -- connect would raise an error if the server has already closed the WebSocket.
  local socket <close> = api:websocket(url, options)
  local number = 0
  for message in socket:messages() do
    expect("the message", message.text, "message " .. number)
    number = number + 1
  end
  expect("the number of messages", number, math.tointeger(count))
  expect("the close code", socket.close_code, 1000)
end

-- Three connections of one WebSocket.
function cases.reconnect()
  local socket <close> = opened()
  receive_text(socket, "hello 1")
  socket:send "close"
  receive_text(socket, "hello 2")
  socket:send "close"
  receive_text(socket, "hello 3")
  close(socket)
end

-- Two WebSockets of one client. The handshake of the first sets a cookie.
function cases.cookie()
  for _, expected in ipairs { "", "flavor=oat" } do
    local socket <close> = opened()
    receive_text(socket, expected)
    close(socket)
  end
end

-- Arguments: a text to send, and a part of the text that the server sends after others.
function cases.exchange(text, part)
  local socket <close> = opened()
  socket:send(text)
  repeat
    local message = socket:receive(LIMIT) or error(("the WebSocket ended before %q"):format(part))
  until message.text and message.text:find(part, 1, true)
  -- Further messages may have arrived, so that receive would not return the end.
  socket:close()
  expect("the close code", socket.close_code, 1000)
end

-- Arguments: the expected error kind, and a part of the message.
function cases.rejected(kind, part)
  local ok, err = pcall(opened)
  expect("the result", ok, false)
  expect("the error", err.kind or err, kind)
  if not err.message:find(part, 1, true) then error(("the message is %q, expected %q"):format(err.message, part)) end
end

cases[case](table.unpack(arg, 5))
