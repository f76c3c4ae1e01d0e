-- nightjar.env: reads environment variables as typed values.
local _, native = ...
local misuse, fail, got = native.misuse, native.fail, native.got
local get, is_secret = native.get, native.is_secret
local type, tonumber, tostring, pairs, tointeger = type, tonumber, tostring, pairs, math.tointeger
local find, format, gmatch, lower, match, sub =
  string.find, string.format, string.gmatch, string.lower, string.match, string.sub

local env = {}

local function check_name(name, called)
  if type(name) ~= "string" then
    misuse(format("%s: a name expected, got %s", called, got(name)))
  end
  if name == "" or find(name, "[=\0]") then misuse(format("%s: %q is not a valid name of an environment variable", called, name)) end
  return name
end

-- env.get(name, default) -> the text of the variable; the default if it is not set
function env.get(name, default)
  local value = get(check_name(name, "env.get"))
  if value == nil then return default end
  return value
end

-- Raises an error about the value. The message shows the value unless it is a secret.
local function refuse(name, value, expected)
  if #value > 60 then value = sub(value, 1, 57) .. "..." end
  fail("invalid_argument", format("the environment variable %s must be %s%s", name, expected,
    is_secret(name) and "" or format(", got %q", value)))
end

local WORDS = {
  ["1"] = true, ["true"] = true, yes = true, on = true, ["0"] = false, ["false"] = false, no = false, off = false,
}

local readers = {}

function readers.string(_, value) return value end

function readers.number(name, value)
  local number = find(value, "^%s*[+-]?%.?%d") and not find(value, "[xX]") and tonumber(value)
  return number or refuse(name, value, "a number")
end

function readers.integer(name, value)
  local number = match(value, "^%s*[+-]?%d+%s*$") and tointeger(tonumber(value))
  return number or refuse(name, value, "an integer")
end

function readers.boolean(name, value)
  local word = WORDS[lower(match(value, "^%s*(.-)%s*$"))]
  if word == nil then refuse(name, value, "true or false (or 1, yes, on or 0, no, off)") end
  return word
end

function readers.list(_, value, separator)
  local items = {}
  local others = "[^" .. (separator or ","):gsub("%W", "%%%0") .. "]+"
  for item in gmatch(value, others) do
    item = match(item, "^%s*(.-)%s*$")
    if item ~= "" then items[#items + 1] = item end
  end
  return items
end

-- env.number(name, default), env.integer, env.boolean, env.list(name, default, separator). An empty variable counts as
-- not set.
for kind, read in pairs(readers) do
  if kind ~= "string" then
    env[kind] = function(name, default, separator)
      local value = get(check_name(name, "env." .. kind))
      if value == nil or value == "" then return default end
      if separator ~= nil and (type(separator) ~= "string" or #separator ~= 1) then
        misuse "env.list: the separator must be one byte"
      end
      return read(name, value, separator)
    end
  end
end

local KINDS = { "string", "number", "integer", "boolean", "list" }

-- env.require(name, "string" or "number" or "integer" or "boolean" or "list") -> the value of the variable; raises an
-- error if the variable is not set or empty
function env.require(name, kind)
  check_name(name, "env.require")
  local read = readers[kind or "string"]
  if not read then
    local near = type(kind) == "string" and native.nearest(kind, KINDS)
    misuse(format("env.require: unknown kind %q%s", tostring(kind), near and format("; did you mean %q?", near) or ""))
  end
  local value = get(name)
  if value == nil or value == "" then
    local near = value == nil and native.nearest(name, native.names())
    fail("invalid_argument", format("the environment variable %s %s%s", name, value and "is empty" or "is not set",
      near and near ~= name and format("; did you mean %s, which is set?", near) or ""))
  end
  return read(name, value)
end

return env
