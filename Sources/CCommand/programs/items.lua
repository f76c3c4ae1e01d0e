-- httpie's request items: name=text, name:=json, Name:header, name==query, name@file and so on, and the body that they make.
local nightjar = require "nightjar"

local items = {}

-- Longer ones before those that they begin with.
local separators = { ":=@", "==@", "=@", ":@", ":=", "==", "=", ":", "@" }

-- Places of a list that an index may leave empty before it, and fields within fields.
local most_index, most_depth = 10000, 100

-- What is wrong with the words; the exit status is 2.
local Usage = { __tostring = function(usage) return usage.message end }

function items.refuse(message, ...)
  error(setmetatable({ message = message:format(...) }, Usage), 0)
end

function items.is_usage(err) return getmetatable(err) == Usage end

-- --- Words ---

-- Name, separator and the rest of an item. A backslash before a separator's character is taken away and the character is none;
-- other backslashes stay, for the brackets.
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

-- Where a file is that is called ~/so.
local function expand(path)
  local home = os.getenv "HOME"
  return home and path:sub(1, 2) == "~/" and home .. path:sub(2) or path
end

local function read_file(word, path)
  local file, message = io.open(expand(path), "rb")
  if not file then items.refuse("%s: %s", word, message) end
  local content, why = file:read "a"
  file:close()
  return content or items.refuse("%s: %s cannot be read: %s", word, path, why or "it is no file")
end

local function check_json(word, name, text)
  local value, err = nightjar.try(nightjar.json.decode, text)
  if value == nil and err then
    items.refuse("%s: what is behind := is no JSON (%s); for a text write %s=%s", word, tostring(err):match "^[^\n]*", name, text:sub(1, 60))
  end
  return text
end

-- What the words say: `query` is a list of { name, value }; `headers` of { name, value }, value false where the header is not
-- to be sent; `fields` of { name, text } or { name, json = text } or { name, file = path, content_type = type }.
function items.read(words)
  local read = { query = {}, headers = {}, fields = {} }
  for _, word in ipairs(words) do
    local empty_header = word:match "^([%w!#$%%&'*+.^_`|~-]+);$"
    if empty_header then
      table.insert(read.headers, { empty_header, "" })
    else
      local name, separator, value = split(word)
      if not name then items.refuse("%s: an item has a separator: name=text, name:=json, Name:header, name==query, name@file", word) end
      if separator == ":" and value:sub(1, 2) == "//" then items.refuse("%s: one URL only; what follows it are items", word) end
      if name == "" then items.refuse("%s: there is no name before the %s", word, separator) end
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

-- --- Fields within fields ---

-- The steps of a[b][0][]: names are strings, indices are integers, true is one more at the end.
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
    if name:sub(position, position) ~= "[" then items.refuse("%s: behind a ] comes [ or the end", name) end
    position = position + 1
    local piece, is_plain = take "]"
    if position > #name then items.refuse("%s: a [ is not closed; write \\[ for one that is no bracket", name) end
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
    if #steps > most_depth then items.refuse("%s: more than %d fields within fields", name:sub(1, 60), most_depth) end
  end
  return steps
end

-- Objects keep the order in which their names came: { names, values }; lists are { list, length }; a text of JSON is { text }.
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
      items.refuse("%s: %s is wanted there, and other items have made it %s", name,
        type(step) == "string" and "an object" or "a list", describe(node))
    end
    local child
    if node.names then
      child = node.values[step]
      if not child then node.names[#node.names + 1] = step end
    else
      if step == true then step = node.length end
      if step >= most_index then items.refuse("%s: a list has at most %d items", name, most_index) end
      child = node.list[step]
      node.length = math.max(node.length, step + 1)
    end
    if is_last and child and not child.text then items.refuse("%s: other items have made it %s", name, describe(child)) end
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
    items.refuse("%s: it is not UTF-8, and JSON has nothing else; --form and --multipart take any bytes", (name:gsub("[^\32-\126]", "?")))
  end
  return nightjar.json.encode(text)
end

-- The fields as a JSON text: names in the order of the words, numbers as they were typed.
function items.json(fields)
  local root
  for _, field in ipairs(fields) do
    if field.file then
      items.refuse("%s@%s: a file goes into a form: give --form or --multipart; for its text as JSON write %s=@%s", field[1],
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

-- The fields as a list of { name, value }.
function items.form(fields)
  local form = {}
  for place, field in ipairs(fields) do form[place] = { field[1], form_text(field) } end
  return form
end

-- The fields as parts.
function items.multipart(fields)
  local parts = {}
  for place, field in ipairs(fields) do
    if field.file then
      local file, message = io.open(field.file, "rb")
      if not file then items.refuse("%s@%s: %s", field[1], field.file, message) end
      file:close()
      parts[place] = { name = field[1], file = field.file, content_type = field.content_type }
    else
      parts[place] = { name = field[1], value = form_text(field) }
    end
  end
  return parts
end

return items
