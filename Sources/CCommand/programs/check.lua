-- nightjar check: checks the syntax of scripts and their use of Nightjar's fields and options, without running them.
-- Reports only definite errors; some mistakes are not found.
local nightjar = require "nightjar"
local commands = require "nightjar.command.commands"
local hints = require "nightjar.command.hints"
local syntax = require "nightjar.command.syntax"
local text = require "nightjar.command.text"
local types = require "nightjar.command.types"

local check = {}

-- The maximum size of a script in bytes.
local most_bytes = 16 * 1024 * 1024
-- The maximum number of places in a line that are tried to locate a syntax error.
local most_places = 100

local function place_of(source, position)
  local line, start, at = 1, 1, 1
  while true do
    local newline = source:find("\n", at, true)
    if not newline or newline >= position then break end
    line, start, at = line + 1, newline + 1, newline + 1
  end
  return line, position - start + 1
end

local function near(name, names)
  local nearest = hints.nearest(name, names)
  return nearest and ("; did you mean %s?"):format(nearest) or ""
end

-- --- Syntax ---

-- Converts an error of load to a finding. The error contains a line and the text near the error, but no column. The
-- column is that of the first occurrence of this text at which the truncated script fails with the same message.
local function syntax_finding(source, message, name)
  local reported = message:sub(#name + 2)
  local line = math.tointeger(tonumber(reported:match "^%d+")) or 1
  reported = reported:gsub("^%d+: ", "")
  local start = 1
  for _ = 2, line do start = (source:find("\n", start, true) or #source) + 1 end
  local stop = source:find("\n", start, true) or #source + 1
  local named = reported:match "near '(.*)'$"
  local column = reported:find "near <eof>$" and stop - start + 1 or 1
  local at = named and named ~= "" and start
  for _ = 1, most_places do
    local first, last = source:find(named or "", at or stop, true)
    if not at or not first or last >= stop then break end
    column = first - start + 1
    local _, why = load(source:sub(1, last), "=" .. name, "t")
    if why == message then break end
    at = first + 1
  end
  return { line = line, column = column, text = reported }
end

-- --- Fields ---

-- Returns whether the module has a field that the reference does not contain, such as a field added by another module.
local function is_there(class, name)
  if class.kind ~= "module" then return false end
  local ok, module = pcall(require, class.name)
  if not ok and class.name:find "^nightjar%.%w+$" then
    ok, module = true, nightjar[class.name:match "%.(%w+)$"]
  end
  if not ok or type(module) ~= "table" then return true end
  local found, value = pcall(function() return module[name] end)
  return found and value ~= nil
end

local function called(class) return class.name == "nightjar" and "nightjar" or class.name end

-- --- Options ---

local check_options

local function check_value(report, value, type_text)
  if value.tag ~= "table" then return end
  local allowed = types.options(type_text)
  if allowed then return check_options(report, value, allowed) end
  local each = types.values(type_text)
  if not each then return end
  for _, field in ipairs(value.fields) do
    if field.name and field.value.tag == "table" then check_options(report, field.value, { each }) end
  end
end

-- Checks the names in a table of options, which may belong to several classes.
function check_options(report, options, allowed)
  for _, field in ipairs(options.fields) do
    local member
    for _, class in ipairs(allowed) do member = member or types.member(class, field.name) end
    if field.name and not member then
      local names = {}
      for _, class in ipairs(allowed) do
        for _, name in ipairs(types.names(class)) do names[#names + 1] = name end
      end
      report(field.first, ("unknown option '%s' in %s%s"):format(field.name, allowed[1].name, near(field.name, names)))
    elseif member then
      check_value(report, field.value, member[2])
    end
  end
end

-- Checks the tables among the arguments. `skip` is 1 if the first parameter is the object before the colon.
local function check_arguments(report, arguments, signature, skip)
  for place, argument in ipairs(arguments) do
    local parameter = signature.parameters[place + skip]
    if parameter then check_value(report, argument, parameter[2]) end
  end
end

-- --- A script ---

local rules = {}

function rules.index(report, node, script)
  local object = types.of(node.object)
  local class = object and object.class
  if not class or not node.key or node.is_target or script.fields[node.key] or not types.is_complete(class) then return end
  if types.member(class, node.key) or is_there(class, node.key) then return end
  report(node.first, ("%s has no field '%s'%s"):format(called(class), node.key, near(node.key, types.names(class))))
end

function rules.method(report, node, script)
  local object = types.of(node.object)
  local class = object and object.class
  if not class or script.fields[node.name] then return end
  local member = types.member(class, node.name)
  if not member then
    if not types.is_complete(class) or is_there(class, node.name) then return end
    return report(node.first, ("%s has no method '%s'%s"):format(called(class), node.name, near(node.name, types.names(class))))
  end
  if member.overload or member[2]:sub(1, 1) ~= "(" then return end
  local signature = types.signature(member[2])
  local has_self = signature.parameters[1] and signature.parameters[1][1] == "self"
  if class.kind == "module" and not has_self then
    return report(node.first, ("%s.%s is a function, not a method: use a dot instead of the colon"):format(called(class), node.name))
  end
  check_arguments(report, node.arguments, signature, has_self and 1 or 0)
end

function rules.call(report, node)
  local callee = types.of(node.callee)
  if not callee or not callee.signature then return end
  local parameters, first = callee.signature.parameters, node.arguments[1]
  local is_method = parameters[1] and parameters[1][1] == "self"
  if is_method and (not first or first.tag == "string" or first.tag == "table") and node.callee.tag == "index" then
    return report(node.callee.first, ("%s is a method: use a colon instead of the dot, as in :%s(...)"):format(node.callee.key, node.callee.key))
  end
  check_arguments(report, node.arguments, callee.signature, 0)
end

-- Returns the findings for a script: a list of { line, column, text }, sorted by position.
function check.findings(source)
  local name = "script"
  source = source:gsub("^\xEF\xBB\xBF", ""):gsub("^#[^\n]*", "")
  local chunk, message = load(source, "=" .. name, "t")
  if not chunk then return { syntax_finding(source, message, name) } end
  local script = syntax.read(source)
  if not script or script.globals._ENV then return {} end
  local found = {}
  local function report(position, reported) found[#found + 1] = { position = position, text = reported } end
  for _, node in ipairs(script.nodes) do
    if rules[node.tag] then rules[node.tag](report, node, script) end
  end
  table.sort(found, function(a, b) return a.position < b.position end)
  for _, finding in ipairs(found) do finding.line, finding.column = place_of(source, finding.position) end
  return found
end

function check.run(words)
  local options = nightjar.args.parse(commands.check, words)
  local count, is_whole = 0, true
  for _, path in ipairs(options.script) do
    local file, message = io.open(path, "rb")
    local source = file and file:read(most_bytes + 1)
    if file then file:close() end
    if not source or #source > most_bytes then
      is_whole = false
      io.stderr:write("nightjar: ", source and ("%s: file is larger than %d bytes"):format(path, most_bytes) or message
        or path .. ": file cannot be read", "\n")
    else
      for _, finding in ipairs(check.findings(source)) do
        count = count + 1
        io.stdout:write(("%s:%d:%d: %s\n"):format(path, finding.line, finding.column, text.safe(finding.text)))
      end
    end
  end
  return (count > 0 or not is_whole) and 1 or 0
end

return check
