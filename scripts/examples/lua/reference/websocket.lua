local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080" }
local socket <close> = api:websocket("/ws/echo", { protocols = { "v2" } })
socket:connect(10)                                      -- optional: the other functions also wait until it is open
print(socket.subprotocol, socket.state)
socket:send "hello"
socket:send_json { greeting = "hello" }
socket:send_binary "\1\2\3"
for message in socket:messages() do
  print(message.text or #message.binary)
  if message.binary then break end
end
socket:send_json { greeting = "bye" }
print(socket:receive(10).json.greeting)
print(socket:ping(10) < 10)
socket:close(4000, "done")
print(socket.state, socket.close_code, socket.close_reason)
print(socket:explain():match "closed: (.*)")
-- Prints:
--   v2	open
--   hello
--   {"greeting":"hello"}
--   3
--   bye
--   true
--   closed	4000	done
--   the server confirmed the close
