-- nightjar ws: sends the lines of standard input over a WebSocket, and writes the messages that arrive.
local nightjar = require "nightjar"
local call_response = require "nightjar.command.call_response"
local output = require "nightjar.command.output"
local subcommand = require "nightjar.command.subcommand"
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"

local ws = {}

-- Writes a message for a person.
local function write_pretty(message)
  local paint = output.painter()
  io.stdout:write(paint("dim", "< "))
  if message.binary then
    io.stdout:write(("binary message of %d bytes\n"):format(#message.binary))
  elseif pcall(nightjar.json.decode, message.text) then
    output.json(message.text, "json")
  else
    io.stdout:write(text.safe(message.text, { ["\n"] = true, ["\t"] = true }), "\n")
  end
end

-- Writes a message as one line of JSON.
local function write_line(message)
  local shown = { text = message.text }
  if message.binary then shown.base64 = nightjar.base64.encode(message.binary) end
  local ok, value = pcall(nightjar.json.decode, message.text or "")
  if ok then shown.json = value end
  io.stdout:write(nightjar.json.encode(shown), "\n")
end

local function write_data(message) io.stdout:write(message.text or message.binary, "\n") end

local writers = { pretty = write_pretty, ndjson = write_line, data = write_data }

-- Sends each line of standard input. After its end, closes the socket: on a terminal at once, otherwise when no message
-- has arrived for `wait` seconds.
local function send_lines(socket, wait, received)
  for line in nightjar.stdin.lines() do socket:send(line) end
  if terminal.is_terminal(0) then wait = 0 end
  local count
  repeat
    count = received()
    nightjar.sleep(wait)
  until received() == count
  socket:close()
end

local function converse(words)
  local reads_input = not words.ignore_stdin
  words.ignore_stdin = true -- Standard input is not a body.
  local api, request = subcommand.open("get", words)
  if not api then return 1 end
  local options = { protocols = #words.protocol > 0 and words.protocol or nil, reconnect = words.reconnect or nil }
  subcommand.add_request(options, request)
  local write = writers[words.output or output.is_terminal() and "pretty" or "ndjson"]
  local left, count = words.max_messages or math.huge, 0
  local socket <close> = api:websocket(request.path, options)
  local sender
  local done, err = pcall(function()
    socket:connect()
    if reads_input then
      sender = nightjar.spawn(function() pcall(send_lines, socket, words.wait or 1, function() return count end) end)
    end
    while count < left do
      local message = socket:receive()
      if not message then return end
      count = count + 1
      write(message)
      io.stdout:flush()
    end
  end)
  if sender then sender:cancel() end
  if done then socket:close() end
  if words.verbose then io.stderr:write(text.safe(socket:explain(), { ["\n"] = true }), "\n") end
  if done then return 0 end
  call_response.complain(err)
  return 1
end

-- @return the exit status
function ws.run(words) return subcommand.run("ws", words, converse) end

return ws
