-- Formats Lua values in Lua syntax. Tables are read without metamethods except __tostring.
local limits = require "nightjar.command.show_limits"
local text = require "nightjar.command.text"
local nightjar = require "nightjar"

local values = {}

local function quote(value, most)
  local rest = #value - most
  if rest > 0 then
    while most > 0 and value:byte(most + 1) and value:byte(most + 1) & 0xc0 == 0x80 do most = most - 1 end
    value = value:sub(1, most)
  end
  return '"' .. text.safe((value:gsub('[\\"]', "\\%0"))) .. '"', rest > 0 and (" (%d bytes more)"):format(rest) or ""
end

local function show_function(value)
  local info = debug.getinfo(value, "S")
  if info.what == "C" then
    local name = require("nightjar.command.help").name_of(value)
    return name and "function " .. name or tostring(value)
  end
  return ("%s <%s:%d>"):format(tostring(value), text.safe(info.short_src), info.linedefined)
end

-- Formats a value other than a table.
-- @param most the maximum number of bytes of a string that are shown
function values.scalar(value, paint, most)
  local kind = type(value)
  if kind == "string" then
    local shown, more = quote(value, most)
    return paint("string", shown) .. paint("dim", more)
  elseif kind == "number" then
    return paint("number", tostring(value))
  elseif value == nightjar.null then
    return paint("literal", "null")
  elseif kind == "nil" or kind == "boolean" then
    return paint("literal", tostring(value))
  elseif kind == "function" then
    return paint("dim", show_function(value))
  elseif kind == "userdata" then
    local ok, described = pcall(tostring, value)
    return text.cut(text.safe(ok and described or "userdata"):gsub("\\n.*", " …"), 200)
  end
  return paint("dim", text.safe(tostring(value)))
end

-- --- Tables ---

local words = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true until
  while]]):gmatch "%a+" do words[word] = true end

local function show_key(key, paint)
  if type(key) == "string" then
    if key:find "^[%a_][%w_]*$" and not words[key] then return paint("key", key) end
    local quoted = quote(key, 200)
    return "[" .. paint("key", quoted) .. "]"
  end
  return "[" .. values.scalar(key, paint, 200) .. "]"
end

local ranks = { number = 1, string = 2, boolean = 3 }

local function comes_before(a, b)
  local rank_a, rank_b = ranks[type(a)] or 4, ranks[type(b)] or 4
  if rank_a ~= rank_b then return rank_a < rank_b end
  if rank_a <= 2 then return a < b end
  return tostring(a) < tostring(b)
end

-- Returns the sorted keys outside of the list part, the length of the list part, and the number of omitted keys.
local function keys_of(value, most)
  local length = rawlen(value)
  local keys, count = {}, 0
  for key in next, value do
    if not (math.type(key) == "integer" and key >= 1 and key <= length) then
      count = count + 1
      keys[count] = key
    end
  end
  table.sort(keys, comes_before)
  for index = most + 1, count do keys[index] = nil end
  return keys, length, math.max(count - most, 0)
end

local show_table

-- Formats any value.
local function show_any(value, state, indent, depth)
  if type(value) ~= "table" then return values.scalar(value, state.paint, limits.string) end
  return show_table(value, state, indent, depth)
end

local function plain(line) return (line:gsub("\27%[[%d;]*m", "")) end

function show_table(value, state, indent, depth)
  local paint = state.paint
  local meta = debug.getmetatable(value)
  if type(meta) == "table" and rawget(meta, "__tostring") ~= nil then
    local ok, described = pcall(tostring, value)
    if ok then return text.safe(described) end
  end
  if next(value) == nil then return "{}" end
  if state.open[value] then return paint("dim", "<cycle>") end
  if depth > limits.depth then return paint("dim", "{…}") end
  state.budget = state.budget - 1
  if state.budget < 0 then return paint("dim", "{…}") end
  state.open[value] = true
  local keys, length, left_out = keys_of(value, limits.entries)
  local pieces = {}
  for index = 1, math.min(length, limits.entries) do
    pieces[#pieces + 1] = show_any(rawget(value, index), state, indent .. "  ", depth + 1)
  end
  if length > limits.entries then
    pieces[#pieces + 1] = paint("dim", ("… %d more"):format(length - limits.entries))
  end
  for _, key in ipairs(keys) do
    pieces[#pieces + 1] = show_key(key, paint) .. " = " .. show_any(rawget(value, key), state, indent .. "  ", depth + 1)
  end
  if left_out > 0 then pieces[#pieces + 1] = paint("dim", ("… %d more fields"):format(left_out)) end
  state.open[value] = nil
  local line = "{ " .. table.concat(pieces, ", ") .. " }"
  if not line:find("\n", 1, true) and #indent + text.columns(plain(line)) <= state.width then return line end
  return "{\n" .. indent .. "  " .. table.concat(pieces, ",\n" .. indent .. "  ") .. "\n" .. indent .. "}"
end

-- Formats a table, on one line if it fits into the width.
function values.table(value, paint, width)
  return show_table(value, { paint = paint, width = width, open = {}, budget = 2000 }, "", 1)
end

return values
