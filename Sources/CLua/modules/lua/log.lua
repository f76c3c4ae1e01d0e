-- nightjar.log: writes log lines with a message and fields.
--
--   2026-11-21T20:31:07.123Z info  copied bytes=1048576 from="a file"
--
-- Values of fields whose names denote credentials are written as *** (for exceptions, see is_hidden). Secrets in texts
-- are masked as well: tokens such as JSON Web Tokens, and secrets in URLs, in JSON, in assignments (password=x), and
-- after Bearer and Basic. Each message is written as exactly one line.
local nightjar, native = ...
local misuse, got, write, is_secret, redact = native.misuse, native.got, native.write, native.is_secret, native.redact
local time = nightjar.time
local type, tostring, ipairs, next, pairs = type, tostring, ipairs, next, pairs
local byte, find, format, gsub, lower, sub = string.byte, string.find, string.format, string.gsub, string.lower, string.sub
local concat, sort = table.concat, table.sort
local null = nightjar.null

local log = {}

local LEVELS = { off = 0, error = 1, warn = 2, info = 3, debug = 4 }
local NAMES = { "error", "warn", "info", "debug", "off" }

-- The maximum length of a value in bytes, and the maximum depth of nested tables, so that lines stay readable.
local LONGEST_VALUE, DEEPEST = 4096, 6

local function level_of(name, what)
  local number = type(name) == "string" and LEVELS[name == "warning" and "warn" or name]
  if number then return number end
  local near = type(name) == "string" and native.nearest(name, NAMES)
  misuse(format('%s must be "debug", "info", "warn", "error" or "off", got %s%s', what,
    type(name) == "string" and '"' .. name .. '"' or type(name), near and format('; did you mean "%s"?', near) or ""))
end

local most = LEVELS.info
do
  local requested = native.level()
  if requested and requested ~= "" then most = level_of(requested, "the environment variable NIGHTJAR_LOG") end
end

-- --- Text ---

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\" }

local function escape(letter) return ESCAPES[letter] or format("\\x%02x", byte(letter)) end
local function escaped(text) return (gsub(text, "[%c\"\\]", escape)) end

-- Escapes the control characters of a message, which could start another line or control the terminal.
local function on_one_line(text) return (gsub(text, "%c", escape)) end

-- Masks the secrets in a text, and shortens a text of more than LONGEST_VALUE bytes.
local function shown_text(text)
  local head = redact(sub(text, 1, LONGEST_VALUE))
  return #text > LONGEST_VALUE and head .. format("... (%d bytes)", #text) or head
end

local function string_text(text, is_inside)
  text = shown_text(text)
  if is_inside or text == "" or find(text, "[%c%s\"\\=]") then return '"' .. escaped(text) .. '"' end
  return text
end

local show

local function table_text(value, depth)
  if depth > DEEPEST then return "..." end
  local names, parts, count = {}, {}, #value
  for place = 1, count do parts[place] = show(nil, value[place], depth) end
  for name in next, value do
    if not (type(name) == "number" and name >= 1 and name <= count) then names[#names + 1] = name end
  end
  sort(names, function(a, b) return tostring(a) < tostring(b) end)
  for _, name in next, names do
    parts[#parts + 1] = string_text(tostring(name)) .. "=" .. show(name, value[name], depth)
  end
  return "{" .. concat(parts, " ") .. "}"
end

-- Returns whether the value of a field is masked. A boolean reveals no credential, and a number whose name ends in
-- "code" is usually not a credential.
local function is_hidden(name, value)
  if type(name) ~= "string" or type(value) == "boolean" or value == null then return false end
  return is_secret(name) and not (type(value) == "number" and find(lower(name), "code$"))
end

function show(name, value, depth)
  if is_hidden(name, value) then return "***" end
  if type(value) == "string" then return string_text(value, depth > 0) end
  if type(value) == "table" then return table_text(value, depth + 1) end
  if type(value) == "number" or type(value) == "boolean" then return tostring(value) end
  return string_text(tostring(value))
end

-- --- Loggers ---

local function fields_text(fields)
  local names, parts = {}, {}
  for name in pairs(fields) do
    if type(name) ~= "string" then misuse(format("log: the name of a field must be a string, got %s", type(name))) end
    names[#names + 1] = name
  end
  sort(names)
  for place, name in ipairs(names) do
    local shown = find(name, "[%c%s\"\\=]") and string_text(name) or name
    local value = show(name, fields[name], 0)
    if #value > 2 * LONGEST_VALUE then value = sub(value, 1, LONGEST_VALUE) .. format("... (%d bytes)", #value) end
    parts[place] = " " .. shown .. "=" .. value
  end
  return concat(parts)
end

local function emit(level, message, fields, bound)
  if LEVELS[level] > most then return end
  if fields ~= nil and type(fields) ~= "table" then
    misuse(format("log.%s: the fields must be a table, got %s", level, type(fields)))
  end
  local text = on_one_line(shown_text(type(message) == "string" and message or tostring(message)))
    .. bound .. (fields and fields_text(fields) or "")
  write(level, text, format("%s %-5s %s\n", time.format(time.now(), { digits = 3 }), level, text))
end

local function add_levels(target, bound)
  for _, level in ipairs { "debug", "info", "warn", "error" } do
    target[level] = function(message, fields)
      if message == nil then misuse(format("log.%s: a message expected, got no value", level)) end
      return emit(level, message, fields, bound)
    end
  end
  -- log.with(fields) -> a logger that adds the fields to each line
  target.with = function(fields)
    if type(fields) ~= "table" then misuse(format("log.with: a table expected, got %s", got(fields))) end
    return add_levels({}, bound .. fields_text(fields))
  end
  return target
end

-- log.set_level("debug") sets the most verbose level that is written.
function log.set_level(name) most = level_of(name, "log.set_level: the level") end

-- log.level() -> the name of the level
function log.level()
  for name, number in pairs(LEVELS) do
    if number == most then return name end
  end
end

return add_levels(log, "")
