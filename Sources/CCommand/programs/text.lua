-- Text on a terminal: escaping, width, truncation and colors.
local terminal = require "nightjar.command.terminal"

local text = {}

-- The control characters with a short escape. Other bytes are escaped as \xNN.
local names = { ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r", ["\a"] = "\\a", ["\b"] = "\\b", ["\v"] = "\\v", ["\f"] = "\\f" }

local function escape_byte(byte)
  return names[byte] or ("\\x%02x"):format(byte:byte())
end

local function escape_invalid(bytes)
  local pieces, position = {}, 1
  while position <= #bytes do
    local valid, where = utf8.len(bytes, position)
    local stop = valid and #bytes or where - 1
    pieces[#pieces + 1] = bytes:sub(position, stop)
    if not valid then pieces[#pieces + 1] = escape_byte(bytes:sub(where, where)) end
    position = valid and stop + 1 or where + 1
  end
  return table.concat(pieces)
end

-- Makes untrusted text safe for a terminal: escapes control characters, C1 controls in UTF-8 (U+0080 to U+009F),
-- characters that change the text direction (U+202A to U+202E, U+2066 to U+2069), and invalid UTF-8.
-- `keeps` is a set of control characters that are not escaped.
function text.safe(bytes, keeps)
  if not utf8.len(bytes) then bytes = escape_invalid(bytes) end
  if not bytes:find "[%c\xc2\xe2]" then return bytes end
  bytes = bytes:gsub("%c", function(byte) return not (keeps and keeps[byte]) and escape_byte(byte) or nil end)
  bytes = bytes:gsub("\xc2([\x80-\x9f])", function(byte) return ("\\u{%x}"):format(byte:byte()) end)
  return (bytes:gsub("\xe2([\x80\x81])([\x80-\xbf])", function(middle, last)
    local code = middle == "\x80" and 0x2000 + last:byte() - 0x80 or 0x2040 + last:byte() - 0x80
    if code >= 0x202a and code <= 0x202e or code >= 0x2066 and code <= 0x2069 then return ("\\u{%x}"):format(code) end
  end))
end

-- text.columns(line) -> the number of columns of an escaped text
text.columns = terminal.columns

-- Truncates a text that has more than `width` columns, and ends it with an ellipsis unless `width` is 0.
function text.cut(line, width)
  if text.columns(line) <= width then return line end
  local kept, used = {}, 0
  for _, code in utf8.codes(line) do
    local letter = utf8.char(code)
    used = used + text.columns(letter)
    if used > width - 1 then break end
    kept[#kept + 1] = letter
  end
  return table.concat(kept) .. (width > 0 and "…" or "")
end

function text.pad(line, width, to_the_right)
  local space = (" "):rep(width - text.columns(line))
  return to_the_right and space .. line or line .. space
end

local codes = {
  key = "34", string = "32", number = "36", literal = "35", dim = "2", head = "1", good = "32", bad = "31", warn = "33",
}

-- Returns a function that colors a text by role, or returns the text unchanged.
function text.painter(has_colors)
  if not has_colors then return function(_, line) return line end end
  return function(role, line) return line ~= "" and "\27[" .. codes[role] .. "m" .. line .. "\27[0m" or line end
end

-- Returns whether the stream is a terminal that supports colors, and NO_COLOR (https://no-color.org) is unset or empty.
function text.has_colors(descriptor)
  local no_color, kind = os.getenv "NO_COLOR", os.getenv "TERM"
  return (no_color == nil or no_color == "") and kind ~= nil and kind ~= "dumb" and terminal.is_terminal(descriptor)
end

-- Formats a number of bytes: 1536 becomes "1.5 KB". The units are powers of 1024.
function text.bytes(count)
  if count < 1024 then return ("%d B"):format(count) end
  local units, index = { "KB", "MB", "GB", "TB" }, 1
  count = count / 1024
  while count >= 1024 and index < #units do count, index = count / 1024, index + 1 end
  return ("%.1f %s"):format(count, units[index])
end

function text.seconds(seconds)
  if seconds < 1 then return ("%.1f ms"):format(seconds * 1000) end
  if seconds < 60 then return ("%.2f s"):format(seconds) end
  return ("%d:%02d min"):format(seconds // 60, math.floor(seconds % 60))
end

return text
