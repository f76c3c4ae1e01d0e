-- The output formats of the command: JSON, NDJSON, CSV, a table, or the unchanged body. Only output to a terminal has
-- colors and is truncated.
local nightjar = require "nightjar"
local bodies = require "nightjar.command.show_bodies"
local json_text = require "nightjar.command.json_text"
local limits = require "nightjar.command.show_limits"
local show = require "nightjar.command.show"
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"

local output = {}

-- The width of a table if there is no terminal.
local unbounded = 1 << 30

-- The number of items read before the header of CSV output is written.
local most_ahead = 1000

function output.is_terminal() return terminal.is_terminal(1) end

function output.painter() return text.painter(text.has_colors(1)) end

-- Raises the limits that apply at the prompt. Output to a terminal keeps a maximum width of columns.
function output.show_all()
  limits.depth, limits.entries, limits.lines, limits.string = 100, unbounded, unbounded, unbounded
  limits.column = output.is_terminal() and 60 or unbounded
end

local function line(bytes)
  io.stdout:write(bytes)
  if bytes:sub(-1) ~= "\n" then io.stdout:write "\n" end
end

-- --- One JSON text ---

local writers = {}

function writers.json(value) line(bodies.json(value, output.painter()) or value) end

-- Writes a list as one line per item.
function writers.ndjson(value)
  if json_text.kind(value) ~= "array" then return line(json_text.compact(value)) end
  for _, item in json_text.parts(value) do line(json_text.compact(item)) end
end

-- Writes a string without quotes, and any other value unchanged.
function writers.raw(value)
  if value:find '^%s*"' then return line(nightjar.json.decode(value)) end
  line(value)
end

-- Returns the records of a JSON text: one for each element of a list, otherwise a single record. A value that is not an
-- object becomes a record with one field.
local function records(value)
  local list = {}
  local function add(item)
    local record = { names = {}, cells = {}, texts = {} }
    if json_text.kind(item) == "object" then
      for name, part in json_text.parts(item) do
        if record.cells[name] == nil then record.names[#record.names + 1] = name end
        record.cells[name], record.texts[name] = json_text.cell(part), part
      end
    else
      record.names[1], record.cells.value, record.texts.value = "value", json_text.cell(item), item
    end
    list[#list + 1] = record
  end
  if json_text.kind(value) == "array" then
    for _, item in json_text.parts(value) do add(item) end
  else
    add(value)
  end
  return list
end

local function columns_of(list)
  local columns, known = {}, {}
  for _, record in ipairs(list) do
    for _, name in ipairs(record.names) do
      if not known[name] then
        known[name] = true
        columns[#columns + 1] = name
      end
    end
  end
  return columns, known
end

local function csv_writer(columns)
  return nightjar.csv.writer(function(row) io.stdout:write(row) end, { columns = columns, line_end = "\n" })
end

function writers.csv(value)
  local list = records(value)
  local columns = columns_of(list)
  if #columns == 0 then return end
  local write = csv_writer(columns)
  for _, record in ipairs(list) do write(record.cells) end
end

local function table_text(list, columns)
  local paint, width = output.painter(), output.is_terminal() and terminal.width() or unbounded
  local rows, widths, are_numbers = {}, {}, {}
  for place, name in ipairs(columns) do
    widths[place], are_numbers[place] = text.columns(text.safe(name)), true
    for row, record in ipairs(list) do
      local cell = text.cut(text.safe(record.cells[name] or ""), limits.column)
      rows[row] = rows[row] or {}
      rows[row][place] = cell
      widths[place] = math.max(widths[place], text.columns(cell))
      local part = record.texts[name]
      if part and part ~= "null" and not part:find "^%-?%d" then are_numbers[place] = false end
    end
  end
  local names, shown, left_out, used = {}, {}, {}, 0
  for place, name in ipairs(columns) do
    names[place] = text.safe(name)
    if place > 1 and used + widths[place] > width then
      left_out[#left_out + 1] = names[place]
    else
      shown[#shown + 1] = place
      used = used + widths[place] + 2
    end
  end
  local function row_text(cells, role)
    local pieces = {}
    for index, place in ipairs(shown) do
      local piece = text.cut(cells[place], width)
      if index < #shown or are_numbers[place] then piece = text.pad(piece, math.min(widths[place], width), are_numbers[place]) end
      pieces[index] = role and paint(role, piece) or piece
    end
    return (table.concat(pieces, "  "):gsub(" +$", ""))
  end
  local lines = { row_text(names, "head") }
  for _, cells in ipairs(rows) do lines[#lines + 1] = row_text(cells) end
  if #left_out > 0 then lines[#lines + 1] = paint("dim", "… omitted columns: " .. table.concat(left_out, ", ")) end
  return table.concat(lines, "\n")
end

function writers.table(value)
  local list = records(value)
  local columns = columns_of(list)
  if #columns > 0 then line(table_text(list, columns)) end
end

-- Writes a JSON text in one of the command's formats.
function output.json(value, format) writers[format](value) end

-- --- Items of a stream ---

local streams = {}

function streams.ndjson()
  return function(item) line(json_text.compact(item)) end, function() end
end
streams.raw = streams.ndjson

function streams.json()
  local is_first = true
  return function(item)
    io.stdout:write(is_first and "[\n" or ",\n", bodies.json(item, output.painter()) or item)
    is_first = false
  end, function() line(is_first and "[]" or "\n]") end
end

-- Writes items as CSV. The first items determine the header. Fields that first occur in later items are omitted; the
-- first such field is reported.
function streams.csv()
  local ahead, write, known, has_reported = {}, nil, nil, false
  local function put(record)
    for _, name in ipairs(record.names) do
      if not known[name] and not has_reported then
        has_reported = true
        io.stderr:write(("nightjar: items have a field \"%s\", which the first %d do not have; such fields are omitted\n"):format(
          text.safe(name), most_ahead))
      end
    end
    write(record.cells)
  end
  local function begin()
    local columns
    columns, known = columns_of(ahead)
    if #columns == 0 then return end
    write = csv_writer(columns)
    for _, record in ipairs(ahead) do put(record) end
    ahead = nil
  end
  return function(item)
    local record = records("[" .. item .. "]")[1]
    if not ahead then return put(record) end
    ahead[#ahead + 1] = record
    if #ahead >= most_ahead then begin() end
  end, function() if ahead then begin() end end
end

function streams.table()
  local list = {}
  return function(item) list[#list + 1] = records("[" .. item .. "]")[1] end, function()
    local columns = columns_of(list)
    if #columns > 0 then line(table_text(list, columns)) end
  end
end

-- Returns a function that writes an item given as JSON text, and a function that ends the output.
function output.stream(format) return streams[format]() end

-- --- Messages ---

-- Returns status and header fields in HTTP form, optionally with credentials masked.
function output.head(res, masks)
  local paint = output.painter()
  local role = res.status < 300 and "good" or res.status < 400 and "warn" or "bad"
  local lines = { paint(role, ("HTTP/%s %d %s"):format(res.http_version, res.status, show.reason(res.status)):gsub(" $", "")) }
  for name, value in pairs(res.headers) do
    if masks and require("nightjar.command.profiles").is_secret(name) then value = "***" end
    lines[#lines + 1] = paint("key", text.safe(name)) .. ": " .. text.safe(value)
  end
  return table.concat(lines, "\n") .. "\n"
end

-- Splits a curl command line into words, as a shell does. Supports only the quoting that the library uses.
local function shell_words(command)
  local words, position = {}, 1
  while true do
    position = command:find("%S", position)
    if not position then return words end
    local pieces = {}
    while position <= #command and not command:find("^%s", position) do
      local piece, stop = command:match("^'([^']*)'()", position)
      if not piece then piece, stop = command:match("^\\(.)()", position) end
      if not piece then
        piece, stop = command:match([[^"%$%(printf '([\\%d]*)'%)"()]], position)
        piece = piece and piece:gsub("\\(%d%d%d)", function(digits) return string.char(tonumber(digits, 8)) end)
      end
      if not piece then piece, stop = command:match("^([^'\\%s]+)()", position) end
      if not piece then return words end
      pieces[#pieces + 1] = piece
      position = stop
    end
    words[#words + 1] = table.concat(pieces)
  end
end

local flags = { ["--compressed"] = true, ["--globoff"] = true, ["--path-as-is"] = true, ["--head"] = true, ["--insecure"] = true }

-- Returns the request of a response or an error in HTTP form, with secrets masked. Derives it from the curl command line.
-- `version` is the version of HTTP; 1.1 by default.
function output.request(outcome, version)
  local words = shell_words(outcome:curl() or "")
  local method, url, body, fields, place = nil, nil, nil, {}, 2
  while place <= #words do
    local word = words[place]
    if word == "-H" or word == "--header" then
      place = place + 1
      -- A field in the form "Name;" is a header with an empty value; a field in the form "Name:" prevents a header that
      -- curl would add.
      if words[place]:sub(-1) == ";" and not words[place]:find(":", 1, true) then
        fields[#fields + 1] = words[place]:sub(1, -2) .. ":"
      elseif not words[place]:find ":$" then
        fields[#fields + 1] = words[place]
      end
    elseif word == "-X" or word == "--request" then
      place = place + 1
      method = words[place]
    elseif word == "--head" then
      method = "HEAD"
    elseif word:find "^%-%-data" then
      place = place + 1
      body = words[place]
      if body == "@-" and word == "--data-binary" then body = "(binary body)" end
    elseif word:find "^%-" then
      if not flags[word] then place = place + 1 end
    else
      url = word
    end
    place = place + 1
  end
  if not url then return nil end
  local scheme, host, path = url:match "^(%w+)://([^/?#]*)(.*)$"
  local paint = output.painter()
  local lines = { paint("head", ("%s %s HTTP/%s"):format(method or body and "POST" or "GET",
    text.safe(path ~= "" and path or "/"), version or "1.1")) }
  lines[2] = paint("key", "Host") .. ": " .. text.safe(host or "")
  for _, field in ipairs(fields) do
    local name, value = field:match "^([^:]*):(.*)$"
    lines[#lines + 1] = paint("key", text.safe(name)) .. ":" .. text.safe(value)
  end
  local head = table.concat(lines, "\n") .. "\n\n"
  if not body or body == "" then return head, scheme end
  return head .. (bodies.json(body, paint) or bodies.lines(body, paint)) .. "\n\n", scheme
end

return output
