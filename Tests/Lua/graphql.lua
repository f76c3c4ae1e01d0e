-- GraphQL operations: nightjar.graphql and the option graphql. Needs the demo API.
local nightjar = require "nightjar"
local fs = require "nightjar.fs"
local graphql = require "nightjar.graphql"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin, retry = false }
local gql = graphql.client(api, "/graphql")

local article = "query($id: ID!) { article(id: $id) { id title secret } }"
local comment = "mutation($input: CreateCommentInput!) { createComment(input: $input) { id body author { handle } } }"
local list = [[
  query($n: Int, $after: String, $tag: String) {
    articles(first: $n, after: $after, tag: $tag) { pageInfo { endCursor hasNextPage } edges { node { id title } } }
  }]]

-- The number of requests that the server has received.
local function requests() return (api:get("/__stats").json.paths["/graphql"] or { requests = 0 }).requests end

test("a result has data and errors", function(t)
  local result = gql:query(article, { id = 3 })
  t:equal(result.data.article.id, "3")
  t:equal(result.data.article.secret, nightjar.null)
  t:equal(#result.errors, 1)
  t:equal(result.errors[1].extensions.code, "FORBIDDEN")
  t:equal(result.response.status, 200)
  local complete = gql:query("{ article(id: 1) { id } }")
  t:equal(complete.data, { article = { id = "1" } })
  t:equal(complete.errors, nil)
end)

test("a rejected operation raises an error of the kind graphql", function(t)
  local err = t:raises("graphql", gql.query, gql, "{ article { title } }")
  t:equal(err.status, 400)
  t:equal(err.may_have_been_processed, false)
  t:equal(err.response.json.errors[1].message, "the field article needs the argument id of the type ID!")
  local lost = t:raises("graphql", gql.mutate, gql, comment, { input = { articleId = 99999, authorId = 1, body = "x" } })
  t:equal(lost.may_have_been_processed, true)
  t:equal(lost.message, 'the GraphQL operation returned no data: "there is no such article"')
end)

test("mutations, operation names, extensions and options of calls", function(t)
  local input = { articleId = 1, authorId = "1", body = "from Lua" }
  local result = gql:mutate(comment, { input = input }, { idempotency_key = "graphql-lua-1", timeout = 5 })
  t:equal(result.data.createComment.body, "from Lua")
  local two = "query A { article(id: 1) { id } } query B { article(id: 2) { id } }"
  t:equal(gql:query(two, nil, { operation_name = "B" }).data.article.id, "2")
  local mirror = graphql.client(api, "/echo")
  local parts = {}
  for part in api:post("/echo", { graphql = { query = two, operation_name = "A", variables = {}, extensions = { a = 1 } },
    stream = true }):chunks() do parts[#parts + 1] = part end
  local echo = nightjar.json.decode(table.concat(parts))
  t:raises("decoding", mirror.query, mirror, "{ a }")
end)

test("a query can be sent by GET", function(t)
  local cached = nightjar.client { base_url = origin, cache = true }
  local get = graphql.client(cached, "/graphql", { method = "GET" })
  t:equal(get:query("{ article(id: 1) { id } }").data.article.id, "1")
  t:equal(get:mutate(comment, { input = { articleId = 1, authorId = 1, body = "x" } }).data.createComment.body, "x")
  cached:close()
end)

test("a connection is a list of nodes", function(t)
  local ids = {}
  for node in gql:items(list, { n = 10 }) do ids[#ids + 1] = node.id end
  t:equal(#ids, 25)
  t:equal(ids[25], "25")
  local pages = 0
  for page in gql:items(list, { n = 10 }):pages() do
    pages = pages + 1
    t:equal(#page.items, pages == 3 and 5 or 10)
  end
  t:equal(pages, 3)
end)

test("a list continues at its state", function(t)
  -- Without prefetch, so that the cases below can count requests.
  local first = gql:items(list, { n = 10 }, { prefetch = 0 })
  for _ = 1, 12 do first() end
  local state = first:state()
  first:close()
  t:equal(gql:items(list, { n = 10 }, { resume = state, prefetch = 0 })().id, "13")
  t:raises("invalid_argument", gql.items, gql, list, { n = 9 }, { resume = state })
end)

test("variables are checked before anything is sent", function(t)
  local mock = nightjar.mock { { path = "/graphql", response = { json = { data = {} } } } }
  local api = nightjar.client { base_url = "http://api.test", mock = mock }
  local gql = graphql.client(api, "/graphql")
  fails("invalid_argument", 'the GraphQL operation has no variable "idd"; did you mean "id"?', gql.query, gql, article, { idd = 1 })
  fails("invalid_argument", 'the variable "id" must be a string or an integer, got a boolean', gql.query, gql, article, { id = true })
  fails("invalid_argument", 'the GraphQL document is invalid: expected a field, found the end at line 1 column 4', gql.query, gql, "{ a")
  fails("invalid_argument", "the GraphQL operation is a mutation, not a query", gql.query, gql, "mutation { a }")
  fails("invalid_argument", "a GraphQL subscription has no single response; send a query", api.post, api, "/graphql",
    { graphql = "subscription { a }" })
  fails("invalid_argument", "a GET request can only have a GraphQL query; use POST", api.get, api, "/graphql",
    { graphql = { query = "mutation { a }" } })
  fails("invalid_argument", "a GraphQL request must be a POST or GET request, got PUT", api.put, api, "/graphql", { graphql = "{ a }" })
  fails("invalid_argument", 'option "graphql" replaces the body; remove the body', api.post, api, "/graphql", { graphql = "{ a }", body = "x" })
  fails("invalid_argument", 'unknown option "graphql.querry"; did you mean "query"?', api.post, api, "/graphql", { graphql = { querry = "" } })
  t:equal(mock:uses(), 0)
end)

test("a schema is loaded once, kept in a file, and replaced if it is outdated", function(t)
  local folder <close> = fs.temp_dir()
  local path = folder.path .. "/graphql/schema.json"
  local before = requests()
  local checked = graphql.client(api, "/graphql", { schema = path })
  nightjar.all {
    function() checked:query("{ article(id: 1) { id } }") end,
    function() checked:query("{ article(id: 2) { id } }") end,
  }
  t:equal(requests(), before + 3)
  t:equal(fs.stat(path).mode & 0x1ff, tonumber("600", 8))
  fails("invalid_argument", 'the variable "input" has the field "bod", which CreateCommentInput does not have; did you mean "body"?',
    checked.mutate, checked, comment, { input = { articleId = 1, authorId = 1, bod = "x" } })
  t:equal(requests(), before + 3)

  -- Another client reads the file. It requests the schema only if a variable does not fit.
  local second = graphql.client(api, "/graphql", { schema = path })
  t:equal(second:query(article, { id = 1 }).data.article.id, "1")
  t:equal(requests(), before + 4)
  local old = fs.read(path):gsub('"articleId"', '"article_id"')
  fs.write(path, old)
  local third = graphql.client(api, "/graphql", { schema = path })
  t:equal(third:mutate(comment, { input = { articleId = 1, authorId = 1, body = "x" } }).data.createComment.body, "x")
  t:equal(requests(), before + 6)
  t:equal(fs.read(path):find('"article_id"', 1, true), nil)
end)

test("the kind of an operation is that of the document", function(t)
  t:equal(graphql.kind "{ a }", "query")
  t:equal(graphql.kind "mutation { a }", "mutation")
  t:equal(graphql.kind("query A { a } subscription B { b }", "B"), "subscription")
  local _, err = nightjar.try(graphql.kind, "query A { a } query B { b }")
  t:matches(err.message, "has 2 operations %(A, B%)")
  t:equal(select(2, nightjar.try(graphql.kind, "{ a(")).kind, "invalid_argument")
  misuse("graphql.kind: the document must be a string, got no value", graphql.kind)
  misuse("graphql.kind: the operation name must be a string, got number", graphql.kind, "{ a }", 1)
end)

test("incomplete documents are completed", function(t)
  local folder <close> = fs.temp_dir()
  local checked = graphql.client(api, "/graphql", { schema = folder.path .. "/schema.json" })
  t:equal(graphql.complete(graphql.client(api, "/other"), "{ "), {})
  checked:query("{ article(id: 1) { id } }")
  t:equal(graphql.complete(checked, "{ article("), { "id" })
  t:equal(graphql.complete(checked, "{ articles(order: "), { "OLDEST_FIRST", "NEWEST_FIRST" })
  t:equal(graphql.complete(checked, "{ ", "subscription"), { "commentAdded", "countdown", "failing", "__typename" })
  misuse("graphql.complete: a GraphQL client expected, got table", graphql.complete, {}, "")
  misuse("graphql.complete: the document must be a string, got no value", graphql.complete, gql)
end)

test("wrong arguments are rejected", function()
  misuse("graphql.client: the path must be a string, got no value", graphql.client, api)
  misuse("graphql.client: the options must be a table, got number", graphql.client, api, "/graphql", 1)
  misuse("graphql.client: schema must be a boolean or a path, got number", graphql.client, api, "/graphql", { schema = 1 })
  misuse("graphql.client: schema_max_age must be from 0 to 1e9 seconds, got string", graphql.client, api, "/graphql", { schema_max_age = "x" })
  misuse('graphql.client: method must be "POST" or "GET", got "PUT"', graphql.client, api, "/graphql", { method = "PUT" })
  misuse("query: the document must be a string, got no value", gql.query, gql)
  misuse("mutate: the variables must be a table, got string", gql.mutate, gql, "{ a }", "x")
  misuse("query: the options must be a table, got number", gql.query, gql, "{ a }", {}, 1)
  misuse("items: at must be a string, got number", gql.items, gql, list, {}, { at = 1 })
  fails("invalid_argument", 'the GraphQL operation has no connection at "/users": select pageInfo { endCursor hasNextPage } and nodes or edges of a list, and set its argument after to a variable',
    gql.items, gql, list, {}, { at = "/users" })
end)

assert(testing.run().ok, "a case failed")
