-- nightjar.graphql: GraphQL operations over a client.
local nightjar, native = ...
local work, misuse, got = native.work, native.misuse, native.got
local key_of, completions = native.graphql_key, native.graphql_complete
local gate, type, pairs, ipairs, setmetatable, error, format = native.gate, type, pairs, ipairs, setmetatable, error, string.format
local encode, decode, try, null = nightjar.json.encode, nightjar.json.decode, nightjar.try, nightjar.null

-- The age in seconds after which a schema is requested again: a day.
local MAX_AGE = 86400

local methods = {}
local Client = { __name = "nightjar.graphql_client", __metatable = false, __index = methods }
local Result = { __name = "nightjar.graphql_result", __metatable = false }

-- Options of an operation that are not options of its call.
local OWN = { operation_name = true, extensions = true, at = true, transport = true, init_payload = true, authorize = true }
-- The close codes after which a subscription connects again: those of WebSockets, and that of graphql-transport-ws for a server
-- that has waited too long for the client. The client itself connects again after a rejected token.
local RECONNECT_CODES = { 1001, 1006, 1011, 1012, 1013, 1014, 4408 }

local function check_arguments(name, document, variables, options)
  if type(document) ~= "string" then misuse(format("%s: the document must be a string, got %s", name, got(document))) end
  if variables ~= nil and variables ~= null and type(variables) ~= "table" then
    misuse(format("%s: the variables must be a table, got %s", name, got(variables)))
  end
  if options ~= nil and type(options) ~= "table" then
    misuse(format("%s: the options must be a table, got %s", name, got(options)))
  end
end

-- Requests the schema from the server.
local function query_schema(self)
  local res = self.api:post(self.path, { graphql = { query = work "graphql.query" } })
  work("graphql.set", self.key, self.file, res.text)
  self.is_current = true
end

-- The turn of a task that loads the schema. Other tasks wait until it ends.
local Turn = { __close = function(turn)
  turn.client.turn = nil
  for _, waiter in ipairs(turn) do waiter:open() end
end }

-- Loads the schema from its file, or from the server.
local function load_schema(self)
  while self.turn do
    local waiter = gate()
    self.turn[#self.turn + 1] = waiter
    waiter:wait()
  end
  if self.has_schema then return end
  local turn <close> = setmetatable({ client = self }, Turn)
  self.turn = turn
  if not work("graphql.load", self.key, self.file, self.max_age) then query_schema(self) end
  self.has_schema = true
end

-- Checks the variables against the schema. A schema from a file may be older than that of the server, which is then
-- requested.
local function check_variables(self, document, variables, name)
  load_schema(self)
  local values = variables == nil and "null" or encode(variables)
  local _, err = try(work, "graphql.check", self.key, document, name or "", values)
  if err == nil then return end
  if self.is_current then error(err, 0) end
  query_schema(self)
  work("graphql.check", self.key, document, name or "", values)
end

-- Returns the options of the call for an operation.
local function call_options(self, name, kind, document, variables, options)
  check_arguments(name, document, variables, options)
  local call = {}
  for key, value in pairs(self.options) do call[key] = value end
  for key, value in pairs(options or {}) do
    if not OWN[key] then call[key] = value end
  end
  options = options or {}
  if self.checks then check_variables(self, document, variables, options.operation_name) end
  call.graphql = { query = document, variables = variables, operation_name = options.operation_name,
    extensions = options.extensions, kind = kind }
  return call
end

local function result_of(body, res)
  local data, errors = body.data, body.errors
  if data == null then data = nil end
  if errors == null then errors = nil end
  return setmetatable({ data = data, errors = errors, extensions = body.extensions, response = res }, Result)
end

-- query(document, variables, options) sends a query and returns its result.
function methods:query(document, variables, options)
  local call = call_options(self, "query", "query", document, variables, options)
  local method = self.method == "GET" and self.api.get or self.api.post
  local res = method(self.api, self.path, call)
  return result_of(res.json, res)
end

-- mutate(document, variables, options) sends a mutation and returns its result.
function methods:mutate(document, variables, options)
  local res = self.api:post(self.path, call_options(self, "mutate", "mutation", document, variables, options))
  return result_of(res.json, res)
end

-- items(document, variables, options) returns the nodes of a connection, as api:paginate does.
function methods:items(document, variables, options)
  local call = call_options(self, "items", "query", document, variables, options)
  local at = options and options.at
  if at ~= nil and type(at) ~= "string" then
    misuse(format("items: at must be a string, got %s", got(at)))
  end
  local list = decode(work("graphql.connection", document, options and options.operation_name or "", at or ""))
  for key, value in pairs(list) do
    if call[key] == nil then call[key] = value end
  end
  call.method = "POST"
  return self.api:paginate(self.path, call)
end

local subscription = {}
local Subscription = { __name = "nightjar.graphql_subscription", __metatable = false, __index = subscription }

-- Reads the next result; nil when the subscription is complete.
local function read(self)
  if self.socket then
    local message = self.socket:receive()
    return message and result_of(decode(message.text))
  end
  for event in self.events do
    if event.type == "next" then return result_of(event.json) end
    if event.type == "complete" then return nil end
  end
end

-- Returns the next result; nil at the end, and after an error.
function subscription:next()
  if self.has_ended then return nil end
  self.has_ended = true
  local result = read(self)
  if result then self.has_ended = false else self:close() end
  return result
end

-- Ends the subscription. The end of a loop calls it.
function subscription:close()
  if self.is_closed then return end
  self.is_closed, self.has_ended = true, true
  local source = self.socket or self.events
  source:close()
end

Subscription.__call = subscription.next
Subscription.__close = subscription.close

-- subscribe(document, variables, options) returns an iterator over the results of a subscription.
function methods:subscribe(document, variables, options)
  local call = call_options(self, "subscribe", "subscription", document, variables, options)
  options = options or {}
  local transport = options.transport or "websocket"
  local made = setmetatable({}, Subscription)
  if transport == "websocket" then
    call.graphql.init_payload, call.graphql.authorize = options.init_payload, options.authorize
    if call.reconnect == nil then call.reconnect = true end
    call.reconnect_codes = call.reconnect_codes or RECONNECT_CODES
    made.socket = self.api:websocket(self.path, call)
  elseif transport == "events" then
    call.method = "POST"
    made.events = self.api:events(self.path, call)
  else
    misuse(format("subscribe: transport must be \"websocket\" or \"events\", got %s", type(transport) == "string" and format("%q", transport) or got(transport)))
  end
  return made, nil, nil, made
end

local graphql = {}

-- The keys of the endpoints, by client.
local keys = setmetatable({}, { __mode = "k" })

-- complete(client, document, kind) returns the names that can follow an incomplete document: { "title", "author" }. `kind` is
-- that of a document that begins with a brace. Empty if the schema is not loaded.
function graphql.complete(client, document, kind)
  if keys[client] == nil then misuse(format("graphql.complete: a GraphQL client expected, got %s", got(client))) end
  if type(document) ~= "string" then misuse(format("graphql.complete: the document must be a string, got %s", got(document))) end
  local names = {}
  for name in completions(keys[client], document, kind or "query"):gmatch "[^\n]+" do names[#names + 1] = name end
  return names
end

-- kind(document, operation_name) returns the kind of an operation: "query", "mutation" or "subscription".
function graphql.kind(document, operation_name)
  if type(document) ~= "string" then misuse(format("graphql.kind: the document must be a string, got %s", got(document))) end
  if operation_name ~= nil and type(operation_name) ~= "string" then
    misuse(format("graphql.kind: the operation name must be a string, got %s", got(operation_name)))
  end
  return work("graphql.kind", document, operation_name or "")
end

-- client(api, path, options) returns a GraphQL client for an endpoint. The options are schema (true, or the path of a
-- file), schema_max_age, method ("POST" or "GET", for queries), and options of calls.
function graphql.client(api, path, options)
  if type(path) ~= "string" then misuse(format("graphql.client: the path must be a string, got %s", got(path))) end
  if options ~= nil and type(options) ~= "table" then
    misuse(format("graphql.client: the options must be a table, got %s", got(options)))
  end
  local self = { api = api, path = path, options = {}, method = "POST", file = "", max_age = MAX_AGE }
  for name, value in pairs(options or {}) do
    if name == "schema" then
      if type(value) ~= "boolean" and type(value) ~= "string" then
        misuse(format("graphql.client: schema must be a boolean or a path, got %s", got(value)))
      end
      -- A schema would not count towards the memory limit of a sandboxed script.
      if value and not nightjar.fs then misuse "graphql.client: schema is not available to this script" end
      self.checks = value ~= false
      self.file = type(value) == "string" and value or ""
    elseif name == "schema_max_age" then
      if type(value) ~= "number" or not (value >= 0 and value <= 1e9) then
        misuse(format("graphql.client: schema_max_age must be from 0 to 1e9 seconds, got %s", got(value)))
      end
      self.max_age = value // 1 | 0
    elseif name == "method" then
      if value ~= "GET" and value ~= "POST" then
        misuse(format("graphql.client: method must be \"POST\" or \"GET\", got %s", type(value) == "string" and format("%q", value) or got(value)))
      end
      self.method = value
    else
      self.options[name] = value
    end
  end
  self.key = key_of(api, path)
  keys[self] = self.key
  return setmetatable(self, Client)
end

return graphql
