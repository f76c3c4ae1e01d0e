-- For .save test: replaces the secrets in the statements and values of a test by placeholders. The cassettes of the test
-- have the same placeholders.
local nightjar = require "nightjar"
local expected = require "nightjar.command.expected"
local lexer = require "nightjar.command.lexer"
local secrets = require "nightjar.command.secrets"

local scrub = {}

-- The minimum length in bytes of a secret that is searched for in all texts. Cassettes use the same minimum.
local shortest_secret = 6

-- Splits a string literal into { before, secret, after }.
local function parts(value)
  local before, secret, after = value:match "^(.-://[^/@%s:]*:)([^/@%s]*)(@.*)$"
  if before then return { before, secret, after } end
  before, secret = value:match "^([Bb]earer%s+)(%S.*)$"
  if not before then before, secret = value:match "^([Bb]asic%s+)(%S.*)$" end
  return { before or "", secret or value, "" }
end

local function value_of(source, token)
  local chunk = load("return " .. lexer.text(source, token), "=secret", "t", {})
  local ok, value = pcall(chunk or error)
  return ok and (type(value) == "string" or type(value) == "number") and tostring(value) or nil
end

-- Returns the forms in which a text appears in requests.
local function spellings(text)
  local encoded = text:gsub("[^%w%-._~]", function(byte) return ("%%%02X"):format(byte:byte()) end)
  return { text, encoded, (encoded:gsub("%%20", "+")), (nightjar.json.encode(text):sub(2, -2)) }
end

-- A query item: separator, name and value.
local item = "([?&])([^=&#%s]+)=([^&#%s\"'%]]*)"

-- Returns the secrets in typed statements. Also returns the names of secrets that are too short to be searched for in
-- all texts.
function scrub.typed(chunks)
  local texts, names, seen = {}, {}, {}
  local function add(text, name)
    if not text or text == "" then return end
    if #text < shortest_secret and name then names[#names + 1] = name end
    local ok, ways = pcall(spellings, text)
    for _, way in ipairs(ok and ways or { text }) do
      if not seen[way] then
        seen[way] = true
        texts[#texts + 1] = way
      end
    end
  end
  for _, chunk in ipairs(chunks) do
    for _, secret in ipairs(secrets.find(chunk.text)) do
      local value = value_of(chunk.text, secret)
      if value then add(parts(value)[2], secret.name) end
    end
    for _, token in ipairs(lexer.tokens(chunk.text)) do
      if token.kind == "string" then
        for _, name, value in lexer.text(chunk.text, token):gmatch(item) do
          if secrets.is_item_name(name) then add(value, name) end
        end
      end
    end
    for _, variable in ipairs(secrets.environment(chunk.text)) do
      if variable.is_secret then add(os.getenv(variable.variable), variable.name) end
    end
  end
  return texts, names
end

-- Returns the replacements in two forms: `exact`, a table by secret; and `everywhere`, a list of those that are
-- searched for in all texts, longest first.
function scrub.places(names)
  local exact, everywhere = {}, {}
  for _, entry in ipairs(names) do
    exact[entry[1]] = entry[2]
    if entry[3] then everywhere[#everywhere + 1] = entry end
  end
  table.sort(everywhere, function(a, b) return #a[1] > #b[1] end)
  return { exact = exact, everywhere = everywhere }
end

function scrub.without(text, replaced)
  for _, entry in ipairs(replaced.everywhere) do
    local pieces, position = {}, 1
    while true do
      local first, last = text:find(entry[1], position, true)
      if not first then break end
      pieces[#pieces + 1] = text:sub(position, first - 1) .. entry[2]
      position = last + 1
    end
    if position > 1 then text = table.concat(pieces) .. text:sub(position) end
  end
  return text
end

-- Replaces the secrets in a string literal, including short secrets that are the values of query items.
local function clean_text(text, replaced)
  text = text:gsub(item, function(sign, name, value)
    local place = secrets.is_item_name(name) and replaced.exact[value]
    return place and sign .. name .. "=" .. place or nil
  end)
  return scrub.without(text, replaced)
end

local function replacement(value, replaced)
  local pieces = parts(value)
  return expected.string_literal(pieces[1] .. (replaced.exact[pieces[2]] or "scrubbed-0") .. pieces[3])
end

-- Replaces the secrets in a statement, and the environment variables that it reads.
function scrub.statement(source, replaced)
  local changes = {}
  for _, secret in ipairs(secrets.find(source)) do
    local value = value_of(source, secret)
    changes[secret.first] = { secret.last, value and replacement(value, replaced) or '"scrubbed-0"' }
  end
  for _, variable in ipairs(secrets.environment(source)) do
    local value = os.getenv(variable.variable)
    local text = "nil"
    if value then text = variable.is_secret and replacement(value, replaced) or expected.string_literal(scrub.without(value, replaced)) end
    changes[variable.first] = { variable.last, text }
  end
  local pieces, position = {}, 1
  for _, token in ipairs(lexer.tokens(source)) do
    local change = changes[token.first]
    if not change and token.first >= position and (token.kind == "string" or token.kind == "comment") then
      local text = lexer.text(source, token)
      local other = clean_text(text, replaced)
      if other ~= text then change = { token.last, other } end
    end
    if change and token.first >= position then
      pieces[#pieces + 1] = source:sub(position, token.first - 1) .. change[2]
      position = change[1] + 1
    end
  end
  return table.concat(pieces) .. source:sub(position)
end

-- Replaces the secrets in an expected literal. Returns nil if a string in the literal equals a short secret or a number
-- equals any secret, because it may be the secret or another value.
function scrub.literal(source, replaced)
  for _, token in ipairs(lexer.tokens(source)) do
    local content = token.kind == "string" and value_of(source, token) or token.kind == "number" and lexer.text(source, token)
    if content and replaced.exact[content] and (#content < shortest_secret or token.kind == "number") then return nil end
  end
  return scrub.without(source, replaced)
end

-- Returns whether a text to be written still contains a secret that is searched for in all texts.
function scrub.has_secret(text, replaced)
  for _, entry in ipairs(replaced.everywhere) do
    if text:find(entry[1], 1, true) then return true end
  end
  return false
end

return scrub
