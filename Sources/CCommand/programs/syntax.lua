-- Parses the parts of a script that nightjar check needs: variables and their definitions, field accesses, calls and
-- tables. The source must be valid Lua.
local lexer = require "nightjar.command.lexer"

local syntax = {}

local doubled = {}
for sign in ([[.. == ~= <= >= // :: << >>]]):gmatch "%S+" do doubled[sign] = true end

-- Returns the names, strings, numbers and signs of the source, without comments.
local function tokens_of(source)
  local tokens = {}
  for _, token in ipairs(lexer.tokens(source)) do
    local text = lexer.text(source, token)
    local before = tokens[#tokens]
    if token.kind == "sign" and before and before.kind == "sign" and before.last + 1 == token.first
      and (doubled[before.text .. text] or before.text == ".." and text == ".") then
      before.text, before.last = before.text .. text, token.last
    elseif token.kind ~= "comment" then
      tokens[#tokens + 1] = {
        kind = token.kind, text = text, first = token.first, last = token.last,
        content = token.kind == "string" and lexer.content(source, token) or nil,
      }
    end
  end
  tokens[#tokens + 1] = { kind = "end", text = "", first = #source + 1, last = #source }
  return tokens
end

local ends_block = { ["end"] = true, ["else"] = true, ["elseif"] = true, ["until"] = true, [""] = true }
local unary = { ["not"] = true, ["-"] = true, ["#"] = true, ["~"] = true }
local binary = {}
for sign in ([[+ - * / // % ^ & | ~ << >> .. == ~= < > <= >= and or]]):gmatch "%S+" do binary[sign] = true end

-- Returns a parsed script, or nil if the parser does not support the script:
--
--   nodes    all indices, calls and method calls
--   fields   the set of the names of assigned fields
--   globals  the global variables by name
--
-- The `definitions` of a variable are { expression, place } for each assignment, or false for an unknown value.
-- Expressions have a `tag` and these members:
--
--   name    variable, first            call    callee, arguments, first       table   fields, first
--   index   object, key, first         method  object, name, arguments, first string  value
--   other   none
function syntax.read(source)
  local tokens, place = tokens_of(source), 1
  local nodes, assigned_fields, globals = {}, {}, {}
  local scope = nil -- { names, outer }
  local expression, block

  local function give_up() error(syntax, 0) end
  local function peek() return tokens[place].text end
  local function is_sign(text) return tokens[place].text == text and tokens[place].kind ~= "string" end
  local function take()
    local token = tokens[place]
    if token.kind == "end" then give_up() end
    place = place + 1
    return token
  end
  local function expect(text)
    if not is_sign(text) then give_up() end
    return take()
  end
  local function accept(text)
    if is_sign(text) then return take() end
  end
  local function take_name()
    if tokens[place].kind ~= "name" then give_up() end
    return take()
  end
  local function node(of)
    nodes[#nodes + 1] = of
    return of
  end
  local other = { tag = "other" }

  -- --- Variables ---

  local function enter() scope = { names = {}, outer = scope } end
  local function leave() scope = scope.outer end
  local function declare(name)
    local variable = { name = name, definitions = {} }
    scope.names[name] = variable
    return variable
  end
  local function find(name)
    local at = scope
    while at do
      if at.names[name] then return at.names[name] end
      at = at.outer
    end
    if not globals[name] then globals[name] = { name = name, definitions = {}, is_global = true } end
    return globals[name]
  end
  local function define(variable, definition) variable.definitions[#variable.definitions + 1] = definition end

  -- Returns the definition of the variable at `index` in an assignment of a list of expressions.
  local function definition_of(expressions, index)
    if index < #expressions then return { expressions[index], 1 } end
    local last = expressions[#expressions]
    if not last then return nil end
    return { last, index - #expressions + 1 }
  end

  -- --- Expressions ---

  local function expressions()
    local list = { expression() }
    while accept "," do list[#list + 1] = expression() end
    return list
  end

  local function body(has_self)
    enter()
    if has_self then define(declare "self", false) end
    expect "("
    while not is_sign ")" do
      if not accept "..." then define(declare(take_name().text), false) end
      if not accept "," then break end
    end
    expect ")"
    block()
    expect "end"
    leave()
    return other
  end

  local function table_of()
    local first, fields = expect "{".first, {}
    while not is_sign "}" do
      local token = tokens[place]
      if token.kind == "name" and tokens[place + 1].text == "=" and tokens[place + 1].kind == "sign" then
        take()
        take()
        fields[#fields + 1] = { name = token.text, first = token.first, value = expression() }
      elseif accept "[" then
        local key = expression()
        expect "]"
        expect "="
        fields[#fields + 1] = { name = key.tag == "string" and key.value or nil, first = token.first, value = expression() }
      else
        fields[#fields + 1] = { value = expression() }
      end
      if not (accept "," or accept ";") then break end
    end
    expect "}"
    return { tag = "table", fields = fields, first = first }
  end

  local function arguments()
    if tokens[place].kind == "string" then return { { tag = "string", value = take().content } } end
    if is_sign "{" then return { table_of() } end
    expect "("
    local list = is_sign ")" and {} or expressions()
    expect ")"
    return list
  end

  local function suffixed()
    local token, value = tokens[place], nil
    if accept "(" then
      value = expression()
      expect ")"
      -- Parentheses limit a call to its first result.
      if value.tag ~= "name" and value.tag ~= "index" then value = other end
    else
      value = { tag = "name", variable = find(take_name().text), first = token.first }
    end
    while true do
      local at = tokens[place]
      if accept "." then
        local name = take_name()
        value = node { tag = "index", object = value, key = name.text, first = name.first }
      elseif at.kind ~= "string" and accept "[" then
        local key = expression()
        expect "]"
        value = node { tag = "index", object = value, key = key.tag == "string" and key.value or nil, first = at.first }
      elseif accept ":" then
        local name = take_name()
        value = node { tag = "method", object = value, name = name.text, first = name.first, arguments = arguments() }
      elseif at.kind == "string" or at.text == "(" or at.text == "{" then
        value = node { tag = "call", callee = value, first = at.first, arguments = arguments() }
      else
        return value
      end
    end
  end

  local function simple()
    local token = tokens[place]
    if token.kind == "string" then return { tag = "string", value = take().content } end
    if token.kind == "number" then
      take()
      return other
    end
    if token.text == "{" then return table_of() end
    if accept "function" then return body(false) end
    if accept "nil" or accept "true" or accept "false" or accept "..." then return other end
    return suffixed()
  end

  -- Parses an expression. Ignores precedence, because the results of operators are unknown.
  function expression()
    local count = 0
    while tokens[place].kind ~= "string" and unary[peek()] do
      take()
      count = count + 1
    end
    local value = simple()
    while tokens[place].kind ~= "string" and binary[peek()] do
      take()
      while tokens[place].kind ~= "string" and unary[peek()] do take() end
      simple()
      count = count + 1
    end
    return count == 0 and value or other
  end

  -- --- Statements ---

  local function assign(target, definition)
    if target.tag == "name" then
      define(target.variable, definition or false)
    elseif target.tag == "index" then
      target.is_target = true
      if target.key then assigned_fields[target.key] = true end
    end
  end

  local statements = {}

  statements["do"] = function()
    enter()
    block()
    leave()
    expect "end"
  end

  statements["while"] = function()
    expression()
    expect "do"
    statements["do"]()
  end

  statements["repeat"] = function()
    enter()
    block()
    expect "until"
    expression()
    leave()
  end

  statements["if"] = function()
    repeat
      expression()
      expect "then"
      enter()
      block()
      leave()
    until not accept "elseif"
    if accept "else" then
      enter()
      block()
      leave()
    end
    expect "end"
  end

  statements["for"] = function()
    local names = { take_name().text }
    while accept "," do names[#names + 1] = take_name().text end
    if not accept "=" then expect "in" end
    expressions()
    expect "do"
    enter()
    for _, name in ipairs(names) do define(declare(name), false) end
    block()
    leave()
    expect "end"
  end

  statements["function"] = function()
    local target = { tag = "name", variable = find(take_name().text) }
    local has_self = false
    while is_sign "." or is_sign ":" do
      has_self = take().text == ":"
      local name = take_name()
      target = { tag = "index", object = target, key = name.text, first = name.first }
    end
    assign(target, false)
    body(has_self)
  end

  statements["local"] = function()
    if accept "function" then
      define(declare(take_name().text), false)
      body(false)
      return
    end
    local names = {}
    repeat
      names[#names + 1] = take_name().text
      if accept "<" then
        take_name()
        expect ">"
      end
    until not accept ","
    local values = accept "=" and expressions() or {}
    for index, name in ipairs(names) do
      local variable, definition = declare(name), definition_of(values, index)
      if definition then define(variable, definition) end
    end
  end

  statements["return"] = function()
    if not ends_block[peek()] and not is_sign ";" then expressions() end
    accept ";"
  end

  statements["goto"] = function() take_name() end
  statements["::"] = function()
    take_name()
    expect "::"
  end
  statements["break"] = function() end
  statements[";"] = function() end

  local function statement()
    local token = tokens[place]
    local rule = token.kind ~= "string" and statements[token.text]
    if token.text == "goto" and tokens[place + 1].kind ~= "name" then rule = nil end
    if rule then
      take()
      return rule()
    end
    local targets = { suffixed() }
    while accept "," do targets[#targets + 1] = suffixed() end
    if accept "=" then
      local values = expressions()
      for index, target in ipairs(targets) do assign(target, definition_of(values, index)) end
    end
  end

  function block()
    while not (tokens[place].kind ~= "string" and ends_block[peek()]) do statement() end
  end

  local ok, err = pcall(function()
    enter()
    block()
    if tokens[place].kind ~= "end" then give_up() end
  end)
  if not ok then
    if err ~= syntax then error(err, 0) end
    return nil
  end
  return { nodes = nodes, fields = assigned_fields, globals = globals }
end

return syntax
