-- GraphQL subscriptions over WebSockets and event streams. Needs the demo API.
local nightjar = require "nightjar"
local graphql = require "nightjar.graphql"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, retry = false }
local gql = graphql.client(api, "/graphql")
local countdown = "subscription($from: Int!) { countdown(from: $from) }"

-- A GraphQL client whose endpoint has query items that change the server.
local function with(query) return graphql.client(api, "/graphql?" .. query) end

-- The numbers of a countdown.
local function numbers(client, from, options)
  local found = {}
  for result in client:subscribe(countdown, { from = from }, options) do found[#found + 1] = result.data.countdown end
  return found
end

local function active() return api:get("/__stats").json.graphql_subscriptions end
local function wait_until(condition)
  for _ = 1, 3000 do
    if condition() then return true end
    nightjar.sleep(0.01)
  end
  return false
end

for _, transport in ipairs { "websocket", "events" } do
  test(transport .. ": results arrive until the subscription is complete", function(t)
    t:equal(numbers(gql, 3, { transport = transport }), { 3, 2, 1, 0 })
  end)

  test(transport .. ": the end of a loop ends the subscription", function(t)
    t:truthy(wait_until(function() return active() == 0 end))
    for result in gql:subscribe(countdown, { from = 100000 }, { transport = transport }) do
      if result.data.countdown < 99998 then break end
    end
    t:truthy(wait_until(function() return active() == 0 end), active())
  end)

  test(transport .. ": a cancelled task ends the subscription", function(t)
    local task = nightjar.spawn(function()
      for _ in gql:subscribe("subscription { commentAdded { id } }", nil, { transport = transport }) do end
    end)
    t:truthy(wait_until(function() return active() == 1 end))
    task:cancel()
    t:truthy(wait_until(function() return active() == 0 end))
  end)

  test(transport .. ": a comment is an event", function(t)
    local subscription <close> = gql:subscribe("subscription { commentAdded(articleId: 3) { body } }", nil, { transport = transport })
    local first = nightjar.spawn(function() return subscription() end)
    t:truthy(wait_until(function() return active() == 1 end))
    gql:mutate("mutation($input: CreateCommentInput!) { createComment(input: $input) { id } }",
      { input = { articleId = 3, authorId = 1, body = "by " .. transport } })
    t:equal(first:join().data.commentAdded.body, "by " .. transport)
  end)

  test(transport .. ": an invalid operation is an error", function(t)
    local subscription <close> = gql:subscribe("subscription { nothing }", nil, { transport = transport })
    local err = t:raises("graphql", subscription)
    t:truthy(err.message:find("nothing", 1, true), err.message)
    t:equal(subscription(), nil)
  end)
end

test("a lost connection is opened again, and the operation subscribed again", function(t)
  local found = {}
  for result in with("drop_after=2"):subscribe(countdown, { from = 5 }) do
    found[#found + 1] = result.data.countdown
    if #found == 5 then break end
  end
  t:equal(found, { 5, 4, 5, 4, 5 })
  local events = {}
  for result in with("drop_after=2"):subscribe(countdown, { from = 5 }, { transport = "events" }) do
    events[#events + 1] = result.data.countdown
    if #events == 3 then break end
  end
  t:equal(events, { 5, 4, 5 })
end)

test("without reconnect, a lost connection is an error", function(t)
  local subscription <close> = with("drop_after=1"):subscribe(countdown, { from = 5 }, { reconnect = false })
  t:equal(subscription().data.countdown, 5)
  t:raises("connection_lost", subscription)
end)

test("a failure of the source is an error after the results", function(t)
  local subscription <close> = gql:subscribe("subscription { failing(after: 2) }")
  t:truthy(subscription().data)
  t:truthy(subscription().data)
  t:raises("graphql", subscription)
end)

test("a server that pings before it acknowledges", function(t)
  t:equal(numbers(with("ping=1"), 1), { 1, 0 })
end)

test("close codes of the protocol have kinds", function(t)
  for code, kind in pairs { [4403] = "forbidden", [4400] = "protocol", [4429] = "rate_limited", [4500] = "server" } do
    local subscription <close> = with("close_after=1&code=" .. code):subscribe(countdown, { from = 5 })
    t:equal(subscription().data.countdown, 5)
    local err = t:raises(kind, subscription)
    t:truthy(err.message:find(tostring(code), 1, true), err.message)
  end
end)

test("a server that does not speak the protocol", function(t)
  local other <close> = graphql.client(api, "/ws/echo"):subscribe(countdown, { from = 1 })
  local err = t:raises(nil, other)
  t:truthy(err.kind == "protocol", err)
end)

test("an endpoint with a token", function(t)
  local closed <close> = with("token=required"):subscribe(countdown, { from = 1 })
  t:raises("forbidden", closed)
  local login = api:post("/v1/auth/login", { json = { email = "ada@example.org", password = "moonlight" } }).json
  local authorized = nightjar.client { base_url = origin, auth = { type = "bearer", token = login.access_token } }
  t:equal(numbers(graphql.client(authorized, "/graphql?token=required"), 1), { 1, 0 })
  t:equal(numbers(graphql.client(authorized, "/graphql?token=required"), 1, { authorize = true }), { 1, 0 })
  t:equal(numbers(with("token=required"), 1, { init_payload = { Authorization = "Bearer " .. login.access_token } }), { 1, 0 })
end)

test("an expired token is renewed, and the operation subscribed again", function(t)
  local login = api:post("/v1/auth/login", { json = { email = "ada@example.org", password = "moonlight", expires_in = 1 } }).json
  local authorized = nightjar.client { base_url = origin, auth = {
    type = "oauth2", token_url = "/v1/oauth/token", client_id = "demo",
    access_token = login.access_token, refresh_token = login.refresh_token, expires_in = 1 } }
  local function refreshes() return api:get("/__stats").json.auth.refreshes end
  local before = refreshes()
  local subscription <close> = graphql.client(authorized, "/graphql?token=required")
    :subscribe("subscription { commentAdded(articleId: 4) { body } }", nil, { authorize = true })
  local first = nightjar.spawn(function() return subscription() end)
  t:truthy(wait_until(function() return active() == 1 end))
  -- On a busy machine, the moment without a subscription can pass unseen.
  t:truthy(wait_until(function() return refreshes() > before end))
  t:truthy(wait_until(function() return active() == 1 end))
  gql:mutate("mutation($input: CreateCommentInput!) { createComment(input: $input) { id } }",
    { input = { articleId = 4, authorId = 1, body = "after the renewal" } })
  t:equal(first:join().data.commentAdded.body, "after the renewal")
end)

-- A client whose access token the server rejects until it is refreshed.
local function with_rejected_token()
  local login = api:post("/v1/auth/login", { json = { email = "ada@example.org", password = "moonlight" } }).json
  return nightjar.client { base_url = origin, auth = { type = "oauth2", token_url = "/v1/oauth/token", client_id = "demo",
    access_token = "rejected", refresh_token = login.refresh_token } }
end
local function refreshes() return api:get("/__stats").json.auth.refreshes end

test("a token that the server rejects with 4403 is refreshed once, and the operation subscribed again", function(t)
  local before = refreshes()
  local user = with_rejected_token()
  t:equal(numbers(graphql.client(user, "/graphql?token=required"), 1, { authorize = true }), { 1, 0 })
  t:equal(refreshes(), before + 1)
  t:equal(numbers(graphql.client(user, "/graphql?token=required"), 1), { 1, 0 })
  t:equal(refreshes(), before + 1)
end)

test("a refreshed token that the server rejects too is an error", function(t)
  for _, code in ipairs { 4401, 4403 } do
    local before = refreshes()
    local subscription <close> = graphql.client(with_rejected_token(), "/graphql?init_code=" .. code):subscribe(countdown, { from = 1 })
    local err = t:raises("unauthorized", subscription)
    t:truthy(err.message:find(tostring(code), 1, true), err.message)
    t:equal(refreshes(), before + 1)
  end
end)

test("without reconnect, a rejected token is an error, and the next subscription has another token", function(t)
  local before = refreshes()
  local client = graphql.client(with_rejected_token(), "/graphql?token=required")
  local subscription <close> = client:subscribe(countdown, { from = 1 }, { reconnect = false })
  t:raises("unauthorized", subscription)
  t:equal(numbers(client, 1, { reconnect = false }), { 1, 0 })
  t:equal(refreshes(), before + 1)
end)

test("a token of the caller that the server rejects is an error", function(t)
  local user = nightjar.client { base_url = origin, auth = { type = "bearer", token = "rejected" } }
  local subscription <close> = graphql.client(user, "/graphql?init_code=4401"):subscribe(countdown, { from = 1 })
  t:raises("unauthorized", subscription)
end)

test("a cassette has no token of connection_init, and is replayed", function(t)
  local file = os.tmpname() .. ".json"
  t:cleanup(os.remove, file)
  local login = api:post("/v1/auth/login", { json = { email = "ada@example.org", password = "moonlight" } }).json
  local function run(mode, token)
    local recorded <close> = nightjar.client { base_url = origin, cassette = { file = file, mode = mode }, auth = { type = "bearer", token = token } }
    return numbers(graphql.client(recorded, "/graphql?token=required"), 1, { authorize = true })
  end
  t:equal(run("record", login.access_token), { 1, 0 })
  local content = nightjar.fs.read(file)
  t:truthy(content:find("connection_init", 1, true))
  t:equal(content:find(login.access_token, 1, true), nil)
  t:equal(run("replay", "another-token"), { 1, 0 })
end)

test("wrong arguments are rejected", function()
  misuse('subscribe: transport must be "websocket" or "events", got "sse"', gql.subscribe, gql, countdown, { from = 1 }, { transport = "sse" })
  fails("invalid_argument", "the GraphQL operation is a query, not a subscription", gql.subscribe, gql, "{ a }")
  fails("invalid_argument", "the variable \"from\" is missing; its type is Int!", gql.subscribe, gql, countdown)
end)

assert(testing.run().ok, "a case failed")
