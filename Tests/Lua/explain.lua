-- Explanations of calls. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, retry = { attempts = 2, base = 0.001 } }
local run = nightjar.idempotency_key()
local function flaky(name, times) return { query = { key = run .. name, times = times } } end

testing.test("most calls have nothing to explain", function(t)
  local res = api:get "/echo"
  t:equal(#res:explain(), 0)
  t:matches(tostring(res:explain()), "^no decisions: the first result was returned\nHTTP/%d[%d.]*[ ,].* a %l+ connection to 127.0.0.1:%d+$")
  t:equal(res:explain().connection, tostring(res:explain()):match "\n(.*)")
  t:equal(res.source, "network")
  t:equal(res.attempts, 1)
  t:equal(res.idempotency_key, nil)
end)

testing.test("each decision is a table with a text, and a line of the string", function(t)
  local res = api:get("/v1/flaky", flaky("a", 1))
  local decisions = res:explain()
  t:equal(#decisions, 1)
  local one = decisions[1]
  t:equal(one.decision, "retried")
  t:equal(one.attempt, 1)
  t:truthy(one.at >= 0 and one.after >= 0)
  t:equal(one.cause, [[server: GET returned 503 Service Unavailable: "attempt 1 of 1 that are configured to fail"]])
  t:equal(tostring(decisions), one.text .. "\n" .. decisions.connection)
  t:matches(one.text, "^at %d+%.%d+ s, after attempt 1: server: GET returned 503 .*; retried after %d+%.%d+ s$")
end)

testing.test("errors have an explanation too, with the reason why the call was not retried", function(t)
  local _, err = nightjar.try(api.get, api, "/v1/flaky", flaky("b", 5))
  local decisions = err:explain()
  t:equal(#decisions, 2)
  t:equal(decisions[2].decision, "not_retried")
  t:equal(select(2, tostring(decisions):gsub("\n", "")), 1)
  t:equal(#err.earlier, 1)
  t:equal(tostring(err.earlier[1]), (tostring(err):gsub("attempt 2 of 5", "attempt 1 of 5")))
  _, err = nightjar.try(api.get, api, "/v1/articles/0")
  t:equal(#err.earlier, 0)
  t:equal(#err:explain(), 0)
end)

testing.test("redirects, challenges and tokens are decisions", function(t)
  local decisions = api:get("/redirect/1"):explain()
  t:equal(decisions[1].decision, "redirected")
  t:equal(decisions[1].status, 302)
  local digest = nightjar.client { base_url = origin, auth = { type = "digest", user = "demo", password = "secret" } }
  t:equal(digest:get("/v1/digest"):explain()[1].decision, "challenged")
  local login = nightjar.client { base_url = origin, auth = {
    type = "login", url = "/v1/auth/login", json = { email = "ada@example.org", password = "moonlight" },
  } }
  decisions = login:get("/v1/me"):explain()
  t:equal(decisions[1].decision, "token_awaited")
  t:equal(decisions[1].cause, "missing")
  api:post("/__control", { json = { expire_access_tokens = true } })
  decisions = login:get("/v1/me"):explain()
  t:equal(decisions[1].cause, "refused")
  t:equal(decisions[2].decision, "replayed")
  t:falsy(tostring(decisions):find "moonlight")
end)

testing.test("a streamed response has its explanation after its end", function(t)
  local res = api:get("/v1/flaky", { query = { key = run .. "c", times = 1 }, stream = true })
  for _ in res:chunks() do end
  t:equal(res:explain()[1].decision, "retried")
end)

testing.test("the caller can modify the tables", function(t)
  local res = api:get("/redirect/1")
  local decisions = res:explain()
  decisions[1] = { text = "mine" }
  decisions[2] = 7
  decisions[3] = false
  t:equal(tostring(decisions), "mine\n\n\n" .. decisions.connection)
  t:equal(getmetatable(decisions), false)
  t:raises(nil, res.explain, {})
end)

assert(testing.run().ok, "a case failed")
