-- on_progress: the progress of uploads and downloads. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, equal, misuse = testing.test, check.equal, check.misuse

local api <close> = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", timeout = 60 }

-- Records the values, and checks that they only increase.
local function follow()
  local seen = {}
  return seen, function(progress)
    local before = seen[#seen]
    if before then equal(progress.sent >= before.sent and progress.received >= before.received, true) end
    seen[#seen + 1] = progress
  end
end

test("a slow response is reported while it arrives and at its end", function(t)
  local seen, note = follow()
  t:equal(#api:get("/drip?bytes=20&delay=0.03", { on_progress = note }).body, 20)
  t:truthy(#seen > 2, #seen)
  t:truthy(seen[1].received < 20, seen[1].received)
  t:equal(seen[1].received_total, 20)
  t:equal(seen[1].sent_total, 0)
  t:equal(seen[#seen].received, 20)
end)

test("a fast response is reported once", function(t)
  local seen, note = follow()
  api:get("/bytes/5000", { on_progress = note })
  t:equal(#seen, 1)
  t:equal(seen[1].received, 5000)
  t:equal(seen[1].received_total, 5000)
end)

test("the progress of an upload has its total length", function(t)
  local seen, note = follow()
  api:post("/upload", { body = ("x"):rep(300000), on_progress = note })
  t:equal(seen[#seen].sent, 300000)
  t:equal(seen[#seen].sent_total, 300000)
end)

test("the progress of a body of unknown length has its total length at the end", function(t)
  local seen, note = follow()
  local left = 6
  api:post("/upload", {
    on_progress = note,
    body = function()
      left = left - 1
      nightjar.sleep(0.05)
      return left >= 0 and ("y"):rep(1000) or nil
    end,
  })
  t:equal(seen[1].sent_total, nil)
  t:truthy(seen[1].sent < 6000, seen[1].sent)
  t:equal(seen[#seen].sent, 6000)
  t:equal(seen[#seen].sent_total, 6000)
end)

test("the function can wait, and other tasks run meanwhile", function(t)
  local ticks = 0
  local ticker = nightjar.spawn(function() while true do nightjar.sleep(0.01) ticks = ticks + 1 end end)
  t:equal(#api:get("/drip?bytes=10&delay=0.03", { on_progress = function() nightjar.sleep(0.05) end }).body, 10)
  t:truthy(ticks > 5, ticks)
  ticker:cancel()
  pcall(ticker.join, ticker)
end)

test("an error of the function ends the call", function(t)
  local _, err = pcall(api.get, api, "/drip?bytes=1000&delay=0.05", { on_progress = function() error("enough", 0) end })
  t:equal(err, "enough")
end)

test("a failed call is not reported as complete", function(t)
  local seen, note = follow()
  pcall(api.get, api, "/nowhere", { on_progress = note })
  t:equal(#seen, 0)
end)

test("each of several calls that share an exchange gets reports", function(t)
  local shared <close> = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", coalesce = true, timeout = 60 }
  local one, note_one = follow()
  local two, note_two = follow()
  nightjar.all {
    function() return shared:get("/drip?bytes=20&delay=0.03", { on_progress = note_one }) end,
    function() return shared:get("/drip?bytes=20&delay=0.03", { on_progress = note_two }) end,
  }
  t:truthy(#one > 2 and #two > 2)
  t:equal(one[#one].received, 20)
  t:equal(two[#two].received, 20)
end)

test("a value that is not a function raises an error", function()
  misuse("get: on_progress must be a function, got number", api.get, api, "/", { on_progress = 1 })
end)

assert(testing.run().ok, "a case failed")
