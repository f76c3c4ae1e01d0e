-- Formats the first lines of texts and of response bodies.
local limits = require "nightjar.command.show_limits"
local text = require "nightjar.command.text"

local bodies = {}

local kept_in_text = { ["\n"] = true, ["\t"] = true }

-- Formats the first lines of a text.
function bodies.lines(body, paint, hint)
  local lines, position = {}, 1
  while position <= #body and #lines < limits.lines do
    local stop = body:find("\n", position, true) or #body + 1
    local line = body:sub(position, stop - 1):gsub("\r$", "")
    if #line > limits.string then
      local shown = line:sub(1, limits.string):gsub("[\xc0-\xff][\x80-\xbf]*$", "")
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

-- Returns the position of the closing quote of the string that begins at `position`. Returns nil if the string is not
-- closed.
local function end_of_string(body, position)
  local stop = position + 1
  while true do
    stop = body:find('[\\"]', stop)
    if not stop or body:sub(stop, stop) == '"' then return stop end
    stop = stop + 2
  end
end

local function shown_string(literal, role, paint)
  local cut = ""
  if #literal > limits.string then
    cut = paint("dim", (" (%d bytes more)"):format(#literal - limits.string))
    literal = literal:sub(1, limits.string):gsub("[\xc0-\xff][\x80-\xbf]*$", "") .. '…"'
  end
  return paint(role, text.safe(literal)) .. cut
end

-- Returns the role of a number or literal name; nil if it is neither.
local function role_of(literal)
  if literal:find "^%-?%d" then return "number" end
  return (literal == "true" or literal == "false" or literal == "null") and "literal" or nil
end

-- Formats JSON with one line per member. Keeps the order and the number formats. Reads only the part of the body that is
-- shown. Returns nil if it detects a syntax error; it does not detect all of them.
function bodies.json(body, paint, hint)
  local out, line, depth, position, most = {}, {}, 0, 1, limits.lines
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
    elseif byte == '"' then
      local stop = end_of_string(body, position)
      if not stop then return nil end
      local is_key = body:find("^[ \t\r\n]*:", stop + 1) and stack[depth] == "}"
      line[#line + 1] = shown_string(body:sub(position, stop), is_key and "key" or "string", paint)
      position = stop + 1
    else
      local literal = body:match("^[%w%.+-]+", position)
      local role = literal and role_of(literal)
      if not role then return nil end
      line[#line + 1] = paint(role, literal)
      position = position + #literal
    end
  end
  if depth ~= 0 or #line == 0 then return nil end
  out[#out + 1] = table.concat(line)
  return table.concat(out, "\n")
end

-- Returns whether the first 4096 bytes are UTF-8 text without control characters other than white space and escape.
function bodies.is_text(body)
  local start = body:sub(1, 4096):gsub("[\xc0-\xff][\x80-\xbf]*$", "")
  return utf8.len(start) ~= nil and not start:find "[%z\1-\8\14-\26\28-\31]"
end

-- Formats the body: JSON with one line per member, other text line by line, and a description of binary data. Returns
-- nil for an empty body.
function bodies.body(res, paint)
  local ok, body = pcall(function() return res.body end)
  if not ok then return paint("dim", "streamed body: for part in res:chunks() do ... end") end
  if #body == 0 then return nil end
  local media_type = (res.headers["content-type"] or ""):lower():match "^[^;%s]+" or ""
  local hint = "; print(res.text) shows all"
  if media_type:find "json$" then
    local shown = bodies.json(body, paint, hint)
    if shown then return shown end
  end
  local decoded
  ok, decoded = pcall(function() return res.text end)
  if ok and decoded and bodies.is_text(body) or media_type:find "^text/" and ok and decoded then
    return bodies.lines(decoded, paint, hint)
  end
  return paint("dim", ("%s of %s"):format(text.bytes(#body), media_type ~= "" and text.safe(media_type) or "binary data"))
end

return bodies
