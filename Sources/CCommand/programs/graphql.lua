-- nightjar graphql: sends a GraphQL operation and writes its data, the results of a subscription, or the schema.
local nightjar = require "nightjar"
local graphql = require "nightjar.graphql"
local call = require "nightjar.command.call"
local call_response = require "nightjar.command.call_response"
local items = require "nightjar.command.items"
local json_text = require "nightjar.command.json_text"
local output = require "nightjar.command.output"
local schema = require "nightjar.command.graphql_schema"
local subcommand = require "nightjar.command.subcommand"
local text = require "nightjar.command.text"

local command = {}

-- The media types of a result. Servers that predate GraphQL over HTTP send application/json.
local result_types = "application/graphql-response+json, application/json;q=0.9"

-- --- The operation ---

-- Returns the document: a text, the content of @FILE, or standard input for -.
local function document_of(word)
  if word == "-" or word == "@-" then return io.stdin:read "a" or "" end
  if word:sub(1, 1) == "@" then return items.read_file(word, word:sub(2)) end
  return word
end

-- Returns the object of an option whose value is a JSON text or @FILE.
local function object_of(option, word)
  local content = word:sub(1, 1) == "@" and items.read_file(word, word:sub(2)) or word
  local value, err = nightjar.try(nightjar.json.decode, content)
  if value == nil and err then items.refuse("%s: not valid JSON (%s)", option, tostring(err):match "^[^\n]*") end
  if json_text.kind(content) ~= "object" then items.refuse("%s: must be a JSON object, as in '{\"id\": 1}'", option) end
  return value
end

-- Returns the variables of --variables and of the items, which take precedence; nil if there are none.
local function variables_of(words, fields)
  local variables = words.variables and object_of("--variables", words.variables) or nil
  for _, field in ipairs(fields) do
    if field.file then
      items.refuse("%s@%s: a variable has no file; to send the text of the file use %s=@%s", field[1], field.file, field[1], field.file)
    end
  end
  if #fields == 0 then return variables end
  local added = items.json(fields)
  if json_text.kind(added) ~= "object" then items.refuse("%s: a variable must have a name", fields[1][1]) end
  if not variables then return nightjar.json.decode(added) end
  for name, value in pairs(nightjar.json.decode(added)) do variables[name] = value end
  return variables
end

-- Returns how to write the variable of a message whose item is a text that is also a JSON value; otherwise nothing.
local function hint(message, fields)
  local name = message:match '^the variable "([^"]+)" must be .*, got a string'
  for _, field in ipairs(fields or {}) do
    local value = field[2] and nightjar.try(nightjar.json.decode, field[2])
    if field[1] == name and value ~= nil and type(value) ~= "string" then return ("; write %s:=%s"):format(name, field[2]) end
  end
  return ""
end

-- Calls a function. An error in the document or the variables, before anything is sent, is one of the arguments.
local function checked(words, f, ...)
  local result, err = nightjar.try(f, ...)
  if err == nil then return result end
  if type(err) == "userdata" and err.kind == "invalid_argument" then
    local message = err.message:gsub("set operation_name to", "set --operation to")
    items.refuse("%s", message .. hint(message, words.fields))
  end
  error(err, 0)
end

-- Returns the options of a call for the request.
local function call_options(request, words)
  local options = { operation_name = words.operation }
  for name, value in pairs(request) do
    if name ~= "path" and name ~= "method" then options[name] = value end
  end
  return options
end

-- --- Errors ---

-- Returns where an error has occurred: the path as a JSON Pointer, the first position in the document, and the code.
local function place_of(err)
  local parts, pointer = {}, {}
  for _, step in ipairs(type(err.path) == "table" and err.path or {}) do
    pointer[#pointer + 1] = "/" .. tostring(step):gsub("~", "~0"):gsub("/", "~1")
  end
  if #pointer > 0 then parts[1] = "path " .. table.concat(pointer) end
  local location = type(err.locations) == "table" and err.locations[1]
  if type(location) == "table" and location.line and location.column then
    parts[#parts + 1] = ("line %s, column %s"):format(location.line, location.column)
  end
  local code = type(err.extensions) == "table" and err.extensions.code
  if type(code) == "string" then parts[#parts + 1] = "code " .. code end
  return #parts > 0 and " (" .. table.concat(parts, "; ") .. ")" or ""
end

-- Reports the errors of a result on standard error.
local function write_errors(errors)
  io.stdout:flush()
  local paint = text.painter(text.has_colors(2))
  for _, err in ipairs(errors) do
    if type(err) ~= "table" then err = {} end
    local message = type(err.message) == "string" and err.message or "the server gave no reason"
    io.stderr:write("nightjar: ", paint("bad", text.safe(message)), paint("dim", text.safe(place_of(err))), "\n")
  end
end

-- Reports the error that ended an operation. Returns the exit status.
local function report(err)
  local response = type(err) == "userdata" and err.kind == "graphql" and err.response
  local body = response and nightjar.try(function() return response.json end)
  if type(body) == "table" and type(body.errors) == "table" and #body.errors > 0 then
    write_errors(body.errors)
  else
    call_response.complain(err)
  end
  return 1
end

-- --- Queries and mutations ---

-- Returns the text that is written: the data, or the whole result if it has errors. Options that select or list parts
-- apply to the data.
local function written(result, words)
  local whole, format = result.response.text, words.output
  local is_selected = #words.pick > 0 or format == "ndjson" or format == "csv" or format == "table"
  return (not (result.errors and not is_selected) and json_text.pick(whole, "/data") or whole) .. "\n"
end

local function send(gql, kind, document, variables, options, words)
  local method = kind == "mutation" and gql.mutate or gql.query
  local ok, result = pcall(checked, words, method, gql, document, variables, options)
  if not ok then
    if items.is_usage(result) then error(result, 0) end
    if type(result) == "userdata" then
      words.part = result.response and result.kind == "graphql" and result.response.text .. "\n" or nil
      call_response.write(result.response, result, "post", words)
    end
    return report(result)
  end
  words.part = written(result, words)
  local is_written = call_response.write(result.response, nil, "post", words)
  if result.errors then write_errors(result.errors) end
  return is_written and not result.errors and 0 or 1
end

-- --- Subscriptions ---

-- Returns a function that writes the selected parts of a result, a function that ends the output, and a table that has
-- `has_errors`, and `lacks_part` if a result has no value at a JSON Pointer.
local function result_writer(words)
  local write, finish = output.stream(words.output or "ndjson")
  local seen = {}
  return function(result)
    if result.errors then
      seen.has_errors = true
      write_errors(result.errors)
    end
    if result.data == nil then return end
    local item = nightjar.json.encode(result.data)
    if #words.pick == 0 then write(item) end
    for _, pointer in ipairs(words.pick) do
      local part = json_text.pick(item, pointer)
      seen.lacks_part = seen.lacks_part or part == nil
      if part and not words.output then output.json(part, "raw") elseif part then write(part) end
    end
    io.stdout:flush()
  end, finish, seen
end

-- Writes the results of a subscription, one in each line, until it ends.
local function read(gql, document, variables, options, words)
  options.transport, options.authorize = words.transport, words.authorize or nil
  options.init_payload = words.init_payload and object_of("--init-payload", words.init_payload) or nil
  if words.once then options.reconnect = false end
  local stream <close> = checked(words, gql.subscribe, gql, document, variables, options)
  local write, finish, seen = result_writer(words)
  local left = words.max_items or math.huge
  local done, err = pcall(function()
    while left > 0 do
      local result = stream:next()
      if not result then return end
      left = left - 1
      write(result)
    end
  end)
  finish()
  if words.verbose then io.stderr:write(text.safe((stream.socket or stream.events):explain(), { ["\n"] = true }), "\n") end
  if not done then return report(err) end
  if seen.lacks_part then io.stderr:write "nightjar: not every result has a value at each JSON Pointer of -f\n" end
  return (seen.has_errors or seen.lacks_part) and 1 or 0
end

-- --- The schema ---

local function write_schema(gql, options, words)
  local ok, result = pcall(gql.query, gql, schema.query, nil, options)
  if not ok then return report(result) end
  local content = result.response.text
  if words.schema == "sdl" then
    local is_valid, sdl = pcall(schema.sdl, result.data and result.data.__schema)
    if not is_valid then
      io.stderr:write "nightjar: the response is not the result of a GraphQL introspection query; --schema json writes it\n"
      return 1
    end
    content = sdl
  end
  if words.download and words.download ~= "-" then
    nightjar.fs.write(words.download, content)
  elseif words.schema == "json" then
    output.json(content, output.is_terminal() and "json" or "raw")
  else
    io.stdout:write(output.is_terminal() and text.safe(content, { ["\n"] = true, ["\t"] = true }) or content)
  end
  if result.errors then write_errors(result.errors) end
  return result.errors and 1 or 0
end

-- --- The command ---

-- Checks the options that the kind of the operation excludes.
local function check_options(kind, words)
  local is_stream = kind == "subscription"
  if words.download and kind ~= "schema" then items.refuse "-d requires --schema; the shell's > FILE writes the data to a file" end
  if words.paginate and kind ~= "query" then items.refuse("--paginate requires a query; the operation is a %s", kind) end
  if words.at and not words.paginate then items.refuse "--at requires --paginate" end
  if words.max_items and not (words.paginate or is_stream) then items.refuse "--max-items requires --paginate or a subscription" end
  if words.max_items and words.max_items < 1 then items.refuse("--max-items %d: must be at least 1", words.max_items) end
  if is_stream and words.timeout then items.refuse "--timeout cannot be used with a subscription; --max-items N ends it after N results" end
  if is_stream and words.method == "get" then items.refuse "--method get requires a query; the operation is a subscription" end
  if kind == "mutation" and words.method == "get" then items.refuse "--method get requires a query; the operation is a mutation" end
  for _, name in ipairs { "transport", "init_payload", "authorize", "once" } do
    if words[name] and not is_stream then items.refuse("--%s requires a subscription", (name:gsub("_", "-"))) end
  end
  for _, pointer in ipairs { words.at, table.unpack(words.pick) } do
    if pointer ~= "" and pointer:sub(1, 1) ~= "/" then
      items.refuse("%s: a JSON Pointer must begin with /, as in /%s", pointer, (pointer:gsub("[.]", "/")))
    end
  end
end

-- Creates the client. The request has the URL, its query and the headers. The body is that of the operation.
local function open(kind, words, read_items)
  local options = {}
  for name, value in pairs(words) do options[name] = value end
  -- The options with another meaning for calls.
  for _, name in ipairs { "download", "paginate", "max_items", "at" } do options[name] = nil end
  options.read = { query = read_items.query, headers = read_items.headers, fields = {} }
  options.accept = kind ~= "subscription" and result_types or words.transport == "events" and "text/event-stream" or "*/*"
  return subcommand.open("get", options)
end

local function run(words)
  if words.schema and words.query then items.refuse "--schema has no query: it writes the schema of the service" end
  if not words.schema and not words.query then items.refuse "QUERY is required: a text, @FILE, or - for standard input" end
  local read_items = items.read(words.item)
  words.fields = read_items.fields
  local document = words.query and document_of(words.query)
  local kind = words.schema and "schema" or checked(words, graphql.kind, document, words.operation)
  check_options(kind, words)
  local variables = variables_of(words, read_items.fields)
  local api, request = open(kind, words, read_items)
  if not api then return 1 end
  local options = call_options(request, words)
  local gql = graphql.client(api, request.path, { schema = words.check or nil, method = words.method and words.method:upper() })
  if words.schema then return write_schema(gql, options, words) end
  if kind == "subscription" then return read(gql, document, variables, options, words) end
  if not words.paginate then
    words.body = not words.headers or nil
    return send(gql, kind, document, variables, options, words)
  end
  options.at = words.at
  return call.write_pages(checked(words, gql.items, gql, document, variables, options), words)
end

-- @return the exit status
function command.run(words) return subcommand.run("graphql", words, run) end

return command
