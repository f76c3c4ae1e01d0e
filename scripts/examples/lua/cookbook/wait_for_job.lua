-- Poll a job with increasing delays
--
-- With `expect`, the status 409 ("not yet") is a response and not an error. The delays double up to a limit, with random
-- jitter, so that many clients do not poll at the same time. The whole wait has a timeout.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin }

-- The demo's job: 409 three times, then 200.
local job = { query = { key = "report", times = 3, status = 409 }, expect = { 200, 409 } }

local function wait_for(path, options)
  local pause, polls = 0.02, 0
  while true do
    local res = api:get(path, options)
    polls = polls + 1
    if res.status == 200 then return res, polls end
    nightjar.sleep(pause * (0.5 + math.random() / 2))
    pause = math.min(pause * 2, 5)
  end
end

local res, polls = nightjar.timeout(60, wait_for, "/v1/flaky", job)
print(("status %d after %d requests"):format(res.status, polls))

-- A job that takes too long is cancelled completely.
local _, err = nightjar.try(nightjar.timeout, 0.1, wait_for, "/v1/flaky", {
  query = { key = "never", times = 1000, status = 409 }, expect = { 200, 409 },
})
print(err.kind)
-- Prints:
--   status 200 after 4 requests
--   timeout
