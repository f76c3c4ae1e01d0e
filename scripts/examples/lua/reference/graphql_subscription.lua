local nightjar = require "nightjar"
local graphql = require "nightjar.graphql"
local gql = graphql.client(nightjar.client { base_url = "http://127.0.0.1:8080" }, "/graphql")

local subscription <close> = gql:subscribe "subscription { countdown(from: 2) }"
print(subscription:next().data.countdown)
for result in subscription do print(result.data.countdown) end
subscription:close()
-- Prints:
--   2
--   1
--   0
