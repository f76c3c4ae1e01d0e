-- Retry a write without repeating it
--
-- If the response to a POST is lost, the server may have processed the POST. With an idempotency key, the client retries the
-- POST, and the server returns the first response again. In this example, every second connection is lost.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client {
  base_url = origin .. "/v1",
  retry = { attempts = 12, base = 0.005, cap = 0.02, budget = { reserve = 100 } },
}

local attempts = 0
for number = 1, 10 do
  local res = api:post("/orders", {
    query = { drop = 0.5, seed = 7 }, json = { item = "lamp", number = number }, idempotency_key = true,
  })
  attempts = attempts + res.attempts
end
local counted = api:get("/orders/count").json
print(("%d orders"):format(counted.created))
print(attempts > 10 and "more attempts than orders" or "no connection was lost")

-- Without a key, a lost response is an error that reports the unknown outcome.
local careful = nightjar.client { base_url = origin .. "/v1" }
local lost = { query = { key = "once", times = 1, drop = 1 }, json = {} }
local _, err = nightjar.try(careful.post, careful, "/flaky", lost)
print(err.kind, "may have been processed: " .. tostring(err.may_have_been_processed))
-- Prints:
--   10 orders
--   more attempts than orders
--   connection_lost	may have been processed: true
