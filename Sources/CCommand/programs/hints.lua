-- What to do about an error, in a sentence.
local hints = {}

local by_kind = {
  invalid_argument = "mend the argument that the message names; help(function) says what it takes",
  invalid_url = "mend the URL: http or https, a host, and nothing that has to be written as %XX",
  invalid_request = "nothing was sent: mend the header, body or method that the message names",
  offline = "the machine has no network: see to the connection, then call again",
  dns = "check how the host's name is written; a name of your own network needs its resolver",
  connect = "check host and port, and whether the server runs; nightjar demo serves an API to try with",
  tls = "for an authority of your own give tls = { ca_file = ... }; do not switch checking off",
  pin_mismatch = "somebody listens in, or the pins are old: get the new ones by another way",
  timeout = "raise the limit that ran out: timeout = { connect =, idle =, total = } of the client or the call",
  connection_lost = "call again; where err.may_have_been_processed is true, look first whether it was done",
  protocol = "the server's answer is not HTTP: check that it is a web server, and http or https as it expects",
  too_large = "raise max_body of the client, or take the body in parts: stream = true and res:chunks()",
  no_memory = "stream the body (stream = true and res:chunks()), or give the process more memory",
  unauthorized = "sign in: auth = { type = ... } of the client, api:sign_in{ ... } or api:log_in()",
  forbidden = "the login is known and may not do this: ask for the permission, or use another",
  not_found = "check the path; api.endpoints lists those of the description",
  rate_limited = "wait as long as err.retry_after says, or give the client rate_limit = true",
  client = "read err.details and err.response: they say what the server did not accept",
  server = "the server has failed: err.response is its answer; wait, then call again",
  decoding = "look at err.response.text: the body is not what its type or the schema promises",
  closed = "the client was closed: make a new one",
  forked = "make a new client in the child process",
  reentrant = "start the call there and return; it goes on afterwards",
  storage = "check the path, its permissions and the room on the disk",
  cache_miss = "nothing is stored: ask without cache = \"cache_only\"",
}

local by_phase = {
  connect = "nothing answered in time: check host and port, or raise timeout = { connect = seconds }",
  idle = "the server stopped sending: raise timeout = { idle = seconds } where it may take that long",
  total = "raise timeout = { total = seconds } of the client or the call, or stream a large answer",
}

function hints.for_error(err)
  local kind = err.kind
  if kind == "timeout" and by_phase[err.phase] then return by_phase[err.phase] end
  if kind == "client" and err.status == 405 then return "the path takes other methods: look at err.response.headers.allow" end
  if kind == "client" and err.status == 409 then return "somebody else has changed it: read it again, then write" end
  if kind == "client" and err.status == 415 then return "send the body as the server takes it: json =, form = or multipart =" end
  if kind == "rate_limited" and err.retry_after then
    return ("call again in %g s; rate_limit = true of the client keeps below the limit"):format(math.ceil(err.retry_after))
  end
  return by_kind[kind]
end

local methods
-- Names of methods that a client, a response and the others have, to find the one that was meant.
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

-- How many letters have to change; more than `most` counts as `most` + 1.
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

-- The nearest of the names, or nil where none is near.
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

-- For errors of Lua, by how it words them.
function hints.for_message(message)
  local first = message:match "^[^\n]*"
  local global = first:match "a nil value %(global '([%w_]+)'%)"
  if global then
    if global == "api" then return 'make a client first: api = nightjar.client { base_url = "https://..." }' end
    local near = hints.nearest(global, globals())
    return near and ("did you mean %s?"):format(near) or ("%s has no value; a local ends with its line, a global does not"):format(global)
  end
  local method = first:match "call a nil value %(method '([%w_]+)'%)" or first:match "call a nil value %(field '([%w_]+)'%)"
  if method then
    local near = hints.nearest(method, method_names())
    return near and ("did you mean %s?"):format(near) or "help(value) tells what it can do"
  end
  if first:find("index a nil value (field", 1, true) then return "what is before that field is not there: look at it alone first" end
  if first:find("calling 'get' on bad self", 1, true) or first:find("client expected, got", 1, true) then
    return "call methods with a colon: api:get(path)"
  end
end

return hints
