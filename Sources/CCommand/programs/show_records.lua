-- Formats lists of records, such as decoded JSON objects, as tables with one line per record.
local limits = require "nightjar.command.show_limits"
local text = require "nightjar.command.text"
local nightjar = require "nightjar"

local records = {}

local first_columns = { id = 1, name = 2, title = 3, key = 4, type = 5, status = 6 }

local function column_before(a, b)
  local rank_a, rank_b = first_columns[a] or 99, first_columns[b] or 99
  if rank_a ~= rank_b then return rank_a < rank_b end
  return a < b
end

-- Returns whether the value is a list of two or more non-empty tables that have only string keys and in which at least
-- half of all values are scalar. Checks only the tables that records.show shows.
function records.is(value)
  if type(value) ~= "table" then return false end
  local length = rawlen(value)
  if length < 2 then return false end
  local scalars, tables = 0, 0
  for key in next, value do
    if math.type(key) ~= "integer" then return false end
  end
  for index = 1, math.min(length, limits.lines) do
    local record = rawget(value, index)
    if type(record) ~= "table" or next(record) == nil or rawlen(record) > 0 then return false end
    for key, field in next, record do
      if type(key) ~= "string" then return false end
      if type(field) == "table" then tables = tables + 1 else scalars = scalars + 1 end
    end
  end
  return scalars >= tables
end

local function show_cell(value)
  local kind = type(value)
  if value == nil then return "" end
  if value == nightjar.null then return "null" end
  if kind == "table" then
    if next(value) == nil then return "{}" end
    return rawlen(value) > 0 and ("[%d]"):format(rawlen(value)) or "{…}"
  end
  return text.safe(kind == "string" and value:sub(1, 400) or tostring(value))
end

-- Formats records as a table with one line per record. If columns or records are omitted, the last line has the names
-- of these columns and the number of these records.
function records.show(list, paint, width)
  local names, seen, count = {}, {}, math.min(rawlen(list), limits.lines)
  for index = 1, count do
    for name in next, rawget(list, index) do
      if not seen[name] then
        seen[name] = true
        names[#names + 1] = name
      end
    end
  end
  table.sort(names, column_before)
  local columns, used, dropped = {}, 0, {}
  for _, name in ipairs(names) do
    local column = { name = name, cells = {}, is_number = true, width = text.columns(text.safe(name)) }
    for index = 1, count do
      local value = rawget(rawget(list, index), name)
      local cell = text.cut(show_cell(value), limits.column)
      if value ~= nil and type(value) ~= "number" then column.is_number = false end
      column.cells[index] = { text = cell, value = value }
      column.width = math.max(column.width, text.columns(cell))
    end
    if #columns > 0 and used + column.width + 2 > width then
      dropped[#dropped + 1] = text.safe(name)
    else
      if #columns == 0 then column.width = math.min(column.width, width) end
      used = used + column.width + 2
      columns[#columns + 1] = column
    end
  end
  local lines, head = {}, {}
  for index, column in ipairs(columns) do
    local is_last = index == #columns and not column.is_number
    local name = text.cut(text.safe(column.name), column.width)
    head[index] = paint("head", is_last and name or text.pad(name, column.width, column.is_number))
  end
  lines[1] = table.concat(head, "  ")
  for row = 1, count do
    local cells = {}
    for index, column in ipairs(columns) do
      local cell = column.cells[row]
      local shown = text.cut(cell.text, column.width)
      if not (index == #columns and not column.is_number) then shown = text.pad(shown, column.width, column.is_number) end
      local role = cell.value == nightjar.null and "literal" or type(cell.value) == "number" and "number"
        or type(cell.value) == "table" and "dim" or type(cell.value) == "boolean" and "literal"
      cells[index] = role and paint(role, shown) or shown
    end
    lines[#lines + 1] = (table.concat(cells, "  "):gsub(" +$", ""))
  end
  local more = {}
  if rawlen(list) > count then more[#more + 1] = ("%d more records"):format(rawlen(list) - count) end
  if #dropped > 0 then more[#more + 1] = "omitted columns: " .. text.cut(table.concat(dropped, ", "), width) end
  if #more > 0 then lines[#lines + 1] = paint("dim", "… " .. table.concat(more, "; ")) end
  return table.concat(lines, "\n")
end

return records
