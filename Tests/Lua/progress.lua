-- on_progress: the progress of uploads and downloads. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, fails, misuse = check.equal, check.fails, check.misuse

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

-- A slow response is reported while it arrives and at its end.
local seen, note = follow()
equal(#api:get("/drip?bytes=20&delay=0.03", { on_progress = note }).body, 20)
equal(#seen > 2, true)
equal(seen[1].received < 20, true)
equal(seen[1].received_total, 20)
equal(seen[1].sent_total, 0)
equal(seen[#seen].received, 20)

-- A fast response is reported once.
seen, note = follow()
api:get("/bytes/5000", { on_progress = note })
equal(#seen, 1)
equal(seen[1].received, 5000)
equal(seen[1].received_total, 5000)

-- Uploads: text, and a body of unknown length.
seen, note = follow()
api:post("/upload", { body = ("x"):rep(300000), on_progress = note })
equal(seen[#seen].sent, 300000)
equal(seen[#seen].sent_total, 300000)
seen, note = follow()
local left = 6
api:post("/upload", {
  on_progress = note,
  body = function()
    left = left - 1
    nightjar.sleep(0.05)
    return left >= 0 and ("y"):rep(1000) or nil
  end,
})
equal(seen[1].sent_total, nil)
equal(seen[1].sent < 6000, true)
equal(seen[#seen].sent, 6000)
equal(seen[#seen].sent_total, 6000)

-- The function can wait, and other tasks run meanwhile.
local ticks = 0
local ticker = nightjar.spawn(function() while true do nightjar.sleep(0.01) ticks = ticks + 1 end end)
equal(#api:get("/drip?bytes=10&delay=0.03", { on_progress = function() nightjar.sleep(0.05) end }).body, 10)
equal(ticks > 5, true)
ticker:cancel()

-- Its errors end the call.
local _, err = pcall(api.get, api, "/drip?bytes=1000&delay=0.05", { on_progress = function() error("enough", 0) end })
equal(err, "enough")

-- A failed call is not reported as complete.
seen, note = follow()
pcall(api.get, api, "/nowhere", { on_progress = note })
equal(#seen, 0)

-- Each of several calls that share an exchange gets reports.
local shared <close> = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", coalesce = true, timeout = 60 }
local one, note_one = follow()
local two, note_two = follow()
nightjar.all {
  function() return shared:get("/drip?bytes=20&delay=0.03", { on_progress = note_one }) end,
  function() return shared:get("/drip?bytes=20&delay=0.03", { on_progress = note_two }) end,
}
equal(#one > 2 and #two > 2, true)
equal(one[#one].received, 20)
equal(two[#two].received, 20)

misuse("get: on_progress must be a function, got number", api.get, api, "/", { on_progress = 1 })
