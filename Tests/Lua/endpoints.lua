-- Endpoints: api.endpoints. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

local origin = DEMO or os.getenv "NIGHTJAR_DEMO_URL"
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

-- Calls.
equal(api.endpoints.article { id = 1 }.json.id, 1)
equal(api.endpoints.article { id = "1" }.json.id, 1)
equal(api.endpoints.echo().json.target, "/echo?page=1")
equal(api.endpoints.echo({}).json.method, "POST")
local seen = api.endpoints.echo { page = 2, tags = { "a b", "c" }, sort = "new", ["X-Trace"] = "t" }.json
assert(seen.target:find("page=2", 1, true) and seen.target:find("tags=a%20b&tags=c", 1, true), seen.target)
equal(header(seen, "X-Trace"), "t")
equal(api.endpoints.echo({ page = 3.0 }, { query = { debug = true } }).json.target, "/echo?page=3&debug=true")
equal(header(api.endpoints.echo({}, { headers = { ["X-Trace"] = "own" } }).json, "X-Trace"), "own")

-- Bodies: a member among the parameters if no parameter has its name, or an option.
equal(api.endpoints.echo { json = { title = "x" } }.json.body, '{"title":"x"}')
equal(api.endpoints.echo({}, { json = { title = "y" } }).json.body, '{"title":"y"}')
equal(api.endpoints.form { json = { a = "b c" } }.json.body, "a=b+c")
equal(api.endpoints.json { json = "1" }.json.target, "/echo?json=1")
misuse("echo: json is set twice, in the parameters and in the options",
  function() api.endpoints.echo({ json = { title = "x" } }, { json = {} }) end)

-- With request.
equal(api:request { endpoint = "article", arguments = { id = 2 } }.json.id, 2)
misuse("request: path must not be set together with endpoint",
  function() api:request { endpoint = "article", path = "/x" } end)
misuse("request: arguments require endpoint", function() api:request { path = "/echo", arguments = {} } end)

-- In a batch.
local answers = api:batch {
  { endpoint = "article", arguments = { id = 1 } }, { endpoint = "article", arguments = { id = 2 } },
}
equal(answers[1].json.id, 1)
equal(answers[2].json.id, 2)

-- Errors are reported before anything is sent.
local function refused(message, f) fails("invalid_request", message, f) end
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

-- Introspection.
equal(#api.endpoints, 4)
local names = {}
for name, endpoint in pairs(api.endpoints) do
  names[#names + 1] = name
  equal(endpoint.name, name)
end
table.sort(names)
equal(table.concat(names, " "), "article echo form json")
equal(tostring(api.endpoints.article), [[
article(id: integer)
GET /v1/articles/{id}
One article
  id (path, required) its number]])
equal(api.endpoints.article.path, "/v1/articles/{id}")
equal(api.endpoints.article.parameters[1].name, "id")
equal(api.endpoints.article.nothing, nil)
equal(tostring(api.endpoints), "nightjar.endpoints: 4")
equal(#nightjar.client { base_url = origin }.endpoints, 0)

-- Invalid options.
fails("invalid_argument", 'unknown option "endpoints.a.pth"; did you mean "path"?',
  nightjar.client, { endpoints = { a = { path = "/", pth = 1 } } })

-- Hooks see the endpoint, and can change the request.
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
seen = watched.endpoints.echo { page = 2 }.json
equal(seen.target, "/echo?page=9")
equal(header(seen, "X-Hook"), "1")
equal(hooked, "echo")

-- Responses that do not match the description.
local function strict(mode)
  return nightjar.client {
    base_url = origin,
    response_validation = mode,
    endpoints = { article = { path = "/v1/articles/{id}", response = { required = { "nothing" } } } },
  }
end
equal(strict("off").endpoints.article { id = 1 }.json.id, 1)
local warned = strict("warn").endpoints.article { id = 1 }
equal(warned:explain()[1].decision, "mismatched")
fails("decoding",
  'the response of endpoint "article": the JSON is not as described: at "/nothing": expected a value, found nothing',
  function() strict("error").endpoints.article { id = 1 } end)

-- OpenAPI from a file.
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
equal(#endpoints, 2)
equal(endpoints.read { id = 3 }.json.id, 3)
equal(loader.endpoints.read { id = 4 }.json.id, 4)
local given = nightjar.client { base_url = origin .. "/v1", openapi = path }
equal(given.endpoints.read { id = 5 }.json.id, 5)
refused('endpoint "read": the parameter "id" in the path is missing', function() given.endpoints.read {} end)
os.remove(path)
equal(pcall(loader.load_openapi, loader, path), false)
misuse("load_openapi: a file path or URL expected, got no value", function() loader:load_openapi() end)
-- Each fetch is a call with hooks. Their errors are raised, and the next load starts again.
local fetched, refuses = {}, true
local hooked = nightjar.client { base_url = origin, before = function(request)
  nightjar.sleep(0.001)
  fetched[#fetched + 1] = ("%s %s %s"):format(request.method, request.path, request.headers.Accept:match "[^,]+")
  if refuses then error({ why = "not yet" }) end
end, after = function(result, request) fetched[#fetched + 1] = ("%s %s"):format(result.status or result.kind, request.path) end }
local _, raised = pcall(hooked.load_openapi, hooked, "url:/openapi.json")
equal(raised.why, "not yet")
refuses = false
equal(#hooked:load_openapi("url:/openapi.json") > 10, true)
equal(pcall(hooked.load_openapi, hooked, "url:/status/404"), false)
equal(table.concat(fetched, "\n"), [[
GET /openapi.json application/json
GET /openapi.json application/json
200 /openapi.json
GET /status/404 application/json
404 /status/404]])

-- A member of the body among the parameters: the message states where it belongs.
local chat = nightjar.client { base_url = "http://chat.test", mock = nightjar.mock { { path = "/v1/chat", response = { json = {} } } },
  endpoints = { createChatCompletion = { path = "/v1/chat", method = "POST", body = { schema = { type = "object",
    properties = { messages = { type = "array" }, model = { type = "string" } } } } } } }
fails("invalid_request", 'endpoint "createChatCompletion" has no parameter "messages", which is a member of its body; pass the body '
  .. "as json = { messages = ... }", function() chat.endpoints.createChatCompletion { messages = nightjar.array(), model = "m" } end)
equal(chat.endpoints.createChatCompletion({ json = { messages = nightjar.array() } }).status, 200)

-- Lists: the description of the demo API declares its pagination.
local described_api = nightjar.client { base_url = origin }
local all = described_api:load_openapi("url:/openapi.json")
equal(all.list_users.pagination, "page")
local handles, pages = {}, 0
for user in all.list_users:paginate { per_page = 3 } do handles[#handles + 1] = user.handle end
equal(#handles > 3, true)
for page in all.list_users:paginate({ per_page = 3 }, { prefetch = 0 }):pages() do
  pages = pages + 1
  equal(#page.items <= 3, true)
end
equal(pages, (#handles + 2) // 3)
refused('endpoint "list_users" has no parameter "per_pge"; did you mean "per_page"?', function()
  all.list_users:paginate { per_pge = 3 }
end)
misuse("paginate: path must not be set together with endpoint", function()
  described_api:paginate("/v1/users", { endpoint = "list_users" })
end)
