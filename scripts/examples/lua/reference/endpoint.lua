local nightjar = require "nightjar"
local api = nightjar.client {
  base_url = "http://127.0.0.1:8080/v1",
  endpoints = { articles = { path = "/articles", parameters = { q = "string", per_page = "integer" } } },
}
local articles = api.endpoints.articles
print(articles.method, articles.path, articles({ per_page = 2 }).json.per_page)
print(#articles:paginate({ per_page = 10 }):collect())
-- Prints:
--   GET	/articles	2
--   25
