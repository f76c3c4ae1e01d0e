-- The orderly shutdown of a client. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local test = testing.test

-- Checks that f raises an error of this kind, or a string that contains this text.
local function rejects(expected, f)
  local ok, err = pcall(f)
  assert(not ok, "no error was raised")
  local text = type(err) == "userdata" and err.kind or err
  assert(text:find(expected, 1, true), text)
end

local function client() return nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL" } end

test("calls in flight end, and new ones are rejected", function(t)
  local api = client()
  local slow = nightjar.spawn(function() return api:get "/delay/0.2".status end)
  nightjar.sleep(0.02)
  local drain = nightjar.spawn(function() api:drain() end)
  nightjar.sleep(0.02)
  rejects("closed", function() api:get "/v1/articles/1" end)
  drain:join()
  t:equal(slow:join(), 200)
  rejects("closed", function() api:get "/v1/articles/1" end)
end)

test("work that does not end in time is cancelled", function(t)
  local api = client()
  local slow = nightjar.spawn(function() return nightjar.try(api.get, api, "/delay/30") end)
  nightjar.sleep(0.05)
  rejects("timeout", function() api:drain { timeout = 0.05 } end)
  local _, err = slow:join()
  t:equal(err.kind, "cancelled")
end)

test("event streams and WebSockets end", function(t)
  local api = client()
  local socket = api:websocket "/ws/echo"
  socket:send "hello"
  t:equal(socket:receive().text, "hello")
  local ends = nightjar.spawn(function()
    local _, err = nightjar.try(function()
      for _ in api:events "/events?count=3&end=hold" do end
    end)
    return err and err.kind
  end)
  nightjar.sleep(0.1)
  api:drain { timeout = 30 }
  t:equal(ends:join(), "closed")
  t:equal(socket.close_code, 1001)
end)

test("an idle client drains at once, and wrong options are rejected", function()
  local api = client()
  rejects("drain: options must be a table, got number", function() api:drain(5) end)
  rejects("timeout", function() api:drain { timeout = "x" } end)
  rejects("did you mean", function() api:drain { tmeout = 1 } end)
  api:drain()
  rejects("closed", function() api:drain() end)
end)

assert(testing.run().ok, "a case failed")
