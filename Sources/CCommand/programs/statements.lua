-- For .save test: determines which names typed statements read and set, and whether their results depend on the time or
-- on random values.
local lexer = require "nightjar.command.lexer"

local statements = {}

local changing = {}
for word in ([[os io random time timing now clock uuid env limits explain collectgarbage process]]):gmatch "%w+" do
  changing[word] = true
end

-- Fields of a response that differ in a replay: a cassette contains decoded bodies, and there is no connection.
local unlike = {}
for word in ([[content_encoding content_length transfer_encoding peer source curl earlier]]):gmatch "[%w_]+" do unlike[word] = true end

-- Returns whether the text reads a field that differs in a replay.
function statements.is_unlike(text)
  for _, token in ipairs(lexer.tokens(text)) do
    local word = token.kind == "name" and lexer.text(text, token) or token.kind == "string" and lexer.content(text, token) or ""
    if unlike[word:lower():gsub("-", "_")] then return true end
  end
  return false
end

local function is_sign(text, token, sign) return token ~= nil and lexer.text(text, token) == sign end

-- Returns the set of names that a statement sets and that outlive it, and the set of names that it reads. Of several
-- names before one =, only the last is in the first set.
function statements.names_of(text)
  local tokens, given, read, depth = lexer.tokens(text), {}, {}, 0
  local is_local = is_sign(text, tokens[1], "local")
  for index, token in ipairs(tokens) do
    local word, after, before = lexer.text(text, token), tokens[index + 1], tokens[index - 1]
    if word == "{" or word == "(" then depth = depth + 1 end
    if word == "}" or word == ")" then depth = depth - 1 end
    if token.kind == "name" then
      local is_field = is_sign(text, before, ".") or is_sign(text, before, ":")
      local is_given = is_sign(text, after, "=") and not is_sign(text, tokens[index + 2], "=")
      if is_sign(text, before, "function") and not is_local then
        given[word] = true
      elseif is_given and depth == 0 and not is_local and not is_field then
        given[word] = true
      elseif not is_given and not is_field then
        read[word] = true
      end
    end
  end
  return given, read
end

-- Returns whether the result of the statement may depend on the time or on random values. `names` is the set of names
-- with such values. Adds the names that the statement sets to `names`, or removes them.
function statements.depends_on_chance(text, names)
  local given, read = statements.names_of(text)
  local depends, is_client = false, false
  for _, token in ipairs(lexer.tokens(text)) do
    local word = token.kind == "name" and lexer.text(text, token)
    if word and changing[word] then depends = true end
    if word == "client" then is_client = true end
  end
  for name in pairs(read) do depends = depends or names[name] ~= nil end
  -- The options of a client may differ each time. The results of its calls do not depend on these differences.
  if is_client then depends = false end
  for name in pairs(given) do names[name] = depends or nil end
  return depends
end

-- Returns whether the text contains this name or string literal.
function statements.has(text, kind, content)
  for _, token in ipairs(lexer.tokens(text)) do
    local found = token.kind == kind and (kind == "string" and lexer.content(text, token) or lexer.text(text, token))
    if found == content then return true end
  end
  return false
end

-- Returns a name that no statement uses, for the parameter of a test.
function statements.free_name(chunks)
  local used, name, number = {}, "t", 0
  for _, chunk in ipairs(chunks) do
    for _, token in ipairs(lexer.tokens(chunk.text)) do
      if token.kind == "name" then used[lexer.text(chunk.text, token)] = true end
    end
  end
  while used[name] do
    number = number + 1
    name = "t" .. number
  end
  return name
end

return statements
