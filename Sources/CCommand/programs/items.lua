-- Parses httpie's request items (name=text, name:=json, Name:header, name==query, name@file and so on), and builds
-- bodies from them.
local nightjar = require "nightjar"

local items = {}

-- Longer separators come first, because some of them begin with a shorter separator.
local separators = { ":=@", "==@", "=@", ":@", ":=", "==", "=", ":", "@" }

-- The maximum list index, and the maximum nesting depth of fields.
local most_index, most_depth = 10000, 100

-- The metatable of errors in the arguments. The exit status for these errors is 2.
local Usage = { __tostring = function(usage) return usage.message end }

function items.refuse(message, ...)
  error(setmetatable({ message = message:format(...) }, Usage), 0)
end

function items.is_usage(err) return getmetatable(err) == Usage end

-- --- Words ---

-- Splits an item into name, separator and the rest. A backslash before a separator's character is removed, and the
-- character is taken literally; other backslashes are kept for the brackets.
local function split(word)
  local name, position = {}, 1
  while position <= #word do
    local escaped = word:match("^\\([:=@;])", position)
    if escaped then
      name[#name + 1] = escaped
      position = position + 2
    else
      for _, separator in ipairs(separators) do
        if word:sub(position, position + #separator - 1) == separator then
          return table.concat(name), separator, word:sub(position + #separator)
        end
      end
      name[#name + 1] = word:sub(position, position)
      position = position + 1
    end
  end
end

-- Expands ~/ in a path.
local function expand(path)
  local home = os.getenv "HOME"
  return home and path:sub(1, 2) == "~/" and home .. path:sub(2) or path
end

local function read_file(word, path)
  local file, message = io.open(expand(path), "rb")
  if not file then items.refuse("%s: %s", word, message) end
  local content, why = file:read "a"
  file:close()
  return content or items.refuse("%s: %s cannot be read: %s", word, path, why or "not a file")
end

-- items.read_file(word, path) -> the content of a file; `word` is the argument that names it
items.read_file = read_file

local function check_json(word, name, text)
  local value, err = nightjar.try(nightjar.json.decode, text)
  if value == nil and err then
    items.refuse("%s: the value is not valid JSON (%s); for a text use %s=%s", word, tostring(err):match "^[^\n]*", name, text:sub(1, 60))
  end
  return text
end

-- Parses the items: `query` is a list of { name, value }; `headers` of { name, value }, with value false for a header
-- to remove; `fields` of { name, text }, { name, json = text } or { name, file = path, content_type = type }.
function items.read(words)
  local read = { query = {}, headers = {}, fields = {} }
  for _, word in ipairs(words) do
    local empty_header = word:match "^([%w!#$%%&'*+.^_`|~-]+);$"
    if empty_header then
      table.insert(read.headers, { empty_header, "" })
    else
      local name, separator, value = split(word)
      if not name then items.refuse("%s: not an item; use name=text, name:=json, Name:header, name==query or name@file", word) end
      if separator == ":" and value:sub(1, 2) == "//" then items.refuse("%s: only one URL is allowed; the following arguments must be items", word) end
      if name == "" then items.refuse("%s: the name before %s is missing", word, separator) end
      if separator == "==" or separator == "==@" then
        table.insert(read.query, { name, separator == "==" and value or read_file(word, value) })
      elseif separator == ":" or separator == ":@" then
        if separator == ":@" then value = read_file(word, value):gsub("[\r\n]+$", "") end
        table.insert(read.headers, { name, value ~= "" and value:gsub("^%s+", "") or false })
      elseif separator == "@" then
        local path, content_type = value:match "^(.*);type=(.+)$"
        table.insert(read.fields, { name, file = expand(path or value), content_type = content_type })
      elseif separator == "=" or separator == "=@" then
        table.insert(read.fields, { name, separator == "=" and value or read_file(word, value) })
      else
        table.insert(read.fields, { name, json = check_json(word, name, separator == ":=" and value or read_file(word, value)) })
      end
    end
  end
  return read
end

-- --- Nested fields ---

-- Parses a name such as a[b][0][] into steps: strings are names, integers are indices, true appends to a list.
local function path_of(name)
  local steps, position = {}, 1
  local function take(stops)
    local piece, is_plain = {}, true
    while position <= #name do
      local letter = name:sub(position, position)
      if letter == "\\" and name:find("^[%[%]\\%d]", position + 1) then
        piece[#piece + 1] = name:sub(position + 1, position + 1)
        position, is_plain = position + 2, false
      elseif letter == stops then
        break
      else
        piece[#piece + 1] = letter
        position = position + 1
      end
    end
    return table.concat(piece), is_plain
  end
  local root = take "["
  if root ~= "" or position > #name then steps[1] = root end
  while position <= #name do
    if name:sub(position, position) ~= "[" then items.refuse("%s: a ] must be followed by [ or the end", name) end
    position = position + 1
    local piece, is_plain = take "]"
    if position > #name then items.refuse("%s: a [ is not closed; use \\[ for a literal bracket", name) end
    position = position + 1
    if piece == "" then
      steps[#steps + 1] = true
    elseif is_plain and piece:find "^%d+$" then
      local index = math.tointeger(tonumber(piece))
      if not index or index >= most_index then items.refuse("%s: the index must be below %d", name, most_index) end
      steps[#steps + 1] = index
    else
      steps[#steps + 1] = piece
    end
    if #steps > most_depth then items.refuse("%s: fields are nested more than %d levels deep", name:sub(1, 60), most_depth) end
  end
  return steps
end

-- Objects keep the order of their names: { names, values }; lists are { list, length }; a JSON text is { text }.
local function new_node(step)
  if type(step) == "string" then return { names = {}, values = {} } end
  return { list = {}, length = 0 }
end

local function describe(node) return node.text and "a value" or node.list and "a list" or "an object" end

local function put(root, name, steps, leaf)
  local node = root
  for place, step in ipairs(steps) do
    local is_last = place == #steps
    if node.text or (type(step) == "string") ~= (node.names ~= nil) then
      items.refuse("%s: must be %s, but other items define it as %s", name,
        type(step) == "string" and "an object" or "a list", describe(node))
    end
    local child
    if node.names then
      child = node.values[step]
      if not child then node.names[#node.names + 1] = step end
    else
      if step == true then step = node.length end
      if step >= most_index then items.refuse("%s: a list must have at most %d items", name, most_index) end
      child = node.list[step]
      node.length = math.max(node.length, step + 1)
    end
    if is_last and child and not child.text then items.refuse("%s: other items define it as %s", name, describe(child)) end
    if is_last then child = leaf elseif not child then child = new_node(steps[place + 1]) end
    if node.names then node.values[step] = child else node.list[step] = child end
    node = child
  end
end

local json_string

local function write(node, out)
  if node.text then
    out[#out + 1] = node.text
  elseif node.names then
    out[#out + 1] = "{"
    for place, name in ipairs(node.names) do
      if place > 1 then out[#out + 1] = "," end
      out[#out + 1] = json_string(name, name) .. ":"
      write(node.values[name], out)
    end
    out[#out + 1] = "}"
  else
    out[#out + 1] = "["
    for place = 0, node.length - 1 do
      if place > 0 then out[#out + 1] = "," end
      if node.list[place] then write(node.list[place], out) else out[#out + 1] = "null" end
    end
    out[#out + 1] = "]"
  end
end

-- --- Bodies ---

function json_string(text, name)
  if not utf8.len(text) then
    items.refuse("%s: not valid UTF-8, which JSON requires; use --form or --multipart to send other bytes", (name:gsub("[^\32-\126]", "?")))
  end
  return nightjar.json.encode(text)
end

-- Returns the fields as a JSON text: names in the order of the items, numbers as typed.
function items.json(fields)
  local root
  for _, field in ipairs(fields) do
    if field.file then
      items.refuse("%s@%s: files require --form or --multipart; to send the text of the file as JSON use %s=@%s", field[1],
        field.file, field[1], field.file)
    end
    local steps = path_of(field[1])
    root = root or new_node(steps[1])
    put(root, field[1], steps, { text = field.json or json_string(field[2], field[1]) })
  end
  local out = {}
  write(root, out)
  return table.concat(out)
end

local function form_text(field)
  if not field.json then return field[2] end
  local value = nightjar.json.decode(field.json)
  return type(value) == "string" and value or field.json
end

-- Returns the fields as a list of { name, value }.
function items.form(fields)
  local form = {}
  for place, field in ipairs(fields) do form[place] = { field[1], form_text(field) } end
  return form
end

-- Returns the fields as multipart parts.
function items.multipart(fields)
  local parts = {}
  for place, field in ipairs(fields) do
    if field.file then
      if not nightjar.fs.exists(field.file) then items.refuse("%s@%s: No such file or directory", field[1], field.file) end
      parts[place] = { name = field[1], file = field.file, content_type = field.content_type }
    else
      parts[place] = { name = field[1], value = form_text(field) }
    end
  end
  return parts
end

return items
