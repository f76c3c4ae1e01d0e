-- Formats values for the prompt. The output is limited in depth, width and length, and states what was omitted; control
-- characters are escaped. Tables are read raw: formatting runs no code of a script except __tostring.
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"
local nightjar = require "nightjar"

local show = {}

-- Limits of the output; print and res.text show everything.
show.most = {
  depth = 6,      -- of tables within tables
  entries = 100,  -- of one table
  lines = 60,     -- of a text, a body or a table of records
  string = 1000,  -- bytes of a string within a table
  column = 40,    -- columns of a cell in a table of records
}

local kept_in_text = { ["\n"] = true, ["\t"] = true }

-- --- Scalars ---

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

-- Returns the type name of a userdata, such as "nightjar.response"; nil if it has none.
function show.kind(value)
  local meta = debug.getmetatable(value)
  local name = type(value) == "userdata" and type(meta) == "table" and rawget(meta, "__name")
  return type(name) == "string" and name or nil
end

local function show_scalar(value, paint, most)
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
  return "[" .. show_scalar(key, paint, 200) .. "]"
end

local ranks = { number = 1, string = 2, boolean = 3 }

local function comes_before(a, b)
  local rank_a, rank_b = ranks[type(a)] or 4, ranks[type(b)] or 4
  if rank_a ~= rank_b then return rank_a < rank_b end
  if rank_a <= 2 then return a < b end
  return tostring(a) < tostring(b)
end

-- Returns the keys outside of the list part, sorted; the length of the list; and the number of omitted keys.
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
  if type(value) ~= "table" then return show_scalar(value, state.paint, show.most.string) end
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
  if depth > show.most.depth then return paint("dim", "{…}") end
  state.budget = state.budget - 1
  if state.budget < 0 then return paint("dim", "{…}") end
  state.open[value] = true
  local keys, length, left_out = keys_of(value, show.most.entries)
  local pieces = {}
  for index = 1, math.min(length, show.most.entries) do
    pieces[#pieces + 1] = show_any(rawget(value, index), state, indent .. "  ", depth + 1)
  end
  if length > show.most.entries then
    pieces[#pieces + 1] = paint("dim", ("… %d more"):format(length - show.most.entries))
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

-- --- Tables of records ---

local first_columns = { id = 1, name = 2, title = 3, key = 4, type = 5, status = 6 }

local function column_before(a, b)
  local rank_a, rank_b = first_columns[a] or 99, first_columns[b] or 99
  if rank_a ~= rank_b then return rank_a < rank_b end
  return a < b
end

-- Whether the value is a list of two or more tables with only string keys and mostly scalar values.
function show.is_records(value)
  if type(value) ~= "table" then return false end
  local length = rawlen(value)
  if length < 2 then return false end
  local scalars, tables = 0, 0
  for key in next, value do
    if math.type(key) ~= "integer" then return false end
  end
  for index = 1, math.min(length, show.most.lines) do
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

-- Formats records as a table with one line per record. Columns that do not fit and omitted records are stated.
function show.records(records, paint, width)
  local names, seen, count = {}, {}, math.min(rawlen(records), show.most.lines)
  for index = 1, count do
    for name in next, rawget(records, index) do
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
      local value = rawget(rawget(records, index), name)
      local cell = text.cut(show_cell(value), show.most.column)
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
  if rawlen(records) > count then more[#more + 1] = ("%d more records"):format(rawlen(records) - count) end
  if #dropped > 0 then more[#more + 1] = "omitted columns: " .. text.cut(table.concat(dropped, ", "), width) end
  if #more > 0 then lines[#lines + 1] = paint("dim", "… " .. table.concat(more, "; ")) end
  return table.concat(lines, "\n")
end

-- --- Texts ---

-- Formats the first lines of a text.
function show.lines(body, paint, hint)
  local lines, position = {}, 1
  while position <= #body and #lines < show.most.lines do
    local stop = body:find("\n", position, true) or #body + 1
    local line = body:sub(position, stop - 1):gsub("\r$", "")
    if #line > show.most.string then
      local shown = line:sub(1, show.most.string):gsub("[\xc0-\xff][\x80-\xbf]*$", "")
      line = text.safe(shown, kept_in_text) .. paint("dim", (" … %d bytes more"):format(#line - #shown))
    else
      line = text.safe(line, kept_in_text)
    end
    lines[#lines + 1] = line
    position = stop + 1
  end
  if position <= #body then
    lines[#lines + 1] = paint("dim", ("… %s more%s"):format(text.bytes(#body - position + 1), hint or ""))
  end
  return table.concat(lines, "\n")
end

-- Formats JSON with one line per member, keeping the order and number formats; nil if it is not valid JSON. Reads only
-- as much as is shown.
function show.json(body, paint, hint)
  local out, line, depth, position, most = {}, {}, 0, 1, show.most.lines
  local pending_key = false
  local function flush()
    out[#out + 1] = table.concat(line)
    line = { ("  "):rep(math.min(depth, 20)) }
  end
  local stack = {}
  while true do
    position = body:find("[^ \t\r\n]", position)
    if not position then break end
    if #out >= most then
      out[#out + 1] = paint("dim", ("… %s more%s"):format(text.bytes(#body - position + 1), hint or ""))
      return table.concat(out, "\n")
    end
    local byte = body:sub(position, position)
    if byte == "{" or byte == "[" then
      local close = byte == "{" and "}" or "]"
      local stop = body:match("^[ \t\r\n]*%" .. close .. "()", position + 1)
      if stop then
        line[#line + 1] = byte .. close
        position = stop
      else
        line[#line + 1] = byte
        depth = depth + 1
        if depth > 1000 then return nil end
        stack[depth] = close
        flush()
        position = position + 1
      end
      pending_key = false
    elseif byte == "}" or byte == "]" then
      if stack[depth] ~= byte then return nil end
      depth = depth - 1
      flush()
      line[#line + 1] = byte
      position = position + 1
    elseif byte == "," then
      if depth == 0 then return nil end
      line[#line + 1] = ","
      flush()
      position = position + 1
    elseif byte == ":" then
      line[#line + 1] = ": "
      position = position + 1
      pending_key = false
    elseif byte == '"' then
      local stop = position + 1
      while true do
        stop = body:find('[\\"]', stop)
        if not stop then return nil end
        if body:sub(stop, stop) == '"' then break end
        stop = stop + 2
      end
      local literal = body:sub(position, stop)
      local is_key = body:find("^[ \t\r\n]*:", stop + 1) and stack[depth] == "}"
      local cut = ""
      if #literal > show.most.string then
        cut = paint("dim", (" (%d bytes more)"):format(#literal - show.most.string))
        literal = literal:sub(1, show.most.string):gsub("[\xc0-\xff][\x80-\xbf]*$", "") .. '…"'
      end
      line[#line + 1] = paint(is_key and "key" or "string", text.safe(literal)) .. cut
      position = stop + 1
    else
      local literal = body:match("^[%w%.+-]+", position)
      if not literal then return nil end
      local role = literal:find "^%-?%d" and "number" or "literal"
      if role == "literal" and not (literal == "true" or literal == "false" or literal == "null") then return nil end
      line[#line + 1] = paint(role, literal)
      position = position + #literal
    end
  end
  if depth ~= 0 or #line == 0 then return nil end
  out[#out + 1] = table.concat(line)
  return table.concat(out, "\n")
end

-- --- Responses and errors ---

local reasons = {
  [200] = "OK", [201] = "Created", [202] = "Accepted", [203] = "Non-Authoritative Information", [204] = "No Content",
  [205] = "Reset Content", [206] = "Partial Content", [207] = "Multi-Status", [300] = "Multiple Choices",
  [301] = "Moved Permanently", [302] = "Found", [303] = "See Other", [304] = "Not Modified", [307] = "Temporary Redirect",
  [308] = "Permanent Redirect", [400] = "Bad Request", [401] = "Unauthorized", [402] = "Payment Required",
  [403] = "Forbidden", [404] = "Not Found", [405] = "Method Not Allowed", [406] = "Not Acceptable",
  [407] = "Proxy Authentication Required", [408] = "Request Timeout", [409] = "Conflict", [410] = "Gone",
  [411] = "Length Required", [412] = "Precondition Failed", [413] = "Content Too Large", [414] = "URI Too Long",
  [415] = "Unsupported Media Type", [416] = "Range Not Satisfiable", [417] = "Expectation Failed",
  [421] = "Misdirected Request", [422] = "Unprocessable Content", [423] = "Locked", [424] = "Failed Dependency",
  [425] = "Too Early", [426] = "Upgrade Required", [428] = "Precondition Required", [429] = "Too Many Requests",
  [431] = "Request Header Fields Too Large", [451] = "Unavailable For Legal Reasons", [500] = "Internal Server Error",
  [501] = "Not Implemented", [502] = "Bad Gateway", [503] = "Service Unavailable", [504] = "Gateway Timeout",
  [505] = "HTTP Version Not Supported", [507] = "Insufficient Storage", [511] = "Network Authentication Required",
}

-- Returns the reason phrase of a status, or "".
function show.reason(status) return reasons[status] or "" end

local function show_timing(res)
  local timing, parts = res.timing, {}
  if timing.dns then parts[#parts + 1] = "dns " .. text.seconds(timing.dns) end
  if timing.connect then parts[#parts + 1] = "connect " .. text.seconds(timing.connect) end
  if timing.tls then parts[#parts + 1] = "tls " .. text.seconds(timing.tls) end
  if timing.first_byte then parts[#parts + 1] = "first byte " .. text.seconds(timing.first_byte) end
  if timing.reused then parts[#parts + 1] = "connection reused" end
  return (timing.total and text.seconds(timing.total) or "") .. (#parts > 0 and " (" .. table.concat(parts, ", ") .. ")" or "")
end

local function is_text(body)
  local start = body:sub(1, 4096):gsub("[\xc0-\xff][\x80-\xbf]*$", "")
  return utf8.len(start) ~= nil and not start:find "[%z\1-\8\14-\26\28-\31]"
end

-- Formats the body: JSON in lines, other text unchanged, and a description of anything else; nil for an empty body.
function show.body(res, paint)
  local ok, body = pcall(function() return res.body end)
  if not ok then return paint("dim", "streamed body: for part in res:chunks() do ... end") end
  if #body == 0 then return nil end
  local media_type = (res.headers["content-type"] or ""):lower():match "^[^;%s]+" or ""
  local hint = "; print(res.text) shows all"
  if media_type:find "json$" then
    local shown = show.json(body, paint, hint)
    if shown then return shown end
  end
  local decoded
  ok, decoded = pcall(function() return res.text end)
  if ok and decoded and is_text(body) or media_type:find "^text/" and ok and decoded then
    return show.lines(decoded, paint, hint)
  end
  return paint("dim", ("%s of %s"):format(text.bytes(#body), media_type ~= "" and text.safe(media_type) or "binary data"))
end

function show.response(res, paint)
  local status = res.status
  local role = status < 300 and "good" or status < 400 and "warn" or "bad"
  local parts = { show_timing(res) }
  local ok, body = pcall(function() return res.body end)
  if ok then parts[#parts + 1] = text.bytes(#body) end
  if res.source and res.source ~= "network" then parts[#parts + 1] = "from the " .. res.source end
  if res.attempts > 1 then parts[#parts + 1] = ("%d attempts"):format(res.attempts) end
  local lines = { paint(role, paint("head", ("%d %s"):format(status, reasons[status] or ""):gsub(" $", "")))
    .. "  " .. paint("dim", table.concat(parts, ", ")) }
  lines[2] = paint("dim", text.safe(res.url or ""))
  local count = 0
  for name, value in pairs(res.headers) do
    count = count + 1
    if count <= show.most.lines then
      local shown, rest = value:sub(1, 300), #value - 300
      lines[#lines + 1] = paint("key", text.safe(name)) .. ": " .. text.safe(shown) ..
        (rest > 0 and paint("dim", (" (%d bytes more)"):format(rest)) or "")
    end
  end
  if count > show.most.lines then lines[#lines + 1] = paint("dim", ("… %d more fields"):format(count - show.most.lines)) end
  local shown = show.body(res, paint)
  if shown then
    lines[#lines + 1] = ""
    lines[#lines + 1] = shown
  end
  return table.concat(lines, "\n")
end

local function show_headers(headers, paint)
  local lines = {}
  for name, value in pairs(headers) do
    if #lines >= show.most.lines then break end
    lines[#lines + 1] = paint("key", text.safe(name)) .. ": " .. text.safe(value:sub(1, 1000))
  end
  return table.concat(lines, "\n")
end

local function show_endpoints(endpoints, paint, width)
  local records = {}
  for name, endpoint in pairs(endpoints) do
    local summary = endpoint.summary or endpoint.description
    records[#records + 1] = {
      name = name, method = endpoint.method or "GET", path = endpoint.path,
      summary = type(summary) == "string" and summary:match "^[^\n]*" or nil,
    }
  end
  if #records == 0 then return paint("dim", "no endpoints: nightjar.client { endpoints = {...} }, or api:load_openapi(location)") end
  if #records == 1 then return tostring(endpoints[records[1].name]) end
  return show.records(records, paint, width)
end

-- Formats an error: its message, the server's details, and a hint.
-- @param is_command whether the error is of nightjar get or another subcommand, whose options are flags
function show.error(err, paint, is_command)
  local hints = require "nightjar.command.hints"
  if show.kind(err) ~= "nightjar.error" then
    local message = type(err) == "string" and text.safe(err, kept_in_text) or text.safe(tostring(err), kept_in_text)
    local hint = type(err) == "string" and hints.for_message(err)
    return paint("bad", message) .. (hint and "\n" .. paint("warn", "hint: ") .. text.safe(hint) or "")
  end
  local message = is_command and hints.command_message(tostring(err)) or tostring(err)
  local lines = { paint("bad", err.kind .. ": ") .. text.safe(message, kept_in_text):gsub("^" .. err.kind .. ": ", "") }
  local details = err.details
  if type(details) == "table" then
    for _, field in ipairs(type(details.fields) == "table" and details.fields or {}) do
      if #lines > 20 then break end
      lines[#lines + 1] = "  " .. paint("key", text.safe(tostring(field.name or "?"))) .. ": "
        .. text.safe(tostring(field.message or ""))
    end
  end
  if err.attempts and err.attempts > 1 then lines[#lines + 1] = paint("dim", ("  after %d attempts"):format(err.attempts)) end
  if err.retry_after then
    lines[#lines + 1] = paint("dim", ("  retry after %s"):format(text.seconds(err.retry_after)))
  end
  local hint = is_command and hints.for_command(err) or not is_command and hints.for_error(err)
  if hint then lines[#lines + 1] = paint("warn", "hint: ") .. text.safe(hint) end
  return table.concat(lines, "\n")
end

-- --- Any value ---

-- Formats the value for the prompt. Options: `colors` (default: none), `width` (default: that of the terminal).
function show.value(value, options)
  options = options or {}
  local paint = text.painter(options.colors)
  local width = options.width or terminal.width()
  local kind = type(value)
  if kind == "table" then
    if show.is_records(value) then return show.records(value, paint, width) end
    return show_table(value, { paint = paint, width = width, open = {}, budget = 2000 }, "", 1)
  elseif kind == "string" then
    if value:find("\n", 1, true) and is_text(value) then return show.lines(value, paint, "; print(_) shows all") end
    return show_scalar(value, paint, 4 * show.most.string)
  elseif kind == "userdata" then
    local name = show.kind(value)
    if name == "nightjar.response" then return show.response(value, paint) end
    if name == "nightjar.headers" then return show_headers(value, paint) end
    if name == "nightjar.endpoints" then return show_endpoints(value, paint, width) end
    if name == "nightjar.error" then return show.error(value, paint) end
    local described = text.safe(tostring(value), kept_in_text)
    if value == nightjar.null then return paint("literal", "null") end
    return described
  end
  return show_scalar(value, paint, show.most.string)
end

return show
