local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080/v1" }
local options = { query = { count = 25, limit = 10 } }
local list = api:paginate("/lists/example/cursor", options)
print(#list:take(3))
local state = list:state()
print(#list:collect(), #api:paginate("/lists/example/cursor", options):resume(state):collect())
for page in list:refresh():pages() do print(page.number, #page.items) end
list:close()
-- Prints:
--   3
--   22	22
--   1	10
--   2	10
--   3	5
