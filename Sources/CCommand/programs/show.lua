-- Formats values for the prompt. Most output is limited in depth, width and length. Tables are read without metamethods
-- except __tostring.
local bodies = require "nightjar.command.show_bodies"
local limits = require "nightjar.command.show_limits"
local records = require "nightjar.command.show_records"
local values = require "nightjar.command.show_values"
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"
local nightjar = require "nightjar"

local show = {}

local kept_in_text = { ["\n"] = true, ["\t"] = true }

-- Returns the type name of a userdata, such as "nightjar.response"; nil if it has none.
function show.kind(value)
  local meta = debug.getmetatable(value)
  local name = type(value) == "userdata" and type(meta) == "table" and rawget(meta, "__name")
  return type(name) == "string" and name or nil
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
  if timing.stream then parts[#parts + 1] = "stream " .. timing.stream end
  return (timing.total and text.seconds(timing.total) or "") .. (#parts > 0 and " (" .. table.concat(parts, ", ") .. ")" or "")
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
    if count <= limits.lines then
      local shown, rest = value:sub(1, 300), #value - 300
      lines[#lines + 1] = paint("key", text.safe(name)) .. ": " .. text.safe(shown) ..
        (rest > 0 and paint("dim", (" (%d bytes more)"):format(rest)) or "")
    end
  end
  if count > limits.lines then lines[#lines + 1] = paint("dim", ("… %d more fields"):format(count - limits.lines)) end
  local shown = bodies.body(res, paint)
  if shown then
    lines[#lines + 1] = ""
    lines[#lines + 1] = shown
  end
  return table.concat(lines, "\n")
end

local function show_headers(headers, paint)
  local lines = {}
  for name, value in pairs(headers) do
    if #lines >= limits.lines then break end
    lines[#lines + 1] = paint("key", text.safe(name)) .. ": " .. text.safe(value:sub(1, 1000))
  end
  return table.concat(lines, "\n")
end

local function show_endpoints(endpoints, paint, width)
  local list = {}
  for name, endpoint in pairs(endpoints) do
    local summary = endpoint.summary or endpoint.description
    list[#list + 1] = {
      name = name, method = endpoint.method or "GET", path = endpoint.path,
      summary = type(summary) == "string" and summary:match "^[^\n]*" or nil,
    }
  end
  if #list == 0 then return paint("dim", "no endpoints: nightjar.client { endpoints = {...} }, or api:load_openapi(location)") end
  if #list == 1 then return tostring(endpoints[list[1].name]) end
  return records.show(list, paint, width)
end

-- Formats an error: its message, the server's details, and a hint.
-- @param is_command whether nightjar get or another subcommand has failed; its options are flags
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

-- Formats the value for the prompt. Options: `colors` (false by default), `width` (the terminal's by default).
function show.value(value, options)
  options = options or {}
  local paint = text.painter(options.colors)
  local width = options.width or terminal.width()
  local kind = type(value)
  if kind == "table" then
    if records.is(value) then return records.show(value, paint, width) end
    return values.table(value, paint, width)
  elseif kind == "string" then
    if value:find("\n", 1, true) and bodies.is_text(value) then return bodies.lines(value, paint, "; print(_) shows all") end
    return values.scalar(value, paint, 4 * limits.string)
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
  return values.scalar(value, paint, limits.string)
end

return show
