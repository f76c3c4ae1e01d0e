-- Splits JSON text into its members or elements without decoding it, so that number formats and the order of members
-- are preserved. The text must be valid JSON.
local nightjar = require "nightjar"

local json_text = {}

local function skip_space(text, position) return text:find("[^ \t\r\n]", position) or #text + 1 end

local function skip_string(text, position)
  local stop = position + 1
  while true do
    stop = text:find('[\\"]', stop)
    if not stop then return #text + 1 end
    if text:byte(stop) == 34 then return stop + 1 end
    stop = stop + 2
  end
end

-- Returns the position after the value that begins at `position`.
local function skip(text, position)
  local first = text:sub(position, position)
  if first == '"' then return skip_string(text, position) end
  if first ~= "{" and first ~= "[" then return text:find("[,%]}%s]", position) or #text + 1 end
  local depth = 0
  repeat
    position = text:find('["{}%[%]]', position)
    if not position then return #text + 1 end
    local byte = text:byte(position)
    if byte == 34 then
      position = skip_string(text, position)
    else
      depth = depth + ((byte == 123 or byte == 91) and 1 or -1)
      position = position + 1
    end
  until depth == 0
  return position
end

-- Returns "object", "array" or "scalar".
function json_text.kind(text)
  local first = text:match "^[ \t\r\n]*(.)"
  return first == "{" and "object" or first == "[" and "array" or "scalar"
end

-- Returns an iterator over the parts: name and text of each value of an object; zero-based index and text of each
-- element of a list.
function json_text.parts(text)
  local is_object = json_text.kind(text) == "object"
  local position, index = skip_space(text, 1) + 1, -1
  return function()
    position = skip_space(text, position)
    if position > #text or text:find("^[%]}]", position) then return nil end
    index = index + 1
    local name = index
    if is_object then
      local stop = skip_string(text, position)
      name = nightjar.json.decode(text:sub(position, stop - 1))
      position = skip_space(text, skip_space(text, stop) + 1)
    end
    local first = position
    position = skip(text, position)
    local value = text:sub(first, position - 1)
    position = skip_space(text, position)
    if text:sub(position, position) == "," then position = position + 1 end
    return name, value
  end
end

-- Returns the text of the part that a JSON Pointer refers to (RFC 6901), or nil. If a name is repeated, the last member
-- with this name is used, as in decoding.
function json_text.pick(text, pointer)
  for step in pointer:gmatch "/([^/]*)" do
    local kind, found = json_text.kind(text), nil
    if kind == "scalar" then return nil end
    if kind == "array" then
      step = step:find "^[1-9]?%d*$" and (#step == 1 or step:sub(1, 1) ~= "0") and math.tointeger(tonumber(step)) or nil
    else
      step = step:gsub("~1", "/"):gsub("~0", "~")
    end
    for name, value in json_text.parts(text) do
      if name == step then
        found = value
        if kind == "array" then break end
      end
    end
    if not found then return nil end
    text = found
  end
  return text
end

-- Removes the white space between tokens.
function json_text.compact(text)
  if not text:find "[ \t\r\n]" then return text end
  local pieces, position = {}, 1
  while position <= #text do
    local quote = text:find('"', position, true) or #text + 1
    pieces[#pieces + 1] = text:sub(position, quote - 1):gsub("[ \t\r\n]+", "")
    if quote > #text then break end
    position = skip_string(text, quote)
    pieces[#pieces + 1] = text:sub(quote, position - 1)
  end
  return table.concat(pieces)
end

-- Replaces the strings whose names are secret according to `is_secret` with "***".
function json_text.mask(text, is_secret)
  local pieces, position = {}, 1
  while true do
    local quote = text:find('"', position, true)
    if not quote then break end
    local stop = skip_string(text, quote)
    local value = text:match('^[ \t\r\n]*:[ \t\r\n]*()"', stop)
    if value and is_secret(text:sub(quote + 1, stop - 2)) then
      pieces[#pieces + 1] = text:sub(position, value - 1) .. '"***"'
      position = skip_string(text, value)
    else
      pieces[#pieces + 1] = text:sub(position, stop - 1)
      position = stop
    end
  end
  pieces[#pieces + 1] = text:sub(position)
  return table.concat(pieces)
end

-- Returns a table as the text of an object. The members in `names` come first, the others follow in alphabetical order.
function json_text.object(value, names)
  local parts, others, is_named = {}, {}, {}
  local function add(name) parts[#parts + 1] = nightjar.json.encode(name) .. ":" .. nightjar.json.encode(value[name]) end
  for _, name in ipairs(names) do
    is_named[name] = true
    if value[name] ~= nil then add(name) end
  end
  for name in pairs(value) do
    if not is_named[name] then others[#others + 1] = name end
  end
  table.sort(others)
  for _, name in ipairs(others) do add(name) end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- Returns the text of a table cell: a string without quotes, nothing for null, otherwise the JSON.
function json_text.cell(text)
  if text == "null" then return "" end
  if text:sub(1, 1) == '"' then return nightjar.json.decode(text) end
  return json_text.compact(text)
end

return json_text
