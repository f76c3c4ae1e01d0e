-- Tab completion: nightjar Tests/Command/Lua/complete.lua
local nightjar = require "nightjar"
local complete = require "nightjar.command.complete"
local check = require "check"

local function expect(source, ...)
  local shown = {}
  for index, name in ipairs(complete.candidates(source)) do shown[index] = name.show end
  check.equal(table.concat(shown, " "), table.concat({ ... }, " "))
end

_G.nightjar = nightjar
api = nightjar.client {
  base_url = "http://127.0.0.1:1",
  endpoints = {
    article = { path = "/articles/{id}", parameters = { id = "integer" } },
    create_article = { method = "POST", path = "/articles", body = { type = "object" } },
    articles = { path = "/articles" },
  },
}
data = { list = { { title = "x", ["not a name"] = 1 } }, number = 1 }

expect("nightjar.js", "json")
expect("nightjar.json.", "decode", "encode", "pointer")
expect("nightjar.csv.", "parse", "rows", "write", "writer")
expect("nightjar.csv.parse(text, { head", "header")
expect("  x = dat", "data")
expect("data.list[1].", "title")
expect('data["list"][1].t', "title")
expect("data:", "")
expect("('x'):rev", "reverse")
expect("data.number.", "")
expect("api:pa", "paginate", "patch")
expect("api.endpoints.a", "article", "articles")
expect("api.endpoints.article { ", "id")
expect("api.endpoints.create_article { js", "json")
expect("api.endpoints.article({ id = 1 }, { time", "timeout")
expect("api:get('/x', { coo", "cookies")
expect("api:request { meth", "method")
expect("api:get('/x', { headers = { Ho", "Host")
expect("api:get('/x', { headers = { [\"user-", "User-Agent")
expect("api:get '/art", "/articles", "/articles/{id}")
expect("api:post '/art", "/articles")
expect("nightjar.client { base", "base_url")
expect("nightjar.client { auth = { tok", "token", "token_type", "token_url")
expect("nightjar.client { retry = { attempts = 3, ca", "cap")
expect("nightjar.map(list, f, { con", "concurrency")

-- Documents of GraphQL clients whose schema is loaded
local folder <close> = require("nightjar.fs").temp_dir()
local schema = { __schema = { queryType = { name = "Query" }, types = {
  { kind = "OBJECT", name = "Query", fields = {
    { name = "article", type = { kind = "OBJECT", name = "Article" }, args = { { name = "id", type = { kind = "SCALAR", name = "ID" } } } } } },
  { kind = "OBJECT", name = "Article", fields = {
    { name = "title", type = { kind = "SCALAR", name = "String" } }, { name = "tags", type = { kind = "SCALAR", name = "String" } } } },
} } }
local mock = nightjar.mock { { method = "POST", path = "/graphql", response = { json = { data = schema } } } }
gql = nightjar.graphql.client(nightjar.client { base_url = "http://api.test", mock = mock }, "/graphql",
  { schema = folder.path .. "/schema.json" })
expect("gql:q", "query")
expect("gql:query [[{ art", "")
gql:query "{ article { title } }"
expect("gql:query [[{ art", "article")
expect("gql:query('{ article(", "id")
expect("gql:items [[{ article(id: 1) {\n  t", "tags", "title")
expect("gql:mutate [[{ ", "")

expect("local t = { na", "")
expect("help 'retry_o", "retry_options")
expect(".t", ".trace")
expect(".trace o", "off", "on")
expect("=dat", "data")
expect("-- dat", "")
expect("'nightjar.ma", "")
expect("whi", "while")

-- Completion runs no code of the script
local ran = false
guarded = setmetatable({}, { __index = function() ran = true end, __pairs = function() ran = true end })
expect("guarded.x.", "")
expect("guarded.", "")
check.equal(ran, false)
inherited = setmetatable({ own = 1 }, { __index = { base = 2 } })
expect("inherited.", "base", "own")
local looped = {}
looped.__index = looped
endless = setmetatable({}, looped)
setmetatable(looped, looped)
expect("endless.", "__index")

-- Any text is accepted
for length = 0, 200 do
  local letters = {}
  for index = 1, length do letters[index] = string.char((index * 7919 + length * 31) % 256) end
  complete.candidates(table.concat(letters))
end
complete.candidates(("("):rep(100000))
complete.candidates(("{a={"):rep(2000))
complete.candidates(("x."):rep(50000))

local inserted, choices = complete.at "nightjar.deb"
check.equal(inserted, "ounce")
check.equal(choices, nil)
inserted, choices = complete.at "api:p"
check.equal(inserted, nil)
check.equal(choices:find "paginate +patch +post +put\n" ~= nil, true)
