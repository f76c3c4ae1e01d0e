local nightjar = require "nightjar"
local graphql = require "nightjar.graphql"
local gql = graphql.client(nightjar.client { base_url = "http://127.0.0.1:8080" }, "/graphql", { schema = true })
local result = gql:query("query($id: ID!) { article(id: $id) { title } }", { id = 1 })
print(result.data.article.title)
print(table.concat(graphql.complete(gql, "{ article(id: 1) { auth"), " "):find "author" ~= nil)
print(graphql.kind "mutation { deleteComment(id: 3) }")
-- Prints:
--   The bird that flies by moonlight
--   true
--   mutation
