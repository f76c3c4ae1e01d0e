-- nightjar.csv: reads and writes CSV, RFC 4180.
local nightjar, native = ...
local misuse, fail, check_options, got = native.misuse, native.fail, native.options, native.got
local row_reader, character, escaped = native.reader.rows, native.reader.character, native.reader.escaped
local null = nightjar.null
local type, tostring, tonumber, pairs, ipairs, math_type = type, tostring, tonumber, pairs, ipairs, math.type
local find, format, gsub = string.find, string.format, string.gsub
local concat, sort = table.concat, table.sort

local csv = {}

local READING = {
  separator = "string", quote = "string", header = "boolean or table", skip = "integer", ragged = "boolean",
  lenient = "boolean", lines = "boolean", max_row = "integer",
}
local WRITING = {
  separator = "string", quote = "string", columns = "table", header = "boolean", line_end = "string",
  quote_all = "boolean", safe = "boolean",
}

-- --- Reading ---

-- Returns a function that returns the pieces of the source: a string is one piece; a function is called for each piece
-- until it returns nil.
local function pieces_of(source, name, lines)
  if type(source) == "string" then
    return function()
      local text = source
      source = nil
      return text
    end
  end
  if type(source) == "table" or type(source) == "userdata" then
    misuse(format("%s: a string or a function expected, got %s; an iterator such as res:chunks() is a function", name,
      type(source)))
  end
  if type(source) ~= "function" then
    misuse(format("%s: a string or a function expected, got %s", name, got(source)))
  end
  local is_over = false -- A finished source, such as the lines of a file, must not be called again.
  return function()
    local text
    if not is_over then text = source() end
    is_over = text == nil
    if is_over then return nil end
    if type(text) ~= "string" then misuse(format("%s: the function must return strings, got %s", name, type(text))) end
    return lines and text .. "\n" or text
  end
end

local function check_names(names, what, refuse)
  local seen = {}
  for _, name in ipairs(names) do
    if type(name) ~= "string" then misuse(format("%s must be a list of strings, got a %s", what, type(name))) end
    if seen[name] then refuse(format("%s has %q twice", what, name)) end
    seen[name] = true
  end
  return names
end

-- csv.rows(source, options) -> an iterator of rows: lists of strings or, with a header, tables by column name
function csv.rows(source, options)
  options = check_options("csv.rows", options, READING)
  if options.max_row and options.max_row < 1 then misuse "csv.rows: option 'max_row' must be at least 1" end
  local read = row_reader(pieces_of(source, "csv.rows", options.lines), options)
  local names = type(options.header) == "table" and check_names(options.header, "csv.rows: the header", misuse)
  local skip = options.skip or 0
  local ragged = options.ragged
  return function()
    while skip > 0 do
      skip = skip - 1
      if not read() then return nil end
    end
    if options.header == true and not names then
      local header, line = read()
      if not header then return nil end
      names = check_names(header, "the header", function(what)
        fail("decoding",
          format("CSV parsing failed: %s at line %d; set header to a list of names and skip = 1", what, line))
      end)
    end
    local fields, line = read()
    if not fields then return nil end
    if not names then return fields end
    if #fields ~= #names and not ragged then
      fail("decoding", format("CSV parsing failed: the row at line %d has %d fields, but the header has %d"
        .. "; set ragged = true to accept it", line, #fields, #names))
    end
    local record = {}
    for place = 1, #names do record[names[place]] = fields[place] end
    return record
  end
end

-- csv.parse(text, options) -> a list of all rows
function csv.parse(text, options)
  if type(text) ~= "string" then
    misuse(format("csv.parse: a string expected, got %s; csv.rows reads from a function", got(text)))
  end
  check_options("csv.parse", options, READING)
  local rows, count = {}, 0
  for row in csv.rows(text, options) do
    count = count + 1
    rows[count] = row
  end
  return rows
end

-- --- Writing ---

-- Returns the text of a field, with an apostrophe in front if spreadsheets would interpret the field as a formula. A
-- formula could send the contents of other fields to a server. Numbers are not changed.
local function defused(text)
  if find(text, "^[=+@\t\r-]") and not find(text, "^[+-]?%d[%d.,]*$") then return "'" .. text end
  return text
end

-- Returns a short decimal text that converts back to the number.
local function number_text(value)
  if math_type(value) == "integer" then return tostring(value) end
  if value % 1 == 0 and value > -2 ^ 53 and value < 2 ^ 53 then return format("%d", value) end
  local text = format("%.15g", value)
  return tonumber(text) == value and text or format("%.17g", value)
end

-- Returns a function that writes the fields 1 to `count` of a list as a line.
local function line_writer(name, options)
  local separator, quote = character("separator", options, ","), character("quote", options, '"')
  local needs_quotes = "[\r\n" .. escaped(separator) .. escaped(quote) .. "]"
  local a_quote, doubled = escaped(quote), { [quote] = quote .. quote }
  local line_end = options.line_end or "\r\n"
  if line_end ~= "\r\n" and line_end ~= "\n" then misuse(format([[%s: line_end must be "\r\n" or "\n"]], name)) end

  local function field(value, place, names)
    local text
    if type(value) == "string" then
      text = options.safe and defused(value) or value
    elseif value == nil or value == null then
      text = ""
    elseif type(value) == "number" then
      text = number_text(value)
    elseif type(value) == "boolean" then
      text = tostring(value)
    else
      local called = names and names[place] or tostring(place)
      misuse(format("%s: field %s is a %s; CSV fields must be strings, numbers or booleans", name, called, type(value)))
    end
    if options.quote_all or find(text, needs_quotes) or find(text, "^%s") or find(text, "%s$") then
      return quote .. gsub(text, a_quote, doubled) .. quote
    end
    return text
  end

  return function(values, count, names)
    local fields = {}
    for place = 1, count do fields[place] = field(values[place], place, names) end
    if count == 1 and fields[1] == "" then fields[1] = quote .. quote end -- otherwise the line would be empty
    return concat(fields, separator) .. line_end
  end
end

local function is_record(row)
  for key in pairs(row) do
    if type(key) == "string" and key ~= "n" then return true end
  end
  return false
end

-- Returns the names of a record in byte order, so that the same rows always produce the same text.
local function names_of(row, name)
  local names = {}
  for key in pairs(row) do
    if type(key) ~= "string" then
      misuse(format("%s: a row has both names and indices; use either a list or a record", name))
    end
    names[#names + 1] = key
  end
  sort(names)
  return names
end

-- Returns a function that returns the text of a row, preceded by the header for the first row.
local function row_writer(name, options)
  local write = line_writer(name, options)
  local columns = options.columns and check_names(options.columns, name .. ": columns", misuse)
  local allowed -- set if the first record determines the columns: later records must not have other names
  local is_first = true
  return function(row)
    if type(row) ~= "table" then misuse(format("%s: a row must be a table, got %s", name, type(row))) end
    local text = ""
    local is_of_names = is_record(row)
    if is_first then
      is_first = false
      if is_of_names and not columns then
        columns, allowed = names_of(row, name), {}
        for _, column in ipairs(columns) do allowed[column] = true end
      end
      if columns and options.header ~= false then text = write(columns, #columns) end
    end
    if not is_of_names then
      local count = type(row.n) == "number" and row.n or #row
      if columns and count > #columns then
        misuse(format("%s: a row has %d fields, but there are %d columns", name, count, #columns))
      end
      return text .. write(row, columns and #columns or count, columns)
    end
    if not columns then misuse(format("%s: a record follows lists; set columns = {...}", name)) end
    if allowed then
      for key in pairs(row) do
        if not allowed[key] then
          misuse(format("%s: a row has the field %q, which the first row does not have; set columns = {...}", name,
            tostring(key)))
        end
      end
    end
    local values = {}
    for place, column in ipairs(columns) do values[place] = row[column] end
    return text .. write(values, #columns, columns)
  end
end

-- csv.write(rows, options) -> text. `rows` is a list of rows, or a function that returns one row per call and nil at
-- the end.
function csv.write(rows, options)
  options = check_options("csv.write", options, WRITING)
  local write = row_writer("csv.write", options)
  local lines = {}
  if type(rows) == "function" then
    for row in rows do lines[#lines + 1] = write(row) end
  elseif type(rows) == "table" then
    for place, row in ipairs(rows) do lines[place] = write(row) end
  else
    misuse(format("csv.write: a list of rows or a function expected, got %s", got(rows)))
  end
  if #lines == 0 and options.columns and options.header ~= false then
    return line_writer("csv.write", options)(options.columns, #options.columns)
  end
  return concat(lines)
end

-- csv.writer(put, options) -> a function that passes the text of each row to `put`
function csv.writer(put, options)
  if type(put) ~= "function" then
    misuse(format("csv.writer: a function expected, got %s", got(put)))
  end
  local write = row_writer("csv.writer", check_options("csv.writer", options, WRITING))
  return function(row) put(write(row)) end
end

return csv
