-- Splits Lua text into tokens, for completion, history, .save and nightjar check. Accepts any text: unknown characters
-- become tokens of one character.
local lexer = {}

-- Returns the end of the long bracket that begins at `position`, and whether the bracket is closed. Returns nil if there
-- is no long bracket at `position`.
local function long_bracket(text, position)
  local equals = text:match("^%[(=*)%[", position)
  if not equals then return nil end
  local _, stop = text:find("]" .. equals .. "]", position + 2 + #equals, true)
  return stop or #text, stop ~= nil
end

local function quoted(text, position)
  local quote, at = text:sub(position, position), position + 1
  while true do
    at = text:find("[\\\n" .. quote .. "]", at)
    if not at then return #text, false end
    local found = text:sub(at, at)
    if found == quote then return at, true end
    if found == "\n" then return at - 1, false end
    at = at + 2
  end
end

-- Returns a list of { kind, first, last, ended }. `kind` is "name", "number", "string", "comment" or "sign". `ended` is
-- false for an unfinished string or comment.
function lexer.tokens(text)
  local tokens, position = {}, 1
  while true do
    position = text:find("%S", position)
    if not position then return tokens end
    local letter, kind, last, ended = text:sub(position, position), "sign", position, true
    if letter:find "[%a_]" then
      kind, last = "name", select(2, text:find("^[%w_]+", position))
    elseif letter:find "%d" or text:find("^%.%d", position) then
      kind, last = "number", select(2, text:find("^[%w.]+", position))
    elseif letter == '"' or letter == "'" then
      kind = "string"
      last, ended = quoted(text, position)
    elseif text:find("^%[=*%[", position) then
      kind = "string"
      last, ended = long_bracket(text, position)
    elseif text:find("^%-%-", position) then
      kind = "comment"
      last, ended = long_bracket(text, position + 2)
      if not last then last, ended = (text:find("\n", position, true) or #text + 1) - 1, true end
    end
    tokens[#tokens + 1] = { kind = kind, first = position, last = last, ended = ended }
    position = last + 1
  end
end

function lexer.text(source, token) return source:sub(token.first, token.last) end

-- Returns the text between the quotes of a string, with escapes as written.
function lexer.content(source, token)
  local text = lexer.text(source, token)
  local equals = text:match "^%[(=*)%["
  if equals then return text:sub(#equals + 3, token.ended and -#equals - 3 or -1) end
  return text:sub(2, token.ended and -2 or -1)
end

return lexer
