-- The schema of a GraphQL service: an introspection query, and its result in the schema definition language (SDL).
-- GraphQL specification sections 3 and 4.
local schema = {}

-- The query of the specification of June 2018, which all servers support.
schema.query = [[
query IntrospectionQuery {
  __schema {
    queryType { name } mutationType { name } subscriptionType { name }
    types { ...full }
    directives { name description locations args { ...input } }
  }
}
fragment full on __Type {
  kind name description
  fields(includeDeprecated: true) { name description args { ...input } type { ...type } isDeprecated deprecationReason }
  inputFields { ...input }
  interfaces { ...type }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
  possibleTypes { ...type }
}
fragment input on __InputValue { name description type { ...type } defaultValue }
fragment type on __Type {
  kind name
  ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
    ofType { kind name } } } } } } }
}]]

-- The definitions that every service has.
local built_in = { Int = true, Float = true, String = true, Boolean = true, ID = true }
local built_in_directives = { skip = true, include = true, deprecated = true, specifiedBy = true, oneOf = true }
local default_roots = { queryType = "Query", mutationType = "Mutation", subscriptionType = "Subscription" }

-- Returns a list of the value; an empty one for null, which is userdata.
local function list(value) return type(value) == "table" and value or {} end
local function is_text(value) return type(value) == "string" end

-- Returns the name of a type such as [String!]!.
local function reference(kind)
  if kind.kind == "NON_NULL" then return reference(kind.ofType) .. "!" end
  if kind.kind == "LIST" then return "[" .. reference(kind.ofType) .. "]" end
  return kind.name
end

-- Returns the text as a string literal.
local function literal(value)
  return '"' .. value:gsub('[\\"]', "\\%0"):gsub("%c", function(letter) return ("\\u%04x"):format(letter:byte()) end) .. '"'
end

-- Returns the description of a definition as a block string.
local function description(value, indent)
  if not is_text(value) or value == "" then return "" end
  local lines = {}
  for line in (value:gsub("\r\n?", "\n"):gsub('"""', '\\"""') .. "\n"):gmatch "([^\n]*)\n" do
    lines[#lines + 1] = line ~= "" and indent .. line or ""
  end
  -- A last line that ends with a quote or a backslash must not touch the end of the block.
  if #lines == 1 and not value:find '["\\]$' and #value <= 70 then return ('%s"""%s"""\n'):format(indent, lines[1]:sub(#indent + 1)) end
  return ('%s"""\n%s\n%s"""\n'):format(indent, table.concat(lines, "\n"), indent)
end

local function deprecation(field)
  if field.isDeprecated ~= true then return "" end
  local reason = field.deprecationReason
  if not is_text(reason) or reason == "No longer supported" then return " @deprecated" end
  return (" @deprecated(reason: %s)"):format(literal(reason))
end

local function input(value)
  local default = is_text(value.defaultValue) and " = " .. value.defaultValue or ""
  return ("%s: %s%s"):format(value.name, reference(value.type), default)
end

-- Returns the arguments of a field or a directive: in one line unless one has a description.
local function arguments(values, indent)
  local parts, is_long = {}, false
  for _, value in ipairs(list(values)) do is_long = is_long or is_text(value.description) and value.description ~= "" end
  for place, value in ipairs(list(values)) do
    parts[place] = is_long and description(value.description, indent .. "  ") .. indent .. "  " .. input(value) or input(value)
  end
  if #parts == 0 then return "" end
  return is_long and "(\n" .. table.concat(parts, "\n") .. "\n" .. indent .. ")" or "(" .. table.concat(parts, ", ") .. ")"
end

-- Returns the members of a type in braces, one in each line.
local function block(members, line)
  local lines = {}
  for place, member in ipairs(list(members)) do lines[place] = description(member.description, "  ") .. "  " .. line(member) end
  return #lines > 0 and " {\n" .. table.concat(lines, "\n") .. "\n}" or ""
end

local function field(value) return value.name .. arguments(value.args, "  ") .. ": " .. reference(value.type) .. deprecation(value) end
local function enum_value(value) return value.name .. deprecation(value) end

local function names(types, separator)
  local found = {}
  for place, each in ipairs(list(types)) do found[place] = each.name end
  return table.concat(found, separator)
end

local function object(keyword)
  return function(kind)
    local interfaces = names(kind.interfaces, " & ")
    return keyword .. kind.name .. (interfaces ~= "" and " implements " .. interfaces or "") .. block(kind.fields, field)
  end
end

local writers = {
  SCALAR = function(kind) return "scalar " .. kind.name end,
  OBJECT = object "type ", INTERFACE = object "interface ",
  UNION = function(kind)
    local types = names(kind.possibleTypes, " | ")
    return "union " .. kind.name .. (types ~= "" and " = " .. types or "")
  end,
  ENUM = function(kind) return "enum " .. kind.name .. block(kind.enumValues, enum_value) end,
  INPUT_OBJECT = function(kind) return "input " .. kind.name .. block(kind.inputFields, input) end,
}

-- Returns the root types; nothing if all have the default names.
local function roots(value)
  local lines, is_default = {}, true
  for _, name in ipairs { "queryType", "mutationType", "subscriptionType" } do
    local root = type(value[name]) == "table" and value[name].name
    if root then
      lines[#lines + 1] = ("  %s: %s"):format(name:gsub("Type$", ""), root)
      is_default = is_default and root == default_roots[name]
    end
  end
  return not is_default and "schema {\n" .. table.concat(lines, "\n") .. "\n}" or nil
end

-- Returns the value of __schema in the schema definition language, with the definitions in the order of the server.
-- Raises an error if the value is not a schema.
function schema.sdl(value)
  local parts = { roots(value) }
  for _, directive in ipairs(list(value.directives)) do
    if not built_in_directives[directive.name] then
      parts[#parts + 1] = ("%sdirective @%s%s on %s"):format(description(directive.description, ""), directive.name,
        arguments(directive.args, ""), table.concat(list(directive.locations), " | "))
    end
  end
  for _, kind in ipairs(value.types) do
    if not built_in[kind.name] and kind.name:sub(1, 2) ~= "__" then
      parts[#parts + 1] = description(kind.description, "") .. writers[kind.kind](kind)
    end
  end
  return table.concat(parts, "\n\n") .. "\n"
end

return schema
