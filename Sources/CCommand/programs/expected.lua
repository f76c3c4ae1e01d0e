-- For .save test: converts the result of an expression at the prompt to Lua text that a test compares with.
local nightjar = require "nightjar"

local expected = {}

-- The maximum size in bytes of a value that a test compares completely, and of a body that contains such a value; and
-- the maximum depth of a value.
local longest_value, longest_body, deepest = 1024, 8192, 20

function expected.string_literal(value) return (("%q"):format(value):gsub("\\\n", "\\n")) end

local function number_literal(value)
  if math.type(value) == "integer" then return ("%q"):format(value) end
  if value ~= value or value == math.huge or value == -math.huge then return nil end
  return ("%.17g"):format(value)
end

-- Returns whether a table has no metamethods that affect its content. Tables decoded from JSON have none.
local function is_plain(value)
  local meta = debug.getmetatable(value)
  if not meta then return true end
  for _, name in ipairs { "__index", "__pairs", "__len", "__eq" } do
    if rawget(meta, name) ~= nil then return false end
  end
  return true
end

local literal

local function table_literal(value, depth, budget)
  local keys, pieces, count = {}, {}, rawlen(value)
  if depth > deepest or count > longest_value or not is_plain(value) then return nil end
  for key in next, value do
    if math.type(key) ~= "integer" or key < 1 or key > count then
      if type(key) ~= "string" then return nil end
      keys[#keys + 1] = key
    end
    if #keys > longest_value then return nil end
  end
  table.sort(keys)
  local function add(name, item)
    local text = literal(item, depth + 1, budget)
    if not text then return false end
    pieces[#pieces + 1] = name .. text
    budget.left = budget.left - #name - 2
    return budget.left >= 0
  end
  for index = 1, count do
    if not add("", rawget(value, index)) then return nil end
  end
  for _, key in ipairs(keys) do
    local is_name = key:find "^[%a_][%w_]*$" and load(key .. " = 1")
    if not add(is_name and key .. " = " or ("[%s] = "):format(expected.string_literal(key)), rawget(value, key)) then return nil end
  end
  return #pieces == 0 and "{}" or "{ " .. table.concat(pieces, ", ") .. " }"
end

-- Returns the value as Lua text; nil if it has no literal form or is too long.
function literal(value, depth, budget)
  local kind, text = type(value), nil
  if kind == "string" then
    text = #value <= budget.left and utf8.len(value) and expected.string_literal(value) or nil
  elseif kind == "number" then
    text = number_literal(value)
  elseif kind == "nil" or kind == "boolean" then
    text = tostring(value)
  elseif rawequal(value, nightjar.null) then
    text = "nightjar.null"
  elseif kind == "table" then
    return table_literal(value, depth, budget)
  end
  if not text then return nil end
  budget.left = budget.left - #text
  return budget.left >= 0 and text or nil
end

function expected.literal(value) return literal(value, 1, { left = longest_value }) end

local function kind_of(value)
  local meta = type(value) == "userdata" and debug.getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__name") or nil
end

-- Returns the expectations for the result of an expression: a list of { suffix, literal, prefix or nil }. A test
-- compares the expression prefix .. "_" .. suffix with the literal. Must be called immediately after the evaluation,
-- because the value may change later.
function expected.of(value)
  if kind_of(value) == "nightjar.response" then
    local found = { { ".status", tostring(value.status) } }
    local ok, json = pcall(function()
      local is_json = tostring(value.headers["content-type"] or ""):find "json"
      return is_json and #value.body <= longest_body and expected.literal(value.json)
    end)
    if ok and json then found[2] = { ".json", json } end
    return found
  end
  local text = expected.literal(value)
  -- A memory address differs in each run.
  if text and not text:find "0x%x%x%x%x" then return { { "", text } } end
  if type(value) == "table" and is_plain(value) and #value > 0 then return { { "", tostring(#value), "#" } } end
  return {}
end

return expected
