-- Detects secrets in typed statements. The rules prefer false positives:
--
--   - a string literal that is the value of a name that the library classifies as a credential (password, X-JWT,
--     apiKey, pw and so on): password = "x", local password <const> = "x", password = ("x"), password = a .. "x",
--     ["X-Api-Token"] = "x"; also a string literal that is compared with such a name;
--   - each string literal within the value of auth and in the arguments of set_token, except for methods and locations:
--     type, header, query, grant, scope, store, url and so on;
--   - user and password in a URL such as http://user:password@host;
--   - a string literal that looks like a token: at least 24 letters, digits and signs without a space or slash, with
--     at least one letter and one digit; also "Bearer x" and "Basic x", and a private key in PEM form;
--   - a number that is the value of a name containing passw, passphrase, passcode or pwd, or of pin or otp;
--   - every occurrence of a string literal of at least 6 bytes that was a secret earlier in this session.
--
-- Texts with other secrets, for example in the query of a URL, are also not written to the history.
--
-- The same rules apply to the value of an environment variable that os.getenv reads. The name of the variable is not a
-- secret.
local lexer = require "nightjar.command.lexer"
local session = require "nightjar.command.session"

local secrets = {}

local harmless = {}
for name in ([[type grant scope issuer store url method token_url device_url authorize_url header query prefix access_token_pointer refresh_token_pointer
  lifetime expiry token_type refresh client_auth client_id user]]):gmatch "[%w_]+" do harmless[name] = true end

local known = {}

-- Names of credentials that are also common in other data; not treated as secrets.
local common = { auth = true, code = true, key = true, session = true, signature = true, ticket = true }

local function is_secret_name(name)
  local lower = name:lower()
  if harmless[lower] or common[lower] or lower:find "_url$" or lower:find "_type$" then return false end
  return session.is_secret(name) or lower:find "private" ~= nil or lower:find "api%-key" ~= nil or lower == "pkcs12_base64"
    or lower == "key_pem"
end

-- Names whose numbers are secrets. Numbers of other names, such as max_tokens, are amounts.
local function is_number_name(name)
  local lower = name:lower()
  return lower == "pin" or lower == "otp" or lower:find "passw" ~= nil or lower:find "passphrase" ~= nil
    or lower:find "passcode" ~= nil or lower:find "pwd" ~= nil
end

-- Returns whether a query item of this name is a secret.
function secrets.is_item_name(name) return is_secret_name(name) or is_number_name(name) or name:lower():find "key$" ~= nil end

local function looks_like_token(content)
  if content:find "^[Bb]earer%s+%S" or content:find "^[Bb]asic%s+%S" or content:find "PRIVATE KEY%-%-%-%-%-" then return true end
  return #content >= 24 and not content:find "[^%w_%-+=.~]" and content:find "%a" ~= nil and content:find "%d" ~= nil
end

local function has_userinfo(content) return content:find "://[^/@%s]+:[^/@%s]*@" ~= nil end

-- Returns the start and end of the call of os.getenv with this token as its argument. Returns nil if there is no such
-- call.
local function environment_call(source, tokens, index)
  local start, last = index - 1, tokens[index].last
  local function is(at, text) return tokens[at] ~= nil and lexer.text(source, tokens[at]) == text end
  if is(start, "(") then
    if not is(index + 1, ")") then return nil end
    start, last = start - 1, tokens[index + 1].last
  end
  if not (is(start, "getenv") and is(start - 1, ".") and is(start - 2, "os")) then return nil end
  return start - 2, last
end

-- Returns the name before the = at `index`, or before a comparison (== or ~=) that ends at `index`. Returns nil if there
-- is no name.
local function name_before(source, tokens, index)
  local function is(at, text) return tokens[at] ~= nil and lexer.text(source, tokens[at]) == text end
  if is(index - 1, "=") or is(index - 1, "~") then index = index - 1 end
  local at = index - 1
  -- An attribute: <const>, <close>.
  if is(at, ">") and is(at - 2, "<") then at = at - 3 end
  local key = tokens[at]
  if not key then return nil end
  if key.kind == "name" then
    -- One of several names: user, password = "ada", "x".
    local first = lexer.text(source, key)
    local other = at
    while not is_secret_name(first) and is(other - 1, ",") and tokens[other - 2] and tokens[other - 2].kind == "name" do
      other = other - 2
      if is_secret_name(lexer.text(source, tokens[other])) then return lexer.text(source, tokens[other]), true end
    end
    return first, other ~= at or is(at - 1, ",")
  end
  if is(at, "]") and tokens[at - 1] and tokens[at - 1].kind == "string" then return lexer.content(source, tokens[at - 1]) end
end

local keywords = {}
for word in ([[local if then else elseif return function end do while for in repeat until break goto]]):gmatch "%a+" do
  keywords[word] = true
end

-- Returns the names to which literals belong, by token index. A literal belongs to a name if it is the name's value, or
-- a part of the value joined by "..", "and" or "or", with or without parentheses. Arguments of calls belong to no name.
local function values_of(source, tokens)
  local names, stack = {}, {}
  local name, is_list -- the name of the value at this token; whether the value continues after a comma
  for index, token in ipairs(tokens) do
    local text, before = lexer.text(source, token), tokens[index - 1]
    local before_text = before and lexer.text(source, before)
    local is_value = before ~= nil and (before.kind == "string" or before.kind == "number" or before_text == ")"
      or before_text == "]" or before_text == "}" or before.kind == "name" and not keywords[before_text]
      and before_text ~= "and" and before_text ~= "or" and before_text ~= "not")
    if token.kind == "sign" then
      local attribute = tokens[index - 3] and lexer.text(source, tokens[index - 3]) == "<"
      if text == "=" and before_text ~= "<" and (before_text ~= ">" or attribute) then
        local found, several = name_before(source, tokens, index)
        if lexer.text(source, tokens[index + 1] or token) ~= "=" then name, is_list = found, several end
      elseif text == "(" or text == "{" or text == "[" then
        stack[#stack + 1] = { name, is_list }
        -- Arguments and table keys belong to no name.
        if is_value or text == "[" then name = nil end
        is_list = text == "{" and name ~= nil
      elseif text == ")" or text == "}" or text == "]" then
        local outer = table.remove(stack)
        name, is_list = outer and outer[1], outer and outer[2]
      elseif text == ";" or text == "," and not is_list then
        name = nil
      end
    elseif token.kind == "name" and (keywords[text] or is_value and text ~= "and" and text ~= "or") then
      name = nil
    elseif (token.kind == "string" or token.kind == "number") and not is_value then
      names[index] = name
    end
  end
  return names
end

-- Returns the secrets of a text, and the environment variables that it reads.
local function scan(source)
  local tokens, found, variables = lexer.tokens(source), {}, {}
  local names = values_of(source, tokens)
  local depth, guarded = 0, nil -- the bracket depth at which the value of auth ends
  for index, token in ipairs(tokens) do
    local text = lexer.text(source, token)
    if token.kind == "sign" and (text == "{" or text == "(") then
      depth = depth + 1
    elseif token.kind == "sign" and (text == "}" or text == ")") then
      depth = depth - 1
      if guarded and depth <= guarded then guarded = nil end
    elseif token.kind == "name" and (text == "auth" or text == "set_token") and not guarded then
      local after = tokens[index + 1] and lexer.text(source, tokens[index + 1])
      if after == "=" or after == "{" or after == "(" then guarded = depth end
    elseif token.kind == "number" then
      local name = names[index]
      if name and is_number_name(name) then found[#found + 1] = { first = token.first, last = token.last, name = name } end
    elseif token.kind == "string" then
      local content = lexer.content(source, token)
      local before = tokens[index - 1]
      local start, stop = environment_call(source, tokens, index)
      local is_assigned = start and tokens[start - 1] and lexer.text(source, tokens[start - 1]) == "="
      local name = names[index] or is_assigned and name_before(source, tokens, start - 1) or nil
      local is_key = tokens[index + 1] and lexer.text(source, tokens[index + 1]) == "]"
        and before and lexer.text(source, before) == "["
      local value = start and (os.getenv(content) or "") or content
      local is_secret = start and is_secret_name(content) or known[value] or looks_like_token(value) or has_userinfo(value)
        or name and is_secret_name(name)
        or guarded and not is_key and not (name and harmless[name:lower()])
      if start then
        variables[#variables + 1] = {
          first = tokens[start].first, last = stop, variable = content, name = name, is_secret = is_secret ~= nil and is_secret ~= false and #value > 0,
        }
      elseif is_secret and #content > 0 and not is_key then
        found[#found + 1] = { first = token.first, last = token.last, name = name }
        if #content >= 6 then known[content] = true end
      end
    end
  end
  return found, variables
end

-- Returns the secrets of a text: a list of { first, last, name }. Each secret is a number, or a string literal with its
-- quotes; `name` is the name to which the secret is assigned, or nil.
function secrets.find(source) return (scan(source)) end

-- Returns the environment variables that a text reads with a literal name: a list of { first, last, variable, name,
-- is_secret }. Each item is a call of os.getenv; `name` is the name to which its result is assigned, or nil.
function secrets.environment(source) return (select(2, scan(source))) end

-- Returns the value of a string literal.
local function value_of(source, token)
  local chunk = load("return " .. lexer.text(source, token), "=secret", "t", {})
  local ok, value = pcall(chunk or error)
  return ok and type(value) == "string" and value or lexer.content(source, token)
end

-- Returns whether the text contains a secret, including secrets in URLs and documents and known secrets within longer
-- words.
function secrets.has(source)
  if #secrets.find(source) > 0 then return true end
  for _, token in ipairs(lexer.tokens(source)) do
    local content = token.kind == "string" and value_of(source, token) or token.kind == "comment" and lexer.text(source, token)
    if content and session.redact(content) ~= content then return true end
  end
  for content in pairs(known) do
    if source:find(content, 1, true) then return true end
  end
  return false
end

-- Returns the text with each secret replaced by a read from the environment, and the names of the variables, in order.
function secrets.replace(source)
  local pieces, names, position = {}, {}, 1
  for _, secret in ipairs(secrets.find(source)) do
    local name = "NIGHTJAR_" .. (secret.name or "secret"):upper():gsub("[^%w]+", "_")
    pieces[#pieces + 1] = source:sub(position, secret.first - 1)
    -- With the parentheses, the replacement of set_token "x" is still a call.
    pieces[#pieces + 1] = ('(os.getenv "%s")'):format(name)
    names[#names + 1] = name
    position = secret.last + 1
  end
  pieces[#pieces + 1] = source:sub(position)
  return table.concat(pieces), names
end

return secrets
