-- help(x): describes a value, a function, an object, an endpoint or a name of the API. The texts come from
-- nightjar.command.reference.
local reference = require "nightjar.command.reference"
local text = require "nightjar.command.text"

local help = {}

local learn_methods

local classes = {}
for _, class in ipairs(reference) do
  classes[class.name] = class
end

-- The classes whose objects are tables.
local made_of_tables = { ["nightjar.graphql_client"] = true, ["nightjar.graphql_subscription"] = true }

-- Returns the class of that name, such as "nightjar.client", or nil.
function help.class(name) return classes[name] end

function help.member(class, name)
  for _, member in ipairs(class.members) do
    if member[1] == name then return member end
  end
end

function help.is_method(member) return member[2]:sub(1, 1) == "(" end

-- Returns the class of one of Nightjar's objects.
function help.class_of(value)
  local meta = debug.getmetatable(value)
  if type(meta) ~= "table" then return nil end
  local name = rawget(meta, "__name")
  if type(value) ~= "userdata" and not (type(value) == "table" and made_of_tables[name]) then return nil end
  return classes[name]
end

-- Returns the class of a module table.
function help.module(value)
  local nightjar = require "nightjar"
  if value == nightjar then return classes.nightjar end
  if type(value) ~= "table" then return nil end
  for _, class in ipairs(reference) do
    local name = class.kind == "module" and class.name:match "^nightjar%.(.+)"
    if name and package.loaded[class.name] == value or name == "json" and value == nightjar.json then return class end
  end
end

local short = { ["nightjar.client"] = "api", ["nightjar.response"] = "res", ["nightjar.error"] = "err" }

-- Returns a signature such as "api:get(path: string, ...): nightjar.response".
local function signature(class, member)
  if class.kind == "values" then return member[1] end
  if not help.is_method(member) then return ("%s.%s: %s"):format(short[class.name] or class.name, member[1], member[2]) end
  local arguments = member[2]
  local rest = arguments:match "^%(self: [%w_.]+,? ?(.*)$"
  local owner = short[class.name] or (class.kind == "object" and class.name:match "[%w_]+$" or class.name)
  return rest and ("%s:%s(%s"):format(owner, member[1], rest) or ("%s.%s%s"):format(owner, member[1], arguments)
end

local function wrap(line, width, indent)
  local lines, current = {}, ""
  for word in line:gmatch "%S+" do
    if current ~= "" and #current + 1 + #word > width - #indent then
      lines[#lines + 1] = indent .. current
      current = word
    else
      current = current == "" and word or current .. " " .. word
    end
  end
  lines[#lines + 1] = indent .. current
  return table.concat(lines, "\n")
end

local function options_of(member, width, paint)
  local lines = {}
  for name in member[2]:gmatch "nightjar%.[%w_]+_options" do
    local class = classes[name]
    if class then
      lines[#lines + 1] = ""
      lines[#lines + 1] = paint("head", class.text)
      for _, option in ipairs(class.members) do
        lines[#lines + 1] = "  " .. paint("key", option[1]) .. ": " .. paint("dim", option[2])
        lines[#lines + 1] = wrap(option[3], width, "      ")
        if option.default then lines[#lines + 1] = wrap("Default: " .. option.default, width, "      ") end
      end
    end
  end
  return table.concat(lines, "\n")
end

local function of_member(class, member, width, paint)
  local options = options_of(member, width, paint)
  return paint("head", signature(class, member)) .. "\n" .. wrap(member[3], width, "  ") ..
    (options ~= "" and "\n" .. options or "")
end

local function of_class(class, width, paint)
  local lines = { wrap(class.text .. (class.extends and " Includes the options of " .. class.extends .. "." or ""), width, "") }
  for _, member in ipairs(class.members) do
    lines[#lines + 1] = "  " .. paint("key", signature(class, member))
    lines[#lines + 1] = wrap(member[3]:match "^.-%.%f[%s%z]" or member[3], width, "      ")
    if member.default then lines[#lines + 1] = wrap("Default: " .. member.default, width, "      ") end
  end
  return table.concat(lines, "\n")
end

-- Returns the module of a class, or nil if the module is not loaded and therefore has no functions yet.
local function loaded(class)
  if class.kind ~= "module" then return nil end
  local nightjar = require "nightjar"
  local module = class.name == "nightjar" and nightjar or rawget(nightjar, class.name:match "[%w_]+$") or package.loaded[class.name]
  return type(module) == "table" and module or nil
end

local functions
-- Returns the functions of Nightjar with their class and member.
local function known_functions()
  local is_first = functions == nil
  functions = functions or {}
  for _, class in ipairs(reference) do
    local module = loaded(class)
    for _, member in ipairs(module and class.members or {}) do
      local value = rawget(module, member[1])
      if type(value) == "function" and not functions[value] then functions[value] = { class, member } end
    end
  end
  if not is_first then return functions end
  for _, class in ipairs(reference) do
    local meta = debug.getregistry()[class.name]
    local methods = type(meta) == "table" and rawget(meta, "__index")
    if type(methods) == "table" then
      for _, member in ipairs(class.members) do
        local value = rawget(methods, member[1])
        if type(value) == "function" and not functions[value] then functions[value] = { class, member } end
      end
    end
  end
  return functions
end

-- Returns the name of a function of Nightjar, such as "api:get"; nil for other functions. All clients share the same
-- methods.
function help.name_of(value)
  local found = known_functions()[value]
  if not found then return nil end
  return (signature(found[1], found[2]):match "^[%w_.:]+")
end

-- Records the methods of clients in the known functions. The methods are in an upvalue of the clients' metatable and
-- can only be read from a client.
function help.learn(client)
  local class = classes["nightjar.client"]
  for _, member in ipairs(class.members) do
    if help.is_method(member) then
      local ok, value = pcall(function() return client[member[1]] end)
      if ok and type(value) == "function" then known_functions()[value] = { class, member } end
    end
  end
end

local has_learned = false

-- Creates a client to record its methods, because the registry has no table of them.
function learn_methods()
  if has_learned then return end
  has_learned = true
  local client <close> = require("nightjar").client {}
  help.learn(client)
end

-- Returns the description of a name: "nightjar.map", "api:get", "client_options", "timeout".
local function of_name(name, width, paint)
  if classes[name] then return of_class(classes[name], width, paint) end
  if classes["nightjar." .. name] then return of_class(classes["nightjar." .. name], width, paint) end
  local last = name:match "[%w_]+$"
  local owner = name:match "^(.-)[.:][%w_]+$"
  local found = {}
  for _, class in ipairs(reference) do
    local member = last and help.member(class, last)
    if member and (not owner or owner == class.name or short[class.name] == owner or "nightjar." .. owner == class.name) then
      found[#found + 1] = of_member(class, member, width, paint)
    end
  end
  if #found > 0 then return table.concat(found, "\n\n") end
end

help.overview = [[
api = nightjar.client { base_url = "https://..." }     then  api:get "/path"
_          the last result; res: the last response      =x    the same as x
err        the last error, as err.kind and err.response
help(x)    describes a function, an object, an endpoint, or a name such as "retry_options"
Tab        completes names, fields, options, headers, endpoints and paths
Ctrl-R     searches the history; Ctrl-C cancels the call or discards the line; Ctrl-D quits
.help      this text                   .trace on|off      traces each call on standard error
.save F    saves as a script           .load F            runs a script
.save! F   the same, overwriting any file
.save test F_test.lua                  saves as a test that replays without a network
.quit      quits]]

-- Returns the description of a value. Options: `colors`, `width`.
function help.about(value, options)
  local paint = text.painter(options.colors)
  local width = math.max(options.width or 80, 40)
  local class = help.class_of(value)
  if value == nil then return help.overview end
  if class and class.name == "nightjar.endpoint" then return text.safe(tostring(value), { ["\n"] = true }) end
  if class then
    if class.name == "nightjar.client" then help.learn(value) end
    return of_class(class, width, paint)
  end
  class = help.module(value)
  if class then return of_class(class, width, paint) end
  if type(value) == "string" then
    return of_name(value, width, paint) or ("no help for %q; help() shows an overview"):format(text.safe(value:sub(1, 80)))
  end
  if type(value) == "function" then
    local found = known_functions()[value]
    local info = debug.getinfo(value, "Su")
    if not found and info.what == "C" then
      learn_methods()
      found = known_functions()[value]
    end
    if found then return of_member(found[1], found[2], width, paint) end
    if info.what == "C" then return "a C function, " .. tostring(value) end
    local names = {}
    for index = 1, info.nparams do names[index] = debug.getlocal(value, index) end
    if info.isvararg then names[#names + 1] = "..." end
    return ("function(%s), from %s:%d"):format(table.concat(names, ", "), text.safe(info.short_src), info.linedefined)
  end
  return ("a %s: %s"):format(type(value), text.safe(tostring(value)))
end

return help
