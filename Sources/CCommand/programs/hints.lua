-- Suggests how to fix an error, in one sentence.
local hints = {}

-- The hints at the prompt and in scripts, by the kind of the error.
local by_kind = {
  invalid_argument = "change the argument that the message names; help(function) describes it",
  invalid_url = "check the URL: http or https, a host, and no character that must be written as %XX",
  invalid_request = "nothing was sent: change the header, body or method that the message names",
  offline = "the machine has no network: check the connection, then call again",
  dns = "check the spelling of the host name; a name of a private network requires the resolver of that network",
  connect = "check host and port, and whether the server is running; nightjar demo serves a demo API",
  tls = "for your own certificate authority, set tls = { ca_file = ... }; do not disable verification",
  pin_mismatch = "the server's key is not one of the pinned keys: the connection is intercepted, or the pins are out of date",
  timeout = "raise the timeout that expired: timeout = { connect =, idle =, total = } of the client or the call",
  connection_lost = "call again; if err.may_have_been_processed is true, first check whether the server has processed the request",
  protocol = "the server's response is not HTTP: check that it is a web server, and whether it expects http or https",
  too_large = "for a response, raise max_body of the client, or read the body in parts: stream = true and res:chunks()",
  no_memory = "read the body in parts (stream = true and res:chunks()), or give the process more memory",
  unauthorized = "log in: auth = { type = ... } of the client, api:set_token{ ... } or api:log_in()",
  forbidden = "the login is valid but lacks a permission: request the permission, or use another login",
  not_found = "check the path; api.endpoints lists the endpoints of the API description",
  rate_limited = "wait for err.retry_after seconds, or set rate_limit = true of the client",
  client = "err.details and err.response describe why the server rejected the request",
  server = "the server failed: see err.response, if there is one; wait, then call again",
  decoding = "for a response, see err.response.text: the body does not match its content type or the schema",
  closed = "the client was closed: create a new one",
  forked = "create a new client in the child process",
  reentrant = "start the call in the callback without waiting for it, then return",
  storage = "check the path, its permissions and the free space on the disk",
  content_changed = "start over: the content or the file has changed, or the server cannot continue",
  checksum_mismatch = "the file was damaged on its way, or the checksum belongs to another version: compare it, then download again",
  cache_miss = "the cache has no response for this request: call without cache = \"cache_only\"",
  graphql = "err.response.json.errors lists the errors of the GraphQL server",
}

-- The hints of nightjar get and the other subcommands, whose options are flags.
local for_command = {
  invalid_url = by_kind.invalid_url, offline = "the machine has no network: check the connection", dns = by_kind.dns,
  invalid_request = "nothing was sent: change the header, field or method that the message names",
  connect = by_kind.connect, protocol = by_kind.protocol, forbidden = by_kind.forbidden, storage = by_kind.storage,
  tls = "for your own certificate authority, use --ca-file FILE",
  timeout = "raise --timeout SECONDS (0 is no limit), or timeout.connect or timeout.idle in a profile",
  connection_lost = "--retry N retries requests if this is safe; the server may have processed a write",
  too_large = "write the body to a file with --download FILE, or as it arrives with --stream",
  no_memory = "write the body to a file with --download FILE, or as it arrives with --stream",
  unauthorized = "log in with nightjar login --profile NAME, or send a header: 'Authorization:Bearer TOKEN'",
  not_found = "check the path", rate_limited = "wait before the next request; --retry N waits as long as the server asks",
  client = "--verbose shows the request; the response describes why the server rejected the request",
  server = "the server failed: try again later, or with --retry N",
  content_changed = "call without --continue to start over", checksum_mismatch = by_kind.checksum_mismatch,
  decoding = "--output raw writes the body unchanged", graphql = "--verbose shows the request",
}

local by_phase = {
  connect = "no server responded in time: check host and port, or raise timeout = { connect = seconds }",
  idle = "the server stopped sending: raise timeout = { idle = seconds } if it may take that long",
  total = "raise timeout = { total = seconds } of the client or the call, or the seconds of nightjar.timeout",
}

-- Options of the library in messages, and the corresponding flags of the command.
local flags = {
  { "raise timeout%.total, or set it to 0", "give a longer --timeout, or --timeout 0" },
  { "raise timeout%.idle, or set it to 0", "set timeout.idle in a profile" },
  { "raise max_body[^;]*", "write it to a file with --download FILE" },
  { "raise retry%.max_wait", "set retry.max_wait in a profile" },
}

-- Rewrites a message in the terms of the command line.
function hints.command_message(message)
  for _, pair in ipairs(flags) do message = message:gsub(pair[1], (pair[2]:gsub("%%", "%%%%"))) end
  return message
end

-- Returns the hint for an error on the command line.
function hints.for_command(err) return for_command[err.kind] end

-- Returns the hint for an error at the prompt.
function hints.for_error(err)
  local kind = err.kind
  if kind == "timeout" and by_phase[err.phase] then return by_phase[err.phase] end
  if kind == "client" and err.status == 405 then return "the path accepts other methods: see err.response.headers.allow" end
  if kind == "client" and err.status == 409 then return "the resource has changed: read it again, then write" end
  if kind == "client" and err.status == 415 then return "send the body in the form that the server accepts: json =, form = or multipart =" end
  if kind == "rate_limited" and err.retry_after then
    return ("call again in %g s; rate_limit = true of the client stays below the limit"):format(math.ceil(err.retry_after))
  end
  return by_kind[kind]
end

local methods
-- Returns the method names of all classes, for suggestions.
local function method_names()
  if methods then return methods end
  methods = {}
  for _, class in ipairs(require "nightjar.command.reference") do
    for _, member in ipairs(class.members) do
      if member[2]:sub(1, 1) == "(" then methods[#methods + 1] = member[1] end
    end
  end
  return methods
end

-- Returns the edit distance. Returns a number greater than `most` if the distance exceeds `most`, or if a text has more
-- than 32 bytes.
local function distance(a, b, most)
  if math.abs(#a - #b) > most or #a > 32 or #b > 32 then return most + 1 end
  local former = {}
  for j = 0, #b do former[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(former[j] + 1, row[j - 1] + 1, former[j - 1] + cost)
    end
    former = row
  end
  return former[#b]
end

-- Returns the most similar name other than `name`, or nil if none is similar.
function hints.nearest(name, names)
  local least, nearest = #name // 3 + 2, nil
  for _, known in ipairs(names) do
    local edits = distance(name, known, least)
    if edits < least and edits > 0 then least, nearest = edits, known end
  end
  return nearest
end

local function globals()
  local names = {}
  for name in next, _G do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- Returns the hint for a Lua error, by its message.
function hints.for_message(message)
  local first = message:match "^[^\n]*"
  local global = first:match "a nil value %(global '([%w_]+)'%)"
  if global then
    if global == "api" then return 'create a client first: api = nightjar.client { base_url = "https://..." }' end
    local near = hints.nearest(global, globals())
    return near and ("did you mean %s?"):format(near) or ("%s is nil; a local variable exists only in one line, so use a global"):format(global)
  end
  local method = first:match "call a nil value %(method '([%w_]+)'%)" or first:match "call a nil value %(field '([%w_]+)'%)"
  if method then
    local near = hints.nearest(method, method_names())
    return near and ("did you mean %s?"):format(near) or "help(value) shows its methods"
  end
  if first:find("index a nil value (field", 1, true) then return "the value before the field is nil; check it first" end
  if first:find("calling 'get' on bad self", 1, true) or first:find("client expected, got", 1, true) then
    return "call methods with a colon: api:get(path)"
  end
end

return hints
