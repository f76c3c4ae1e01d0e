-- Which texts that were typed hold secrets, and which parts of them they are. The rule, which would rather take too much:
--
--   - a text literal that is the value of a name with password, passwd, pwd, passphrase, secret, token, credential, api_key,
--     authorization, cookie or private in it, in any case, as password = "x" and ["X-Api-Token"] = "x" have it; names that end with
--     _url and _type excepted;
--   - each text literal within the value of auth, and in the arguments of sign_in, but for those that say how: type, header,
--     query, grant, scope, store, and places (url, access, renewal and so on);
--   - user and password of a URL, as http://user:password@host;
--   - a text literal that looks like a token: 24 letters, digits and signs or more without a space or a slash, with a letter
--     and a digit in it; also "Bearer x" and "Basic x";
--   - a text literal that was such a value before in this session, wherever it stands.
--
-- The name of a variable that os.getenv is asked for is none; its value may be, by the same rule.
local lexer = require "nightjar.command.lexer"

local secrets = {}

local words = {
  "password", "passwd", "pwd", "passphrase", "secret", "token", "credential", "api_key", "apikey", "api-key", "authorization",
  "cookie", "private",
}

local harmless = {}
for name in ([[type grant scope issuer store url method token_url device_url authorize_url header query prefix access renewal
  lifetime expiry token_type refresh client_auth client_id user]]):gmatch "[%w_]+" do harmless[name] = true end

local known = {}

local function is_secret_name(name)
  local lower = name:lower()
  if harmless[lower] or lower:find "_url$" or lower:find "_type$" then return false end
  for _, word in ipairs(words) do
    if lower:find(word, 1, true) then return true end
  end
  return false
end

local function looks_like_token(content)
  if content:find "^[Bb]earer%s+%S" or content:find "^[Bb]asic%s+%S" then return true end
  return #content >= 24 and not content:find "[^%w_%-+=.~]" and content:find "%a" ~= nil and content:find "%d" ~= nil
end

local function has_userinfo(content) return content:find "://[^/@%s]+:[^/@%s]*@" ~= nil end

-- Where the call of os.getenv begins that has this token as its argument, and where it ends; nil: it is no such argument.
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

-- The name that the value which begins at this token is for; nil: it is for none.
local function name_before(source, tokens, index)
  local before, key = tokens[index - 1], tokens[index - 2]
  if not before or lexer.text(source, before) ~= "=" or not key then return nil end
  if key.kind == "name" then return lexer.text(source, key) end
  if lexer.text(source, key) == "]" and tokens[index - 3] and tokens[index - 3].kind == "string" then
    return lexer.content(source, tokens[index - 3])
  end
end

-- The secrets of a text, and the variables of the environment that it asks for.
local function scan(source)
  local tokens, found, variables = lexer.tokens(source), {}, {}
  local depth, guarded = 0, nil -- the depth of brackets outside of which the value of auth ends
  for index, token in ipairs(tokens) do
    local text = lexer.text(source, token)
    if token.kind == "sign" and (text == "{" or text == "(") then
      depth = depth + 1
    elseif token.kind == "sign" and (text == "}" or text == ")") then
      depth = depth - 1
      if guarded and depth <= guarded then guarded = nil end
    elseif token.kind == "name" and (text == "auth" or text == "sign_in") and not guarded then
      local after = tokens[index + 1] and lexer.text(source, tokens[index + 1])
      if after == "=" or after == "{" or after == "(" then guarded = depth end
    elseif token.kind == "string" then
      local content = lexer.content(source, token)
      local before = tokens[index - 1]
      local start, stop = environment_call(source, tokens, index)
      local name = name_before(source, tokens, start or index)
      local is_key = tokens[index + 1] and lexer.text(source, tokens[index + 1]) == "]"
        and before and lexer.text(source, before) == "["
      local value = start and (os.getenv(content) or "") or content
      local is_secret = start and is_secret_name(content) or known[value] or looks_like_token(value) or has_userinfo(value)
        or name and is_secret_name(name)
        or guarded and not is_key and not (name and harmless[name:lower()])
      if start then
        variables[#variables + 1] = {
          first = tokens[start].first, last = stop, variable = content, name = name, is_secret = is_secret and #value > 0,
        }
      elseif is_secret and #content > 0 and not is_key then
        found[#found + 1] = { first = token.first, last = token.last, name = name }
        if #content >= 6 then known[content] = true end
      end
    end
  end
  return found, variables
end

-- The secrets of a text: a list of { first, last, name }, which are string literals with their quotes, and the name that each is
-- the value of, or nil.
function secrets.find(source) return (scan(source)) end

-- The variables of the environment that it asks for by a literal: a list of { first, last, variable, name, is_secret }, the
-- calls of os.getenv, and the name that each is the value of, or nil.
function secrets.environment(source) return (select(2, scan(source))) end

-- Whether the text holds any, one that was seen before within a longer word among them.
function secrets.has(source)
  if #secrets.find(source) > 0 then return true end
  for content in pairs(known) do
    if source:find(content, 1, true) then return true end
  end
  return false
end

-- The text with each secret as a look into the environment, and the names of the variables, in order.
function secrets.replace(source)
  local pieces, names, position = {}, {}, 1
  for _, secret in ipairs(secrets.find(source)) do
    local name = "NIGHTJAR_" .. (secret.name or "secret"):upper():gsub("[^%w]+", "_")
    pieces[#pieces + 1] = source:sub(position, secret.first - 1)
    -- In brackets, so that a call without them, as sign_in "x", stays one.
    pieces[#pieces + 1] = ('(os.getenv "%s")'):format(name)
    names[#names + 1] = name
    position = secret.last + 1
  end
  pieces[#pieces + 1] = source:sub(position)
  return table.concat(pieces), names
end

return secrets
