local nightjar = require "nightjar"
local api = nightjar.client { base_url = "http://127.0.0.1:8080/v1", retry = { attempts = 2, base = 0.01 } }
local _, err = nightjar.try(api.get, api, "/flaky", { query = { key = "error", times = 9 } })
print(err.kind, err.status, err.attempts, err.retryable)
for _, decision in ipairs(err:explain()) do print(decision.attempt, decision.decision) end
print(err:curl { show_secrets = false }:match "^curl")
-- Prints:
--   server	503	2	true
--   1	retried
--   2	not_retried
--   curl
