local nightjar = require "nightjar"
local graphql = require "nightjar.graphql"
local gql = graphql.client(nightjar.client { base_url = "http://127.0.0.1:8080" }, "/graphql")

print(gql:query("{ article(id: 1) { author { handle } } }").data.article.author.handle)

local add = "mutation($input: CreateCommentInput!) { createComment(input: $input) { body } }"
local input = { articleId = 1, authorId = 1, body = "Good." }
print(gql:mutate(add, { input = input }, { idempotency_key = true }).data.createComment.body)

local list = "query($after: String) { articles(first: 9, after: $after) { pageInfo { endCursor hasNextPage } edges { node { id } } } }"
local count = 0
for article in gql:items(list) do count = count + 1 end
print(count)
for result in gql:subscribe "subscription { countdown(from: 1) }" do print(result.data.countdown) end
-- Prints:
--   emi
--   Good.
--   25
--   1
--   0
