local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080/v1" }
local function title(id) return api:get("/articles/" .. id).json.title end

print(nightjar.try(title, 1))
print(select(2, nightjar.try(title, 0)).kind)
print(#nightjar.map({ 1, 2, 3 }, title, { concurrency = 2 }))
local users, comments = nightjar.all {
  function() return api:get("/users").json.total end,
  function() return api:get("/comments").json.total end,
}
print(users, comments)
print(nightjar.race { function() nightjar.sleep(5) end, function() return "first" end })
print(nightjar.timeout(10, title, 1) == title(1))
print(nightjar.spawn(title, 2):join() == title(2), nightjar.after(0.01, title, 3):join() == title(3))

local runs = 0
nightjar.every(0.01, function()
  runs = runs + 1
  return runs < 3                                      -- false ends the task
end):join()
local save = nightjar.debounce(0.01, function(text) print("saved " .. text) end)
local show = nightjar.throttle(0.01, function(text) print("shown " .. text) end)
save "a" save "b" show "c"
nightjar.sleep(0.05)
print(runs)

local jobs = nightjar.channel(4)
jobs:send "job"
local channel, job = nightjar.select { jobs, timeout = 1 }
print(channel == jobs, job)

print(nightjar.json.encode { nightjar.array {}, nightjar.null }, #nightjar.idempotency_key())
local mock = nightjar.mock { { path = "/ping", response = { body = "pong" } } }
print(nightjar.client({ base_url = "http://api.example", mock = mock }):get("/ping").body)
-- Prints:
--   The bird that flies by moonlight
--   not_found
--   3
--   8	60
--   first
--   true
--   true	true
--   shown c
--   saved b
--   3
--   true	job
--   [[],null]	36
--   pong
