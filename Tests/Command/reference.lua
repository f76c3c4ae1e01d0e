-- Compares the reference of the API (Sources/CCommand/programs/reference.lua) with the members that exist at run time.
--
--   scripts/with-demo NIGHTJAR NIGHTJAR Tests/Command/reference.lua
local nightjar = require "nightjar"
local reference = assert(loadfile "Sources/CCommand/programs/reference.lua")()

local origin = assert(os.getenv "NIGHTJAR_DEMO_URL", "run it by scripts/with-demo")
local wrong = 0
local function complain(format, ...)
  wrong = wrong + 1
  print("NOT OK  " .. format:format(...))
end

local classes, names_of = {}, {}
for _, class in ipairs(reference) do
  classes[class.name], names_of[class.name] = class, {}
  for _, member in ipairs(class.members) do
    if names_of[class.name][member[1]] then complain("%s.%s is listed twice", class.name, member[1]) end
    names_of[class.name][member[1]] = member
  end
end

-- Compares the set of existing names with the reference of a class.
local function compare(class, found, what)
  local known = names_of[class]
  if not known then return complain("%s is not in the reference", class) end
  for name in pairs(found) do
    if not known[name] then complain("%s.%s exists but is not in the reference", class, name) end
  end
  for name in pairs(known) do
    if not found[name] then complain("%s.%s is in the reference but does not exist (%s)", class, name, what) end
  end
end

local function is_function(member) return member[2]:sub(1, 1) == "(" end

-- --- Modules ---

local checked = {}
for name in pairs(package.preload) do
  local short = name:match "^nightjar%.([%w_]+)$"
  if short then
    assert(require(name) == nightjar[short], name)
    if not names_of.nightjar[short] then complain("module %s exists but is not a field of nightjar in the reference", name) end
  end
end
local function check_module(name, module)
  local found = {}
  for key, value in pairs(module) do
    found[key] = true
    local member = names_of[name] and names_of[name][key]
    if member and is_function(member) ~= (type(value) == "function") then
      complain("%s.%s is a %s, and %s in the reference", name, key, type(value), member[2])
    end
  end
  compare(name, found, "module")
  checked[name] = true
end
for _, class in ipairs(reference) do
  if class.kind == "module" then
    check_module(class.name, class.name == "nightjar" and nightjar or nightjar[class.name:match "[%w_]+$"] or {})
  end
end

-- --- Objects ---

-- The names in an __index: the keys of a table, or of the tables that are upvalues of a C function.
local function names_in(index)
  local found = {}
  local function add(table) for name in pairs(table) do found[name] = true end end
  if type(index) == "table" then add(index) end
  if type(index) == "function" then
    for place = 1, 8 do
      local _, value = debug.getupvalue(index, place)
      if type(value) == "table" then add(value) end
    end
  end
  return found
end

-- Fields that a function computes. They are not in a table, so each is read.
local computed = {
  ["nightjar.client"] = { "cookies", "cache", "endpoints" },
  ["nightjar.list"] = { "explanation" },
  ["nightjar.events"] = { "last_event_id", "reconnection_time", "response", "state" },
  ["nightjar.resource"] = { "snapshot" },
  ["nightjar.websocket"] = { "close_code", "close_reason", "response", "state", "subprotocol" },
  ["nightjar.download"] = { "progress", "path", "size", "received", "resumed", "attempts" },
  ["nightjar.upload"] = { "progress", "url", "response", "size", "sent", "resumed", "attempts" },
  ["nightjar.task"] = { "done", "cancelled" },
  ["nightjar.page"] = { "items", "number", "response" },
}

local plain = nightjar.client { base_url = origin, cookies = true, cache = true }
-- A WebSocket that has all fields.
local function closed_socket()
  local socket = plain:websocket("/ws/echo", { protocols = { "v1" } }):connect(30)
  socket:close(1000, "done")
  return socket
end

local samples = {
  ["nightjar.client"] = plain, ["nightjar.list"] = (plain:paginate "/v1/articles"), ["nightjar.task"] = nightjar.spawn(function() end),
  ["nightjar.page"] = plain:paginate("/v1/articles"):pages()(), ["nightjar.events"] = (plain:events "/events"),
  ["nightjar.websocket"] = closed_socket(), ["nightjar.resource"] = plain:resource "/v1/articles",
  ["nightjar.download"] = plain:download("/bytes/10", os.tmpname()),
  ["nightjar.upload"] = plain:upload("/tus", os.tmpname(), { protocol = "tus" }),
}
samples["nightjar.list"]:take(1) -- sets the explanation
samples["nightjar.events"]() -- sets the response
-- Objects that are tables, which are compared with a sample below, and classes that scripts never see.
local made_of_lua, inner = { ["nightjar.test"] = true }, {}
for name in ("child temporary reader writer channel"):gmatch "%a+" do made_of_lua["nightjar." .. name] = true end
for name in ("caller gate loan pipe reply native wait"):gmatch "%a+" do inner["nightjar." .. name] = true end
for name, meta in pairs(debug.getregistry()) do
  if type(name) == "string" and name:match "^nightjar%.[%w_]+$" and type(meta) == "table" and rawget(meta, "__name") then
    local index = rawget(meta, "__index")
    local class = classes[name]
    if made_of_lua[name] or inner[name] then -- see below
    elseif class and class.kind == "object" and not class.index and name ~= "nightjar.endpoint" then
      local found = names_in(index)
      for _, field in ipairs(computed[name] or {}) do
        local ok, value = pcall(function() return samples[name][field] end)
        if ok and value ~= nil then found[field] = true else complain("%s.%s: %s", name, field, tostring(value)) end
      end
      compare(name, found, "object")
      checked[name] = true
    elseif not class and index then
      complain("objects named %s exist but are not in the reference", name)
    end
  end
end
samples["nightjar.task"]:join()

-- An endpoint has each member of the reference.
local described = nightjar.client { base_url = origin, endpoints = { one = { path = "/v1/articles", summary = "One" } } }
for name in pairs(names_of["nightjar.endpoint"]) do
  if described.endpoints.one[name] == nil then complain("nightjar.endpoint.%s is in the reference but does not exist", name) end
end
checked["nightjar.endpoint"], checked["nightjar.endpoints"], checked["nightjar.headers"] = true, true, true

-- The methods of the argument of a test function.
local held
nightjar.testing.test("a test", function(t) held = t end)
nightjar.testing.run { format = "none" }
local methods = names_in(getmetatable(held).__index)
methods.__index = nil
compare("nightjar.test", methods, "object")
checked["nightjar.test"] = true

do
  local folder <close> = nightjar.fs.temp_dir()
  local child <close> = nightjar.process.spawn { "true", stdin = "pipe", stdout = "pipe", stderr = "pipe" }
  local tables = {
    ["nightjar.temporary"] = folder, ["nightjar.child"] = child, ["nightjar.reader"] = child.stdout,
    ["nightjar.writer"] = child.stdin, ["nightjar.channel"] = nightjar.channel(1),
  }
  for name, object in pairs(tables) do
    for field in pairs(names_of[name]) do
      local ok, value = pcall(function() return object[field] end)
      if not ok or value == nil then complain("%s.%s is in the reference but does not exist: %s", name, field, tostring(value)) end
    end
    checked[name] = true
  end
  child:wait()
end

-- Background transfers that no worker performs.
do
  local folder <close> = nightjar.fs.temp_dir()
  local transfers = nightjar.transfers.open(folder.path .. "/journal.db")
  local download = transfers.start { id = "1", download = origin .. "/bytes/10", to = folder.path .. "/file" }
  local upload = transfers.start { id = "2", upload = origin .. "/tus", from = folder.path .. "/file" }
  local found = names_in(debug.getmetatable(download).__index)
  for _, transfer in ipairs { download, upload } do
    for name in pairs(transfer) do found[name] = true end
  end
  -- Fields of transfers that have ended, and of those whose size is known.
  for _, name in ipairs { "total", "rate", "error", "upload_url" } do found[name] = true end
  compare("nightjar.background_transfer", found, "object")
  checked["nightjar.background_transfer"] = true
end

-- An outbox with an entry that is not sent.
do
  local folder <close> = nightjar.fs.temp_dir()
  local api <close> = nightjar.client { base_url = "http://127.0.0.1:1", journal = folder.path .. "/journal.db" }
  local outbox <close> = api:outbox()
  local entry = outbox:post "/"
  compare("nightjar.outbox", names_in(debug.getmetatable(outbox).__index), "object")
  local found = names_in(debug.getmetatable(entry).__index)
  for name in pairs(entry) do found[name] = true end
  -- Fields of entries that were sent.
  for _, name in ipairs { "if_match", "error", "response", "mine", "theirs" } do found[name] = true end
  compare("nightjar.outbox_entry", found, "object")
  checked["nightjar.outbox"], checked["nightjar.outbox_entry"] = true, true
end

-- A GraphQL client, a result with data and errors, and a subscription.
do
  local gql = nightjar.graphql.client(plain, "/graphql")
  compare("nightjar.graphql_client", names_in(debug.getmetatable(gql).__index), "object")
  local subscription <close> = gql:subscribe "subscription { countdown(from: 1) }"
  compare("nightjar.graphql_subscription", names_in(debug.getmetatable(subscription).__index), "object")
  local found = { extensions = true } -- The demo API has none.
  for name in pairs(gql:query "{ article(id: 1) { secret } }") do found[name] = true end
  compare("nightjar.graphql_result", found, "object")
  for _, name in ipairs { "client", "subscription", "result" } do checked["nightjar.graphql_" .. name] = true end
end

local timing = plain:get("/v1/articles/1").timing
for name in pairs(timing) do
  if not names_of["nightjar.timing"][name] then complain("timing has %s, which is not in the reference", name) end
end
checked["nightjar.timing"] = true

for _, class in ipairs(reference) do
  if class.kind == "object" and not checked[class.name] then complain("%s is in the reference but does not exist", class.name) end
end

-- --- Options ---

-- The message about an unknown option lists the known options.
local function known_options(f)
  local _, err = nightjar.try(f)
  local list = tostring(type(err) == "userdata" and err.message or err):match "the known options are (.*)$"
  if not list then return nil, tostring(err) end
  local found = {}
  for name in list:gmatch "[%w_]+" do found[name] = true end
  return found
end
local nonsense = "qqqqqqqqqqqqqqqqqqqqqqqqqqqq"
local function client_with(path)
  return function()
    local options = { base_url = origin }
    if path == "" then options[nonsense] = 1 else options[path] = { [nonsense] = 1 } end
    nightjar.client(options)
  end
end
local tables = {
  timeout_options = "timeout", retry_options = "retry", cache_options = "cache", cookie_options = "cookies",
  redirect_options = "redirect", tls_options = "tls", rate_options = "rate_limit", breaker_options = "circuit_breaker",
  network_options = "network", cassette_options = "cassette",
}
for name, path in pairs(tables) do
  local found, message = known_options(client_with(path))
  if found and path == "tls" then found.on_pin_mismatch = true end -- read by the Lua host
  if found then compare("nightjar." .. name, found, "option") else complain("%s: %s", name, message) end
end
do
  local found, message = known_options(client_with "")
  -- The Lua host reads the options that are functions.
  local functions = { "log", "before", "after", "on_challenge", "on_request", "on_store", "observer", "resolver", "on_addresses",
    "token_store" }
  for _, name in ipairs(functions) do found[name] = true end
  if found then compare("nightjar.client_options", found, "option") else complain("client_options: %s", message) end
end
do
  local found, message = known_options(function()
    nightjar.client { base_url = origin, endpoints = { one = { path = "/", [nonsense] = 1 } } }
  end)
  if found then compare("nightjar.endpoint_options", found, "option") else complain("endpoint_options: %s", message) end
end
for name, route in pairs {
  mock_route = { [nonsense] = 1, response = 200 }, mock_response = { response = { [nonsense] = 1 } },
} do
  local found, message = known_options(function() nightjar.mock { route } end)
  if found then compare("nightjar." .. name, found, "option") else complain("%s: %s", name, message) end
end
do -- Each type of authentication has its own options.
  local all = { type = true }
  for kind in names_of["nightjar.auth_options"].type[2]:gmatch "[%w_]+" do
    local found, message = known_options(function() nightjar.client { base_url = origin, auth = { type = kind, [nonsense] = 1 } } end)
    if not found then complain("auth.type %s: %s", kind, message) end
    for name in pairs(found or {}) do all[name] = true end
  end
  for _, name in ipairs { "provider", "on_login_required", "schemes" } do all[name] = true end
  all.scheme = true -- exists only with a description
  compare("nightjar.auth_options", all, "option")
end

-- The options of calls and lists are in C tables. A known option may be rejected because of its value, but not as unknown.
local function check_call_options(class, f)
  for name in pairs(names_of[class]) do
    local _, err = nightjar.try(f, name)
    local message = tostring(type(err) == "userdata" and err.message or err)
    if message:find("unknown option", 1, true) then complain("%s.%s: %s", class, name, message) end
  end
end
local mocked = nightjar.client { base_url = "http://api.example", mock = nightjar.mock { { response = 200 } }, retry = false }
check_call_options("nightjar.call_options", function(name) mocked:request { path = "/", [name] = coroutine.create(print) } end)
check_call_options("nightjar.page_options", function(name) mocked:paginate("/", { [name] = coroutine.create(print) }) end)
local function names_in_source(path, array)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  local body = assert(text:match("static const char %*const " .. array .. "%[%] = (%b{})"), path)
  return body:gmatch '"([%w_]+)"'
end
for _, source in ipairs {
  { "nightjar.call_options", "Sources/CLua/bindings/request.c", "names" },
  { "nightjar.page_options", "Sources/CLua/bindings/paginate.c", "list_options" },
} do
  for name in names_in_source(source[2], source[3]) do
    if not names_of[source[1]][name] then complain("%s.%s is in %s but not in the reference", source[1], name, source[2]) end
  end
end

-- --- Kinds of errors ---

do
  local file = assert(io.open "Sources/NightjarBase/Errors/ErrorKind.swift")
  local text = file:read "a"
  file:close()
  local found = {}
  for name in assert(text:match "var name: String {(.-)\n    }"):gmatch '"([%w_]+)"' do found[name] = true end
  compare("nightjar.error_kind", found, "kind")
end

print(wrong == 0 and "the reference is complete" or wrong .. " differences")
os.exit(wrong == 0, true)
