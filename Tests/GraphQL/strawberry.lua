-- GraphQL against a Python server: scripts/with-graphql nightjar Tests/GraphQL/strawberry.lua
local nightjar = require "nightjar"
local graphql = require "nightjar.graphql"
local testing = require "nightjar.testing"
local test = testing.test

local api = nightjar.client { base_url = os.getenv "NIGHTJAR_GRAPHQL_URL", retry = false }
local gql = graphql.client(api, "/graphql")

test("partial data and errors", function(t)
  local result = gql:query("query($id: ID!) { fruit(id: $id) { name secret } }", { id = 7 })
  t:equal(result.data.fruit.name, "fruit 7")
  t:equal(result.errors[1].message, "the secret cannot be read")
  t:equal(result.errors[1].path, { "fruit", "secret" })
  local err = t:raises("graphql", gql.query, gql, "{ fruit { name } }")
  t:truthy(err.message:find("id", 1, true), err.message)
end)

test("a query by GET", function(t)
  local get = graphql.client(api, "/graphql", { method = "GET" })
  t:equal(get:query("query($id: ID!) { fruit(id: $id) { name } }", { id = 1 }).data.fruit.name, "fruit 1")
end)

test("variables are checked against the schema", function(t)
  local folder <close> = require("nightjar.fs").temp_dir()
  local checked = graphql.client(api, "/graphql", { schema = folder.path .. "/schema.json" })
  local add = "mutation($input: NoteInput!) { addNote(input: $input) }"
  local err = t:raises("invalid_argument", checked.mutate, checked, add, { input = { text = "a", size = "LARG" } })
  t:equal(err.message, 'the variable "input.size" must be a value of Size, got "LARG"; did you mean "LARGE"?')
  t:equal(checked:query("{ notes }").data.notes, {})
  t:equal(checked:mutate(add, { input = { text = "a", size = "LARGE" } }).data.addNote, 1)
  t:equal(checked:query("{ notes }").data.notes, { "a large" })
end)

test("a Relay connection is a list", function(t)
  local names = {}
  for fruit in gql:items([[query($n: Int, $after: String) {
      fruits(first: $n, after: $after) { pageInfo { endCursor hasNextPage } edges { node { name } } } }]], { n = 8 }) do
    names[#names + 1] = fruit.name
  end
  t:equal(#names, 30)
  t:equal(names[30], "fruit 29")
end)

test("a subscription ends with the server", function(t)
  local numbers = {}
  for result in gql:subscribe("subscription($to: Int!) { count(to: $to) }", { to = 5 }) do
    numbers[#numbers + 1] = result.data.count
  end
  t:equal(numbers, { 1, 2, 3, 4, 5 })
end)

test("a lost subscription is subscribed again", function(t)
  local before = api:get("/connections").json
  local lossy = graphql.client(api, "/graphql?drop=3")
  local numbers = {}
  for result in lossy:subscribe("subscription { count(to: 5) }") do numbers[#numbers + 1] = result.data.count end
  t:equal(numbers, { 1, 2, 3, 1, 2, 3, 4, 5 })
  t:equal(api:get("/connections").json, before + 2)
end)

test("an error of the source", function(t)
  local subscription <close> = gql:subscribe("subscription { failing }")
  t:equal(subscription().data.failing, 1)
  local last = subscription()
  t:equal(last.data, nil)
  t:equal(last.errors[1].message, "the source is gone")
end)

test("a rejected subscription raises an error", function(t)
  local subscription <close> = gql:subscribe("subscription { missing }")
  local err = t:raises("graphql", subscription)
  t:truthy(err.message:find("missing", 1, true), err.message)
end)

test("the token is in the payload of connection_init", function(t)
  local authorized = nightjar.client { base_url = os.getenv "NIGHTJAR_GRAPHQL_URL", auth = { type = "bearer", token = "secret-token" } }
  local results = graphql.client(authorized, "/graphql"):subscribe("subscription { authorization }", nil, { authorize = true })
  t:equal(results().data.authorization, "Bearer secret-token")
  t:equal(results(), nil)
  t:equal(gql:subscribe("subscription { authorization }", nil, { init_payload = { Authorization = "own" } })().data.authorization, "own")
end)

assert(testing.run().ok, "a case failed")
