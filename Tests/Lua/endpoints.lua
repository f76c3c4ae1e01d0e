-- Endpoints: api.endpoints. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse, fails = check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local described = {
  article = {
    path = "/v1/articles/{id}",
    summary = "One article",
    parameters = { id = { type = "integer", documentation = "its number" } },
    response = { type = "object", required = { "id", "title" } },
  },
  echo = {
    path = "/echo",
    method = "POST",
    parameters = {
      page = { type = "integer", default = 1 },
      tags = { type = "array", items = { type = "string" } },
      sort = { type = "string", enum = { "new", "old" } },
      ["X-Trace"] = { ["in"] = "header" },
    },
    body = { schema = { type = "object", required = { "title" } }, required = false },
  },
  form = {
    path = "/echo",
    method = "POST",
    body = { schema = { type = "object" }, content_type = "application/x-www-form-urlencoded" },
  },
  json = { path = "/echo", parameters = { json = "string" } },
}
local api = nightjar.client { base_url = origin, endpoints = described }

local function header(seen, name)
  for _, field in ipairs(seen.headers) do
    if field[1]:lower() == name:lower() then return field[2] end
  end
end

local function refused(message, f) fails("invalid_request", message, f) end

testing.test("arguments are sent in the path, the query and the headers, with their defaults", function(t)
  t:equal(api.endpoints.article { id = 1 }.json.id, 1)
  t:equal(api.endpoints.article { id = "1" }.json.id, 1)
  t:equal(api.endpoints.echo().json.target, "/echo?page=1")
  t:equal(api.endpoints.echo({}).json.method, "POST")
  local seen = api.endpoints.echo { page = 2, tags = { "a b", "c" }, sort = "new", ["X-Trace"] = "t" }.json
  t:truthy(seen.target:find("page=2", 1, true) and seen.target:find("tags=a%20b&tags=c", 1, true), seen.target)
  t:equal(header(seen, "X-Trace"), "t")
  t:equal(api.endpoints.echo({ page = 3.0 }, { query = { debug = true } }).json.target, "/echo?page=3&debug=true")
  t:equal(header(api.endpoints.echo({}, { headers = { ["X-Trace"] = "own" } }).json, "X-Trace"), "own")
end)

testing.test("a body is among the arguments, unless a parameter has its name, or in the options", function(t)
  t:equal(api.endpoints.echo { json = { title = "x" } }.json.body, '{"title":"x"}')
  t:equal(api.endpoints.echo({}, { json = { title = "y" } }).json.body, '{"title":"y"}')
  t:equal(api.endpoints.form { json = { a = "b c" } }.json.body, "a=b+c")
  t:equal(api.endpoints.json { json = "1" }.json.target, "/echo?json=1")
  misuse("echo: json is set twice, in the parameters and in the options",
    function() api.endpoints.echo({ json = { title = "x" } }, { json = {} }) end)
end)

testing.test("request calls an endpoint", function(t)
  t:equal(api:request { endpoint = "article", arguments = { id = 2 } }.json.id, 2)
  misuse("request: path must not be set together with endpoint",
    function() api:request { endpoint = "article", path = "/x" } end)
  misuse("request: arguments require endpoint", function() api:request { path = "/echo", arguments = {} } end)
end)

testing.test("a batch calls endpoints", function(t)
  local responses = api:batch {
    { endpoint = "article", arguments = { id = 1 } }, { endpoint = "article", arguments = { id = 2 } },
  }
  t:equal(responses[1].json.id, 1)
  t:equal(responses[2].json.id, 2)
end)

testing.test("errors are reported before anything is sent", function()
  refused('there is no endpoint "artcle"; did you mean "article"?', function() return api.endpoints.artcle end)
  refused('endpoint "article": the parameter "id" in the path is missing', function() api.endpoints.article {} end)
  refused('endpoint "article": parameter "id" must be an integer, found a string',
    function() api.endpoints.article { id = "x" } end)
  refused('endpoint "article": parameter "id" must be an integer, found a boolean',
    function() api.endpoints.article { id = true } end)
  refused('endpoint "echo" has no parameter "pge"; did you mean "page"?',
    function() api.endpoints.echo { pge = 1 } end)
  refused('endpoint "echo": parameter "sort" must be one of "new", "old", found "newest"',
    function() api.endpoints.echo { sort = "newest" } end)
  refused('endpoint "echo": the body at "/title" must be a value, found nothing',
    function() api.endpoints.echo { json = {} } end)
  refused('endpoint "article": it accepts no body', function() api.endpoints.article { id = 1, json = { a = 1 } } end)
  refused('endpoint "article": arguments must have names, as in { id = 42 }, got a list',
    function() api.endpoints.article { 1, 2 } end)
  misuse("article: parameters must be a table, got number", function() api.endpoints.article(1) end)
  misuse("article: options must be a table, got string", function() api.endpoints.article({}, "x") end)
  misuse("an endpoint's name must be a string, got number", function() return api.endpoints[1] end)
end)

testing.test("endpoints can be listed, and describe themselves", function(t)
  t:equal(#api.endpoints, 4)
  local names = {}
  for name, endpoint in pairs(api.endpoints) do
    names[#names + 1] = name
    t:equal(endpoint.name, name)
  end
  table.sort(names)
  t:equal(table.concat(names, " "), "article echo form json")
  t:equal(tostring(api.endpoints.article), [[
article(id: integer)
GET /v1/articles/{id}
One article
  id (path, required) its number]])
  t:equal(api.endpoints.article.path, "/v1/articles/{id}")
  t:equal(api.endpoints.article.parameters[1].name, "id")
  t:equal(api.endpoints.article.nothing, nil)
  t:equal(tostring(api.endpoints), "nightjar.endpoints: 4")
  t:equal(#nightjar.client { base_url = origin }.endpoints, 0)
end)

testing.test("invalid options are reported", function()
  fails("invalid_argument", 'unknown option "endpoints.a.pth"; did you mean "path"?',
    nightjar.client, { endpoints = { a = { path = "/", pth = 1 } } })
end)

testing.test("hooks see the endpoint, and can change the request", function(t)
  local hooked
  local watched = nightjar.client {
    base_url = origin,
    endpoints = described,
    before = function(request)
      hooked = request.endpoint
      request.headers["X-Hook"] = "1"
      if request.arguments.page then request.arguments.page = 9 end
    end,
  }
  local seen = watched.endpoints.echo { page = 2 }.json
  t:equal(seen.target, "/echo?page=9")
  t:equal(header(seen, "X-Hook"), "1")
  t:equal(hooked, "echo")
end)

testing.test("response_validation determines what happens if a response does not match the description", function(t)
  local function strict(mode)
    return nightjar.client {
      base_url = origin,
      response_validation = mode,
      endpoints = { article = { path = "/v1/articles/{id}", response = { required = { "nothing" } } } },
    }
  end
  t:equal(strict("off").endpoints.article { id = 1 }.json.id, 1)
  local warned = strict("warn").endpoints.article { id = 1 }
  t:equal(warned:explain()[1].decision, "mismatched")
  fails("decoding",
    'the response of endpoint "article": the JSON is not as described: at "/nothing": expected a value, found nothing',
    function() strict("error").endpoints.article { id = 1 } end)
end)

testing.test("an OpenAPI document is loaded from a file", function(t)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write [[
openapi: 3.1.0
info: { title: Echo, version: "1" }
servers: [{ url: /v1 }]
paths:
  /articles/{id}:
    get:
      operationId: read
      summary: One article
      parameters:
        - { name: id, in: path, required: true, schema: { type: integer } }
      responses: { "200": { description: it } }
]]
  file:close()
  local loader = nightjar.client { base_url = origin .. "/v1", endpoints = { home = { path = "/" } } }
  local endpoints = loader:load_openapi(path)
  t:equal(#endpoints, 2)
  t:equal(endpoints.read { id = 3 }.json.id, 3)
  t:equal(loader.endpoints.read { id = 4 }.json.id, 4)
  local given = nightjar.client { base_url = origin .. "/v1", openapi = path }
  t:equal(given.endpoints.read { id = 5 }.json.id, 5)
  refused('endpoint "read": the parameter "id" in the path is missing', function() given.endpoints.read {} end)
  os.remove(path)
  t:equal(pcall(loader.load_openapi, loader, path), false)
  misuse("load_openapi: a file path or URL expected, got no value", function() loader:load_openapi() end)
end)

testing.test("a Swagger 2.0 document is converted", function(t)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(([[
swagger: "2.0"
info: { title: Echo, version: "1" }
host: %s
basePath: /v1
schemes: [http]
parameters:
  id: { name: id, in: path, required: true, type: integer }
paths:
  /articles/{id}:
    parameters: [{ $ref: "#/parameters/id" }]
    get: { operationId: read, produces: [application/json], responses: { 200: { description: it } } }
  /articles:
    get:
      operationId: search
      parameters: [{ name: tags, in: query, type: array, items: { type: string }, collectionFormat: pipes }]
      responses: { 200: { description: some } }
    post:
      operationId: write
      parameters: [{ name: article, in: body, required: true, schema: { $ref: "#/definitions/Article" } }]
      responses: { 201: { description: created } }
definitions:
  Article:
    type: object
    required: [title]
    properties: { title: { type: string }, body: { type: string }, author_id: { type: integer, x-nullable: true } }
]]):format(origin:match "^http://(.+)$"))
  file:close()
  local api <close> = nightjar.client { openapi = path }
  os.remove(path)
  t:equal(api.endpoints.read { id = 1 }.json.id, 1)
  t:equal(api.endpoints.search { tags = { "a", "b" } }.url:match "%?.*$", "?tags=a%7Cb")
  local written = api.endpoints.write { json = { title = "Hello", body = "World", author_id = 1 } }
  t:equal(written.status, 201)
  t:equal(api:delete(origin .. "/v1/articles/" .. written.json.id).status, 204)
  refused('endpoint "write": the body at "/title" must be a string, found nothing', function()
    api.endpoints.write { json = { body = "World" } }
  end)
end)

testing.test("each fetch of a document is a call with hooks, and after an error the next load starts again", function(t)
  local fetched, refuses = {}, true
  local hooked = nightjar.client {
    base_url = origin,
    before = function(request)
      nightjar.sleep(0.001)
      fetched[#fetched + 1] = ("%s %s %s"):format(request.method, request.path, request.headers.Accept:match "[^,]+")
      if refuses then error({ why = "not yet" }) end
    end,
    after = function(result, request)
      fetched[#fetched + 1] = ("%s %s"):format(result.status or result.kind, request.path)
    end,
  }
  local _, raised = pcall(hooked.load_openapi, hooked, "url:/openapi.json")
  t:equal(raised.why, "not yet")
  refuses = false
  t:equal(#hooked:load_openapi("url:/openapi.json") > 10, true)
  t:equal(pcall(hooked.load_openapi, hooked, "url:/status/404"), false)
  t:equal(table.concat(fetched, "\n"), [[
GET /openapi.json application/json
GET /openapi.json application/json
200 /openapi.json
GET /status/404 application/json
404 /status/404]])
end)

testing.test("if a member of the body is among the arguments, the message states where it belongs", function(t)
  local chat = nightjar.client {
    base_url = "http://chat.test",
    mock = nightjar.mock { { path = "/v1/chat", response = { json = {} } } },
    endpoints = {
      createChatCompletion = {
        path = "/v1/chat", method = "POST",
        body = {
          schema = { type = "object", properties = { messages = { type = "array" }, model = { type = "string" } } },
        },
      },
    },
  }
  refused('endpoint "createChatCompletion" has no parameter "messages", which is a member of its body; pass the body '
    .. "as json = { messages = ... }",
    function() chat.endpoints.createChatCompletion { messages = nightjar.array(), model = "m" } end)
  t:equal(chat.endpoints.createChatCompletion({ json = { messages = nightjar.array() } }).status, 200)
end)

testing.test("the description of the demo API declares the pagination of its lists", function(t)
  local described_api = nightjar.client { base_url = origin }
  local all = described_api:load_openapi("url:/openapi.json")
  t:equal(all.list_users.pagination, "page")
  local handles, pages = {}, 0
  for user in all.list_users:paginate { per_page = 3 } do handles[#handles + 1] = user.handle end
  t:equal(#handles > 3, true)
  for page in all.list_users:paginate({ per_page = 3 }, { prefetch = 0 }):pages() do
    pages = pages + 1
    t:equal(#page.items <= 3, true)
  end
  t:equal(pages, (#handles + 2) // 3)
  refused('endpoint "list_users" has no parameter "per_pge"; did you mean "per_page"?', function()
    all.list_users:paginate { per_pge = 3 }
  end)
  misuse("paginate: path must not be set together with endpoint", function()
    described_api:paginate("/v1/users", { endpoint = "list_users" })
  end)
end)

assert(testing.run().ok, "a case failed")
