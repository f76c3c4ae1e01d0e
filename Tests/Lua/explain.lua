-- Why a call went as it did. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal = check.equal

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, retry = { attempts = 2, base = 0.001 } }
local run = nightjar.idempotency_key()
local function flaky(name, times) return { query = { key = run .. name, times = times } } end

-- Nothing had to be decided for most.
local res = api:get "/echo"
equal(#res:explain(), 0)
equal(tostring(res:explain()), "no decisions: the first response was returned")
equal(res.source, "network")
equal(res.attempts, 1)
equal(res.idempotency_key, nil)

-- A table for each decision, a sentence in each, and all of them a line each.
res = api:get("/v1/flaky", flaky("a", 1))
local decisions = res:explain()
equal(#decisions, 1)
local one = decisions[1]
equal(one.decision, "retried")
equal(one.attempt, 1)
assert(one.at >= 0 and one.after >= 0)
equal(one.cause, [[server: GET returned 503 Service Unavailable: "attempt 1 of 1 that were asked to fail"]])
equal(tostring(decisions), one.text)
assert(one.text:find "^at %d+%.%d+ s, after attempt 1: server: GET returned 503 .*; retried after %d+%.%d+ s$", one.text)

-- Errors tell the same, and why it was not tried again.
local _, err = nightjar.try(api.get, api, "/v1/flaky", flaky("b", 5))
decisions = err:explain()
equal(#decisions, 2)
equal(decisions[2].decision, "not_retried")
equal(select(2, tostring(decisions):gsub("\n", "")), 1)
equal(#err.earlier, 1)
equal(tostring(err.earlier[1]), tostring(err):gsub("attempt 2 of 5", "attempt 1 of 5"))
_, err = nightjar.try(api.get, api, "/v1/articles/0")
equal(#err.earlier, 0)
equal(#err:explain(), 0)

-- Redirects, challenges and tokens are decisions, too.
decisions = api:get("/redirect/1"):explain()
equal(decisions[1].decision, "redirected")
equal(decisions[1].status, 302)
local digest = nightjar.client { base_url = origin, auth = { type = "digest", user = "demo", password = "secret" } }
equal(digest:get("/v1/digest"):explain()[1].decision, "challenged")
local login = nightjar.client { base_url = origin, auth = {
  type = "login", url = "/v1/auth/login", json = { email = "ada@example.org", password = "moonlight" },
} }
decisions = login:get("/v1/me"):explain()
equal(decisions[1].decision, "token_awaited")
equal(decisions[1].cause, "missing")
api:post("/__control", { json = { expire_access_tokens = true } })
decisions = login:get("/v1/me"):explain()
equal(decisions[1].cause, "refused")
equal(decisions[2].decision, "replayed")
assert(not tostring(decisions):find "moonlight")

-- Of a streamed answer, when it has ended.
res = api:get("/v1/flaky", { query = { key = run .. "c", times = 1 }, stream = true })
for _ in res:chunks() do end
equal(res:explain()[1].decision, "retried")

-- They are the caller's, to do with as he likes.
decisions[1] = { text = "mine" }
decisions[2] = 7
decisions[3] = false
equal(tostring(decisions), "mine\n\n")
equal(getmetatable(decisions), false)
assert(not pcall(res.explain, {}))
