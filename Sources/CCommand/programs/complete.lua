-- Completion with Tab: globals, fields, methods, endpoints with their parameters and paths, options, headers and
-- commands. Never runs code of a script: tables are read without metamethods, and only an __index that is a table is
-- followed. The names of Nightjar's objects come from nightjar.command.reference.
-- Loaded before the first line of a script, so that a script cannot replace it.
local complete_graphql = require "nightjar.graphql".complete
local help = require "nightjar.command.help"
local lexer = require "nightjar.command.lexer"
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"

local complete = {}

-- The maximum number of names that are shown, and the maximum number of __index tables that are followed.
local most_names, most_depth = 200, 8

local headers = {
  "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control", "Content-Encoding", "Content-Language",
  "Content-Length", "Content-Type", "Cookie", "Date", "ETag", "Expect", "Forwarded", "From", "Host", "Idempotency-Key",
  "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Last-Modified", "Link", "Location",
  "Origin", "Prefer", "Range", "Referer", "Retry-After", "User-Agent", "Vary", "X-Api-Key", "X-Request-Id",
}

local keywords = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true until
  while]]):gmatch "%a+" do keywords[#keywords + 1] = word end

local commands = { ".help", ".load", ".quit", ".save", ".trace" }

-- --- Values, without running a script's code ---

-- The fields of Nightjar's objects that completion may read, because C code looks them up.
local safe_fields = {
  ["nightjar.client"] = { endpoints = true, cookies = true, cache = true },
  ["nightjar.response"] = { headers = true, json = true, timing = true, redirects = true },
  ["nightjar.error"] = { response = true, details = true, earlier = true },
}

local function kind_of(value)
  local class = help.class_of(value)
  return class and class.name
end

-- Returns the field `name` of the value, or nil if looking it up would run code of a script.
local function field(value, name)
  if type(value) == "string" then return string[name] end
  local nightjar = require "nightjar"
  if rawequal(value, nightjar) then return nightjar[name] end -- Modules are loaded on first use.
  local kind = kind_of(value)
  if kind then
    local is_safe = kind == "nightjar.endpoints" or kind == "nightjar.endpoint" or kind == "nightjar.headers"
      or safe_fields[kind] and safe_fields[kind][name]
    if not is_safe then return nil end
    local ok, found = pcall(function() return value[name] end)
    return ok and found or nil
  end
  for _ = 1, most_depth do
    if type(value) ~= "table" then return nil end
    local found = rawget(value, name)
    if found ~= nil then return found end
    local meta = debug.getmetatable(value)
    value = type(meta) == "table" and rawget(meta, "__index") or nil
  end
end

-- Calls add(name, value, is_function) for each named field of the value.
local function each_field(value, add)
  if type(value) == "string" then value = string end
  local class = help.class_of(value)
  if class then
    for _, member in ipairs(class.members) do add(member[1], nil, help.is_method(member)) end
    if class.name == "nightjar.endpoints" then
      for name in pairs(value) do add(name, nil, true) end
    elseif class.name == "nightjar.headers" then
      for name in pairs(value) do add((name:gsub("-", "_")), nil, false) end
    end
    return
  end
  if rawequal(value, require "nightjar") then
    for _, member in ipairs(help.class("nightjar").members) do add(member[1], nil, help.is_method(member)) end
  end
  for _ = 1, most_depth do
    if type(value) ~= "table" then return end
    for name, found in next, value do
      if type(name) == "string" then add(name, found, type(found) == "function") end
    end
    local meta = debug.getmetatable(value)
    value = type(meta) == "table" and rawget(meta, "__index") or nil
  end
end

-- Returns the value of a chain of tokens from `first` to `last`: a global, followed by fields.
local function value_of(source, tokens, first, last)
  if first > last or tokens[first].kind ~= "name" then return nil end
  local value = field(_G, lexer.text(source, tokens[first]))
  local index = first + 1
  while index <= last and value ~= nil do
    local sign, next_token = lexer.text(source, tokens[index]), tokens[index + 1]
    if not next_token or index + 1 > last then return nil end
    if (sign == "." or sign == ":") and next_token.kind == "name" then
      value = field(value, lexer.text(source, next_token))
      index = index + 2
    elseif sign == "[" and index + 2 <= last and lexer.text(source, tokens[index + 2]) == "]" then
      local key
      if next_token.kind == "number" then key = tonumber(lexer.text(source, next_token)) end
      if next_token.kind == "string" then key = lexer.content(source, next_token) end
      if key == nil then return nil end
      value = field(value, key)
      index = index + 3
    else
      return nil
    end
  end
  return value
end

-- Returns the index of the first token of the chain that ends with token `last`.
local function chain_start(source, tokens, last)
  local index = last
  while index >= 1 do
    local token = tokens[index]
    local word = lexer.text(source, token)
    if word == "]" then
      index = index - 2
      if index < 1 or lexer.text(source, tokens[index]) ~= "[" then return nil end
      index = index - 1
    elseif token.kind == "name" then
      local before = index > 1 and lexer.text(source, tokens[index - 1])
      if before ~= "." and before ~= ":" then return index end
      index = index - 2
    else
      return nil
    end
  end
end

-- --- The context of the cursor ---

-- Returns the brackets that are open at the end, as a list of token indices.
local function open_brackets(source, tokens)
  local open = {}
  for index, token in ipairs(tokens) do
    local word = token.kind == "sign" and lexer.text(source, token)
    if word == "{" or word == "(" or word == "[" then open[#open + 1] = index end
    if word == "}" or word == ")" or word == "]" then open[#open] = nil end
  end
  return open
end

-- Returns the function whose name ends with token `last`: { class =, member =, owner = } for a function of Nightjar, or
-- { endpoint =, member = }; nil for other functions.
local function called(source, tokens, last)
  local start = last >= 1 and chain_start(source, tokens, last)
  if not start then return nil end
  local name, sign = lexer.text(source, tokens[last]), last > 1 and lexer.text(source, tokens[last - 1])
  if last > start and (sign == "." or sign == ":") then
    local owner = value_of(source, tokens, start, last - 2)
    if kind_of(owner) == "nightjar.endpoints" then
      local endpoint = field(owner, name)
      return endpoint and { endpoint = endpoint }
    end
    if kind_of(owner) == "nightjar.endpoint" then return { endpoint = owner, member = name } end
    local class = help.class_of(owner) or help.module(owner)
    local member = class and help.member(class, name)
    return member and { class = class, member = member, owner = owner }
  end
end

local function class_in(type_text, place)
  local found = {}
  for name in type_text:gmatch "nightjar%.[%w_]+_options" do found[#found + 1] = name end
  return help.class(found[place or 1])
end

-- Returns the meaning of the table that bracket `level` of `open` begins: { class = } for options, { endpoint = } for
-- parameters of an endpoint, { headers = true } for headers; nil for other tables.
local function table_context(source, tokens, open, level)
  local place = open[level]
  if not place or lexer.text(source, tokens[place]) ~= "{" then return nil end
  local before = place - 1
  if before < 1 then return nil end
  local word = lexer.text(source, tokens[before])
  if word == "=" and tokens[before - 1] and tokens[before - 1].kind == "name" then
    local name = lexer.text(source, tokens[before - 1])
    if name == "headers" then return { headers = true } end
    local outer = table_context(source, tokens, open, level - 1)
    local member = outer and outer.class and help.member(outer.class, name)
    if member then return { class = class_in(member[2]) } end
    if outer and outer.is_options then
      member = help.member(help.class "nightjar.call_options", name)
      return member and { class = class_in(member[2]) }
    end
    return nil
  end
  local call, commas = nil, 0
  if word == "(" or word == "," then
    -- The table is an argument of a call, after `commas` other arguments.
    local outer = open[level - 1]
    if not outer or lexer.text(source, tokens[outer]) ~= "(" then return nil end
    local depth = 0
    for index = outer + 1, before do
      local sign = tokens[index].kind == "sign" and lexer.text(source, tokens[index])
      if sign == "(" or sign == "{" then depth = depth + 1 end
      if sign == ")" or sign == "}" then depth = depth - 1 end
      if sign == "," and depth == 0 then commas = commas + 1 end
    end
    call = called(source, tokens, outer - 1)
  else
    call = called(source, tokens, before)
  end
  if not call then return nil end
  if call.endpoint then
    if commas == 0 then return { endpoint = call.endpoint } end
    return { class = help.class(call.member == "paginate" and "nightjar.page_options" or "nightjar.call_options") }
  end
  return { class = class_in(call.member[2]) }
end

-- --- Candidates ---

local function collect()
  local names, seen = {}, {}
  return function(name, prefix, show)
    if type(name) ~= "string" or seen[show or name] or name:sub(1, #prefix) ~= prefix then return end
    seen[show or name] = true
    names[#names + 1] = { insert = name:sub(#prefix + 1), show = show or name }
  end, names
end

local function is_identifier(name) return name:find "^[%a_][%w_]*$" ~= nil end

local function options_of(context, prefix)
  local add, names = collect()
  if context.headers then
    for _, name in ipairs(headers) do
      if not name:find("-", 1, true) then add(name .. " = ", prefix, name)
      elseif prefix == "" then add(('["%s"] = '):format(name), "", name) end
    end
  elseif context.endpoint then
    local parameters = field(context.endpoint, "parameters")
    if type(parameters) == "table" then
      for key, parameter in next, parameters do
        local name = type(key) == "string" and key or type(parameter) == "table" and rawget(parameter, "name")
        if type(name) == "string" then
          add((is_identifier(name) and name or ('["%s"]'):format(name)) .. " = ", prefix, name)
        end
      end
    end
    if field(context.endpoint, "body") ~= nil then
      for _, name in ipairs { "json", "form", "multipart", "body", "file" } do add(name .. " = ", prefix, name) end
    end
  elseif context.class then
    for _, member in ipairs(context.class.members) do add(member[1] .. " = ", prefix, member[1]) end
  end
  return names
end

local verbs = { get = "GET", post = "POST", put = "PUT", patch = "PATCH", delete = "DELETE", head = "HEAD", paginate = "GET" }

local function in_string(source, tokens)
  local last = #tokens
  local prefix = lexer.content(source, tokens[last])
  local add, names = collect()
  local open = open_brackets(source, tokens)
  local before = tokens[last - 1] and lexer.text(source, tokens[last - 1])
  if before == "[" then
    local context = table_context(source, tokens, open, #open - 1)
    if context and context.headers then
      for _, name in ipairs(headers) do
        if name:lower():sub(1, #prefix) == prefix:lower() then
          names[#names + 1] = { insert = name:sub(#prefix + 1) .. '"] = ', show = name }
        end
      end
    end
    return names
  end
  local place = before == "(" and last - 2 or last - 1
  local call = place >= 1 and called(source, tokens, place)
  if call and call.class and call.class.name == "nightjar.client" and verbs[call.member[1]] then
    for _, endpoint in pairs(field(call.owner, "endpoints") or {}) do
      local path, method = field(endpoint, "path"), field(endpoint, "method") or "GET"
      if type(path) == "string" and tostring(method):upper() == verbs[call.member[1]] then add(path, prefix) end
    end
  elseif call and call.class and call.class.name == "nightjar.graphql_client" then
    local kind = ({ mutate = "mutation", subscribe = "subscription" })[call.member[1]]
    local ok, found = pcall(complete_graphql, call.owner, prefix, kind)
    for _, name in ipairs(ok and found or {}) do add(name, prefix:match "[%w_]*$") end
  elseif place >= 1 and lexer.text(source, tokens[place]) == "help" then
    for _, class in ipairs(require "nightjar.command.reference") do
      add(class.name, prefix)
      add((class.name:gsub("^nightjar%.", "")), prefix)
    end
  end
  return names
end

-- Returns the candidates for the text before the cursor: a sorted list of { insert =, show = }.
function complete.candidates(source)
  local command = source:match "^%s*(%.%a*)$"
  local add, names = collect()
  if command then
    for _, name in ipairs(commands) do add(name, command) end
    return names
  end
  if source:find "^%s*%.trace%s" then
    local prefix = source:match "(%a*)$"
    for _, word in ipairs { "off", "on" } do add(word, prefix) end
    return names
  end
  if source:find "^%s*%.save%s+%a*$" then
    add("test ", source:match "(%a*)$", "test")
    return names
  end
  source = source:gsub("^(%s*)=", "%1 ")
  local tokens = lexer.tokens(source)
  local last = tokens[#tokens]
  if last and not last.ended then
    if last.kind == "string" then names = in_string(source, tokens) end
  else
    -- The word at the cursor, possibly empty.
    local prefix = ""
    if last and last.kind == "name" and last.last == #source then
      prefix = lexer.text(source, last)
      tokens[#tokens] = nil
    end
    last = tokens[#tokens]
    local sign = last and lexer.text(source, last)
    if last and last.kind == "sign" and (sign == "." or sign == ":") then
      local stop = #tokens - 1
      local start = stop >= 1 and chain_start(source, tokens, stop)
      local value
      if start then value = value_of(source, tokens, start, stop) end
      if stop >= 2 and sign == ":" and lexer.text(source, tokens[stop]) == ")" and tokens[stop - 1].kind == "string" then
        value = "" -- ("text"):
      end
      if value ~= nil then
        each_field(value, function(name, _, is_function)
          if is_identifier(name) and (sign == "." or is_function) then add(name, prefix) end
        end)
      end
    else
      local open = open_brackets(source, tokens)
      if sign == "{" or sign == "," then
        local context = table_context(source, tokens, open, #open)
        if context then names = options_of(context, prefix) end
      end
      if #names == 0 and (prefix ~= "" or #tokens == 0) then
        add, names = collect()
        each_field(_G, function(name) if is_identifier(name) then add(name, prefix) end end)
        if prefix ~= "" then
          for _, word in ipairs(keywords) do add(word, prefix) end
        end
      end
    end
  end
  table.sort(names, function(a, b) return a.show < b.show end)
  return names
end

local function common_prefix(names)
  local prefix = names[1].insert
  for _, name in ipairs(names) do
    while name.insert:sub(1, #prefix) ~= prefix do prefix = prefix:sub(1, -2) end
  end
  return prefix
end

local function in_columns(names, width)
  local widest, shown = 0, math.min(#names, most_names)
  local cells = {}
  for index = 1, shown do
    cells[index] = text.cut(text.safe(names[index].show), width)
    widest = math.max(widest, text.columns(cells[index]))
  end
  local columns = math.max(width // (widest + 2), 1)
  local rows = (shown + columns - 1) // columns
  local lines = {}
  for row = 1, rows do
    local line = {}
    for column = 1, columns do
      local cell = cells[(column - 1) * rows + row]
      if cell then line[#line + 1] = text.pad(cell, widest) end
    end
    lines[row] = (table.concat(line, "  "):gsub(" +$", ""))
  end
  if #names > shown then lines[#lines + 1] = ("… %d more"):format(#names - shown) end
  return table.concat(lines, "\n") .. "\n"
end

-- Completes for the editor: returns the text to insert at the cursor and the text to show below the line; either may be
-- nil.
function complete.at(before)
  local names = complete.candidates(before)
  if #names == 0 then return nil end
  local inserted = common_prefix(names)
  if inserted ~= "" or #names == 1 then return inserted end
  return nil, in_columns(names, terminal.width())
end

return complete
