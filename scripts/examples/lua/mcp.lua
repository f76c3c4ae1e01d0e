-- Call the tools of an MCP server
--
-- A client of the Model Context Protocol over Streamable HTTP. It uses the revision 2026-07-28, whose requests are independent
-- of each other. With older servers, it uses 2025-11-25, which has sessions and resumes a broken stream with a GET. The
-- response to a POST is JSON or an event stream, so `read` decodes both; `api:events` reads the server's own notifications.
-- Not supported: OAuth discovery, sampling, elicitation, roots, and the validation of tool definitions. The tools that the
-- program calls are those of the test server in Tests/Streams:
--
--   Tests/Streams/mcp nightjar nightjar scripts/examples/lua/mcp.lua
local nightjar = require "nightjar"
local json = nightjar.json

local modern, legacy = "2026-07-28", "2025-11-25"
local known = { [modern] = true, [legacy] = true, ["2025-06-18"] = true }
local client_info = { name = "nightjar-example", version = "1.0" }
local max_message = 16 << 20
local default_wait = 1 -- events.reconnection_time of a response without `retry`

local mcp = {}
mcp.__index = mcp

-- Reads the messages of a response until `receive` returns true, and returns whether it did. `position` is the place at which
-- the stream can be resumed: the id of the last event, and the seconds to wait before.
local function read(res, receive, position)
  if not (res.headers.content_type or ""):find "^text/event%-stream" then
    local parts = {}
    for part in res:chunks() do parts[#parts + 1] = part end
    return receive(json.decode(table.concat(parts)))
  end
  local events = res:events { max_event = max_message }
  local is_complete, err = nightjar.try(function()
    for event in events do
      -- An event with empty data has only an id.
      if event.data ~= "" and receive(event.json) then return true end
    end
  end)
  if events.last_event_id ~= "" then position.id = events.last_event_id end
  if events.reconnection_time ~= default_wait then position.wait = events.reconnection_time end
  if err then error(err, 0) end
  return is_complete
end

local function is_broken(err) return err == nil or err.kind == "connection_lost" or err.kind == "timeout" end

local function fail(message, fields)
  fields = fields or {}
  fields.message = message
  error(setmetatable(fields, { __tostring = function() return "MCP: " .. message end }), 0)
end

-- --- Headers ---

local function header_value(value)
  local text = tostring(value)
  local is_plain = text:find "^[\x21-\x7e]" and text:find "[\x21-\x7e]$" and not text:find "[^\t\x20-\x7e]"
    and not text:find "^=%?base64%?.*%?=$"
  return is_plain and text or "=?base64?" .. nightjar.base64.encode(text) .. "?="
end

-- Adds the arguments that the schema of a tool marks with x-mcp-header.
local function mirror(schema, arguments, headers)
  for name, property in pairs(schema.properties or {}) do
    local value = arguments[name]
    if type(property) == "table" and value ~= nil and value ~= nightjar.null then
      local header = property["x-mcp-header"]
      if header then headers["Mcp-Param-" .. header] = header_value(value)
      elseif type(value) == "table" then mirror(property, value, headers)
      end
    end
  end
end

function mcp:headers(message)
  local headers = { ["MCP-Protocol-Version"] = self.version, ["MCP-Session-Id"] = self.session }
  if self.version == modern then
    local params = message.params
    local name = params.name or params.uri
    headers["Mcp-Method"] = message.method
    headers["Mcp-Name"] = name and header_value(name)
    if message.method == "tools/call" then mirror(self.schemas[name] or {}, params.arguments, headers) end
  end
  return headers
end

-- --- Messages ---

function mcp:post(message, headers)
  return self.api:post("", { json = message, headers = headers or self:headers(message), stream = true })
end

function mcp:get(last_event_id)
  local headers = self:headers()
  headers["Last-Event-ID"] = last_event_id
  return self.api:get("", { headers = headers, stream = true })
end

-- Sends a request and passes the messages of its stream to `receive`, until it returns true. A stream of 2025-11-25 that is
-- broken, or that the server has closed early, is resumed with a GET.
function mcp:exchange(message, receive)
  local position = { wait = default_wait }
  local function attempt()
    local res <close> = position.id and self:get(position.id) or self:post(message)
    return read(res, receive, position)
  end
  local session = self.session
  local complete, err = nightjar.try(attempt)
  if err and err.status == 404 and session and not position.id then -- the session has ended; the request was not processed
    self:initialize(session)
    complete, err = nightjar.try(attempt)
  end
  while not complete do
    if not is_broken(err) then error(err, 0) end
    if not position.id or self.version == modern then
      fail("the stream ended before the response", { kind = "connection_lost", cause = err })
    end
    nightjar.sleep(position.wait)
    complete, err = nightjar.try(attempt)
  end
end

-- Handles a message that is not a response. Until 2025-11-25, servers also send requests; this client supports only ping.
function mcp:handle(message, notify)
  if message.id == nil then return notify and notify(message) end
  local response = { jsonrpc = "2.0", id = message.id }
  if message.method == "ping" then response.result = {}
  else response.error = { code = -32601, message = "Method not found" }
  end
  self:post(response):close()
end

-- Sends a request and returns its result. `notify` receives the notifications before the result.
function mcp:request(method, params, notify)
  self.last_id = self.last_id + 1
  local id, response = self.last_id, nil
  local meta = { progressToken = notify and id }
  if self.version == modern then
    meta["io.modelcontextprotocol/protocolVersion"] = modern
    meta["io.modelcontextprotocol/clientInfo"] = client_info
    meta["io.modelcontextprotocol/clientCapabilities"] = {}
  end
  params._meta = meta
  self:exchange({ jsonrpc = "2.0", id = id, method = method, params = params }, function(message)
    if message.method then self:handle(message, notify)
    elseif message.id == id then response = message
    end
    return response ~= nil
  end)
  if response.error then fail(response.error.message, { details = response.error }) end
  local kind = response.result.resultType or "complete"
  if kind ~= "complete" then fail("the result type " .. kind .. " is not supported") end
  return response.result
end

-- --- Connecting ---

local function handshake(self)
  self.last_id = self.last_id + 1
  local res <close> = self:post({
    jsonrpc = "2.0", id = self.last_id, method = "initialize",
    params = { protocolVersion = legacy, capabilities = {}, clientInfo = client_info },
  }, {})
  local response
  read(res, function(message)
    response = message
    return true
  end, {})
  if response.error then fail(response.error.message, { details = response.error }) end
  local version = response.result.protocolVersion
  if not known[version] then fail("the server speaks only the revision " .. version) end
  self.version, self.session = version, res.headers.mcp_session_id
  self:post({ jsonrpc = "2.0", method = "notifications/initialized" }):close()
end

-- Begins a session in place of one that has ended. Tasks that need it at the same time share one session.
function mcp:initialize(ended)
  if self.session ~= ended then return end
  local starting = self.starting or nightjar.spawn(handshake, self)
  self.starting = starting
  local _, err = nightjar.try(starting.join, starting)
  if self.starting == starting then self.starting = nil end
  if err then error(err, 0) end
end

-- Connects to a server. `options` are those of nightjar.client, such as auth.
local function connect(url, options)
  local settings = { base_url = url, timeout = { idle = 60, total = false } }
  settings.headers = { Accept = "application/json, text/event-stream" }
  for name, value in pairs(options or {}) do settings[name] = value end
  local self = setmetatable({ api = nightjar.client(settings), version = modern, last_id = 0, schemas = {} }, mcp)
  local _, err = nightjar.try(self.request, self, "server/discover", {})
  if not err then return self end
  -- A server of another revision rejects the request. The codes -32020 and -32021 are those of invalid requests of 2026-07-28.
  local code = err.details and err.details.code
  local is_rejected = code or err.status and err.status < 500
  if not is_rejected or code == -32020 or code == -32021 then error(err, 0) end
  self.version = nil
  self:initialize()
  return self
end

-- Ends the session.
function mcp:close()
  if self.session then
    self.api:delete("", { headers = self:headers(), expect = { 200, 202, 204, 404, 405 } })
  end
  self.api:close()
end
mcp.__close = mcp.close

-- --- Tools and notifications ---

function mcp:tools()
  local tools, cursor = {}, nil
  repeat
    local page = self:request("tools/list", { cursor = cursor })
    table.move(page.tools, 1, #page.tools, #tools + 1, tools)
    cursor = page.nextCursor
  until not cursor
  for _, tool in ipairs(tools) do self.schemas[tool.name] = tool.inputSchema end
  return tools
end

-- Calls a tool. If its stream breaks and cannot be resumed, the call is repeated up to `attempts` times: only for tools that
-- may run more than once.
function mcp:call(name, arguments, notify, attempts)
  for attempt = 1, attempts or 1 do
    local params = { name = name, arguments = arguments or {} }
    local result, err = nightjar.try(self.request, self, "tools/call", params, notify)
    if result then return result end
    if not is_broken(err) or attempt == (attempts or 1) then error(err, 0) end
  end
end

local function follow(self, notify)
  if self.version == modern then
    local filter = { toolsListChanged = true, promptsListChanged = true, resourcesListChanged = true }
    self:request("subscriptions/listen", { notifications = filter }, notify)
  else
    for event in self.api:events("", { headers = self:headers(), max_event = max_message }) do
      if event.data ~= "" then self:handle(event.json, notify) end
    end
  end
end

-- Passes the notifications that belong to no request to `notify`, until the task is cancelled or the server sends none.
function mcp:listen(notify)
  while true do
    local session = self.session
    local _, err = nightjar.try(follow, self, notify)
    local status = err and err.status
    if status == 404 and session then self:initialize(session)
    elseif status == 404 or status == 405 then return
    elseif not is_broken(err) then error(err, 0)
    else nightjar.sleep(1)
    end
  end
end

-- --- The program ---

local url = assert(arg[1] or os.getenv "NIGHTJAR_MCP_URL", "usage: nightjar mcp.lua URL")
local server <close> = connect(url)
print("connected with " .. server.version)

local notifications = nightjar.channel(16)
local listener = nightjar.spawn(server.listen, server, function(message) notifications:send(message.method) end)
repeat
  local method = notifications:receive()
  print(method)
until method == "notifications/resources/list_changed"

for _, tool in ipairs(server:tools()) do print("tool " .. tool.name) end
print(server:call("echo", { text = "Grüße" }).content[1].text)
local result = server:call("slow", { steps = 5 }, function(message)
  print(("%d of %d"):format(message.params.progress, message.params.total))
end, 3)
print(result.content[1].text)
listener:cancel()
-- Prints:
--   connected with 2026-07-28
--   notifications/subscriptions/acknowledged
--   notifications/tools/list_changed
--   notifications/resources/list_changed
--   tool echo
--   tool slow
--   Grüße
--   1 of 5
--   2 of 5
--   1 of 5
--   2 of 5
--   3 of 5
--   4 of 5
--   5 of 5
--   5 steps
