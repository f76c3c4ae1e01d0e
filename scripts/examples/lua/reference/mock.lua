local nightjar = require "nightjar"
local mock = nightjar.mock { { name = "ping", path = "/ping", responses = { 503, { body = "pong" } } } }
local api = nightjar.client { base_url = "http://api.example", mock = mock, retry = { base = 0.01 } }
print(api:get("/ping").body, mock:uses "ping", mock:calls("ping")[1].path)
mock:verify()
mock:reset()
print(mock:uses())
-- Prints:
--   pong	2	/ping
--   0
