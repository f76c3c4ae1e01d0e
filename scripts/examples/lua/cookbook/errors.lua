-- Handle errors and find their cause
--
-- A failure raises an error object; `nightjar.try` returns the error. The kind and the other fields describe the failure.
-- `explain` lists the decisions of the call, and `curl` returns the command that sends the same request.
local nightjar = require "nightjar"

local origin = os.getenv "NIGHTJAR_DEMO_URL" or "http://127.0.0.1:8080"
local api = nightjar.client { base_url = origin .. "/v1", retry = { base = 0.01 } }

local function read(id)
  local res, err = nightjar.try(api.get, api, "/articles/" .. id)
  if res then return res.json.title end
  if err.kind == "not_found" then return nil end
  error(err, 0) -- errors that cannot be handled here are passed on
end
print(read(1), read(4711))

-- The server's error message, in any format.
local _, err = nightjar.try(api.post, api, "/articles", { json = { title = "" } })
print(err.kind, err.status, err.retryable)
print(err.details.fields[1].name, err.details.fields[1].message)

-- Two failures, then a success, with an explanation.
local res = api:get("/flaky", { query = { key = "story", times = 2, status = 503 } })
print(res.status, res.attempts .. " attempts", #res:explain() .. " decisions")
print((tostring(res:explain()):match "[^\n]*"))
print((res:curl():gsub("127%.0%.0%.1:%d+", "HOST")))
-- Prints:
--   The bird that flies by moonlight	nil
--   client	422	false
--   /title	must not be empty
--   200	3 attempts	2 decisions
--   at ... s, after attempt 1: server: GET returned 503 Service Unavailable: ...; retried after ... s
--   curl ...HOST/v1/flaky?...
