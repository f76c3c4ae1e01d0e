local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080" }
local lines = api:lines "/lines/1000000"
print(lines())
print(lines())
lines:close()
print(lines())
-- Prints:
--   line 1
--   line 2
--   nil
