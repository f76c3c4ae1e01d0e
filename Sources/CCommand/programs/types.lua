-- Infers the types of values in a script without running the script. Uses the reference, and variables that are assigned
-- only once. Unknown types are nil.
local reference = require "nightjar.command.reference"

local types = {}

local classes = {}
for _, class in ipairs(reference) do classes[class.name] = class end

-- Returns a class by name, or nil.
function types.class(name) return classes[name] end

-- Returns a member of a class or of its base class, or nil.
function types.member(class, name)
  local at = class
  while at do
    for _, member in ipairs(at.members) do
      if member[1] == name then return member end
    end
    at = at.extends and classes[at.extends]
  end
  return nil
end

-- Returns the names of a class's members.
function types.names(class)
  local names, at = {}, class
  while at do
    for _, member in ipairs(at.members) do names[#names + 1] = member[1] end
    at = at.extends and classes[at.extends]
  end
  return names
end

local complete = {}
for name in ([[client response error task list cookies cache timing]]):gmatch "%w+" do complete["nightjar." .. name] = true end

-- Returns whether objects of the class have only the documented members.
function types.is_complete(class)
  return class.kind == "module" or complete[class.name] and not class.index and #class.members > 0
end

-- Splits a list at the commas outside of brackets.
local function split(list)
  local pieces, depth, first = {}, 0, 1
  for position = 1, #list do
    local letter = list:sub(position, position)
    if letter:find "[(<{%[]" then
      depth = depth + 1
    elseif letter:find "[)>}%]]" then
      depth = depth - 1
    elseif letter == "," and depth == 0 then
      pieces[#pieces + 1] = list:sub(first, position - 1)
      first = position + 1
    end
  end
  if list:find("%S", first) then pieces[#pieces + 1] = list:sub(first) end
  return pieces
end

local signatures = {}

-- Parses a function type to { parameters = { { name, type } }, results = { type } }.
function types.signature(type_text)
  if signatures[type_text] then return signatures[type_text] end
  local inner = type_text:match "^%b()"
  local signature = { parameters = {}, results = {} }
  for _, parameter in ipairs(split(inner:sub(2, -2))) do
    local name, of = parameter:match "^%s*([%w_.]+)%??:?%s*(.-)%s*$"
    signature.parameters[#signature.parameters + 1] = { name, of }
  end
  local results = type_text:sub(#inner + 1):match "^:%s*(.*)$"
  for _, result in ipairs(split(results or "")) do signature.results[#signature.results + 1] = result:match "^%s*(.-)%s*$" end
  signatures[type_text] = signature
  return signature
end

-- Returns the class of a type "class" or "class?". Returns nil for other types.
local function class_of_type(type_text)
  local name = type_text and type_text:match "^(nightjar[%w_.]*)%??$"
  return name and classes[name]
end

-- Returns the type of an expression: { class } or { signature, member, owner }; nil if unknown.
local type_of

local function required(expression)
  local callee, name = expression.callee, expression.arguments[1]
  if callee.tag ~= "name" or callee.variable.name ~= "require" or not callee.variable.is_global or #callee.variable.definitions > 0 then
    return nil
  end
  local class = name and name.tag == "string" and classes[name.value]
  return class and class.kind == "module" and { class = class } or nil
end

-- Returns the type of a call's result at `place`; nil if unknown.
local function result_of(expression, place, depth)
  if expression.tag == "call" then
    local module = place == 1 and required(expression)
    if module then return module end
  end
  local callee
  if expression.tag == "call" then
    callee = type_of(expression.callee, depth)
  else
    local object = type_of(expression.object, depth)
    local member = object and object.class and types.member(object.class, expression.name)
    callee = member and member[2]:sub(1, 1) == "(" and not member.overload and { signature = types.signature(member[2]), member = member }
  end
  if not callee or not callee.signature then return nil end
  -- The second result of nightjar.try may be an error of any type.
  if callee.member[1] == "try" and place == 2 then
    local called = expression.arguments[1] and type_of(expression.arguments[1], depth)
    if not (called and called.signature) then return nil end
  end
  local class = class_of_type(callee.signature.results[place])
  return class and { class = class } or nil
end

local deepest = 50

function type_of(expression, depth)
  depth = (depth or 0) + 1
  if depth > deepest then return nil end
  if expression.tag == "name" then
    local variable = expression.variable
    if variable.is_global and variable.name == "nightjar" and #variable.definitions == 0 then return { class = classes.nightjar } end
    if #variable.definitions ~= 1 or not variable.definitions[1] then return nil end
    local value, place = table.unpack(variable.definitions[1])
    if value.tag == "call" or value.tag == "method" then return result_of(value, place, depth) end
    return place == 1 and type_of(value, depth) or nil
  elseif expression.tag == "call" or expression.tag == "method" then
    return result_of(expression, 1, depth)
  elseif expression.tag == "index" and expression.key then
    local object = type_of(expression.object, depth)
    local member = object and object.class and types.member(object.class, expression.key)
    if not member or member.overload then return nil end
    if member[2]:sub(1, 1) == "(" then
      return { signature = types.signature(member[2]), member = member, owner = object.class }
    end
    local class = class_of_type(member[2])
    return class and { class = class } or nil
  end
  return nil
end

types.of = type_of

-- Returns the classes of option tables that a type allows. Returns nil if the type also allows other tables.
function types.options(type_text)
  if not type_text or type_text:find "[{%[(<]" then return nil end
  local found = {}
  for word in type_text:gmatch "[^|]+" do
    word = word:match "^%s*(.-)%??%s*$"
    if word == "table" or word == "any" then return nil end
    local class = classes[word]
    if class then
      if class.kind ~= "options" or #class.members == 0 then return nil end
      found[#found + 1] = class
    end
  end
  return #found > 0 and found or nil
end

-- Returns the class of the values of a type such as table<string, nightjar.x>; nil for other types.
function types.values(type_text)
  local name = type_text and type_text:match "^table<string, (nightjar%.[%w_]+)>$"
  return name and classes[name]
end

return types
