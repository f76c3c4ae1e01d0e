-- What has worked in a session as a test that replays it: .save test. The test has the statements, and what came of them as what is
-- expected; a cassette for each client has what the servers have answered. Secrets are in neither: what stands in their place is the
-- same in both.
local nightjar = require "nightjar"
local keep = require "nightjar.command.keep"
local lexer = require "nightjar.command.lexer"
local secrets = require "nightjar.command.secrets"
local session = require "nightjar.command.session"
local terminal = require "nightjar.command.terminal"

local fixture = {}

-- Bytes of a value that a test expects as a whole, of a body that such a value may be in, levels within a value, and bytes of a
-- secret that is looked for everywhere, as the cassettes have it.
local longest_value, longest_body, deepest, shortest_secret = 1024, 8192, 20, 6

-- --- Values ---

local function string_literal(value)
  return (("%q"):format(value):gsub("\\\n", "\\n"):gsub("%c", function(letter) return ("\\%03d"):format(letter:byte()) end))
end

local function number_literal(value)
  if math.type(value) == "integer" then return ("%q"):format(value) end
  if value ~= value or value == math.huge or value == -math.huge then return nil end
  return ("%.17g"):format(value)
end

local literal

local function table_literal(value, depth, budget)
  if depth > deepest then return nil end
  local keys, pieces, count = {}, {}, #value
  for key in next, value do
    if math.type(key) ~= "integer" or key < 1 or key > count then
      if type(key) ~= "string" then return nil end
      keys[#keys + 1] = key
    end
    if #keys > longest_value then return nil end
  end
  table.sort(keys)
  local function add(name, item)
    local text = literal(item, depth + 1, budget)
    if not text then return false end
    pieces[#pieces + 1] = name .. text
    budget.left = budget.left - #name - 2
    return budget.left >= 0
  end
  for index = 1, count do
    if not add("", rawget(value, index)) then return nil end
  end
  for _, key in ipairs(keys) do
    local is_name = key:find "^[%a_][%w_]*$" and load(key .. " = 1")
    if not add(is_name and key .. " = " or ("[%s] = "):format(string_literal(key)), rawget(value, key)) then return nil end
  end
  return #pieces == 0 and "{}" or "{ " .. table.concat(pieces, ", ") .. " }"
end

-- The value as Lua text; nil of what no text can be written for, or too long a one.
function literal(value, depth, budget)
  local kind, text = type(value), nil
  if kind == "string" then
    text = #value <= budget.left and utf8.len(value) and string_literal(value) or nil
  elseif kind == "number" then
    text = number_literal(value)
  elseif kind == "nil" or kind == "boolean" then
    text = tostring(value)
  elseif rawequal(value, nightjar.null) then
    text = "nightjar.null"
  elseif kind == "table" then
    return table_literal(value, depth, budget)
  end
  if not text then return nil end
  budget.left = budget.left - #text
  return budget.left >= 0 and text or nil
end

function fixture.literal(value) return literal(value, 1, { left = longest_value }) end

local function kind_of(value)
  local meta = type(value) == "userdata" and debug.getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__name") or nil
end

-- What came of an expression, as a test can expect it: a list of { what is looked at, of "_", and its literal }. `_` may change
-- after this.
function fixture.expected(value)
  if kind_of(value) == "nightjar.response" then
    local expected = { { ".status", tostring(value.status) } }
    local ok, json = pcall(function()
      local is_json = tostring(value.headers["content-type"] or ""):find "json"
      return is_json and #value.body <= longest_body and fixture.literal(value.json)
    end)
    if ok and json then expected[2] = { ".json", json } end
    return expected
  end
  local text = fixture.literal(value)
  -- Where something lies in memory is another place next time.
  if text and not text:find "0x%x%x%x%x" then return { { "", text } } end
  if type(value) == "table" and debug.getmetatable(value) == nil and #value > 0 then return { { "", tostring(#value), "#" } } end
  return {}
end

-- --- What is not the same each time ---

local changing = {}
for word in ([[os io random time timing now clock uuid env limits explain collectgarbage process]]):gmatch "%w+" do
  changing[word] = true
end

-- Whether what the statement comes to may depend on the time or on chance; `names` are those that hold such values. What it gives
-- a value to is added to them.
local function depends_on_chance(text, names)
  local tokens, depends = lexer.tokens(text), false
  for _, token in ipairs(tokens) do
    local word = token.kind == "name" and lexer.text(text, token)
    if word and (changing[word] or names[word]) then depends = true end
  end
  for index, token in ipairs(tokens) do
    local after = tokens[index + 1]
    if token.kind == "name" and after and lexer.text(text, after) == "=" then
      names[lexer.text(text, token)] = depends or nil
    end
  end
  return depends
end

local verbs = { get = true, post = true, put = true, patch = true, delete = true, request = true, batch = true, paginate = true }

local function calls(text)
  local tokens = lexer.tokens(text)
  for index, token in ipairs(tokens) do
    if token.kind == "name" and verbs[lexer.text(text, token)] and index > 1 and lexer.text(text, tokens[index - 1]) == ":" then
      return true
    end
  end
  return false
end

-- --- Secrets ---

-- What of a text literal is the secret: { before, secret, after }.
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
  return ok and type(value) == "string" and value or nil
end

-- The ways in which a text stands in requests.
local function spellings(text)
  local encoded = text:gsub("[^%w%-._~]", function(byte) return ("%%%02X"):format(byte:byte()) end)
  return { text, encoded, (encoded:gsub("%%20", "+")), (nightjar.json.encode(text):sub(2, -2)) }
end

-- What is secret among what was typed: texts, and the names of those that are too short to be looked for everywhere.
local function typed_secrets(chunks)
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
    for _, variable in ipairs(secrets.environment(chunk.text)) do
      if variable.is_secret then add(os.getenv(variable.variable), variable.name) end
    end
  end
  return texts, names
end

-- What stands in the place of secrets: `exact` by whole texts, `everywhere` a list, the longest first.
local function places(names)
  local exact, everywhere = {}, {}
  for _, entry in ipairs(names) do
    exact[entry[1]] = entry[2]
    if entry[3] then everywhere[#everywhere + 1] = entry end
  end
  table.sort(everywhere, function(a, b) return #a[1] > #b[1] end)
  return { exact = exact, everywhere = everywhere }
end

local function without(text, replaced)
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

local function replacement(value, replaced)
  local pieces = parts(value)
  return string_literal(pieces[1] .. (replaced.exact[pieces[2]] or "scrubbed-0") .. pieces[3])
end

-- The statement with what stands in the place of its secrets, and of the variables of the environment that it reads.
local function clean(source, replaced)
  local changes = {}
  for _, secret in ipairs(secrets.find(source)) do
    local value = value_of(source, secret)
    changes[secret.first] = { secret.last, value and replacement(value, replaced) or '"scrubbed-0"' }
  end
  for _, variable in ipairs(secrets.environment(source)) do
    local value = os.getenv(variable.variable)
    local text = "nil"
    if value then text = variable.is_secret and replacement(value, replaced) or string_literal(without(value, replaced)) end
    changes[variable.first] = { variable.last, text }
  end
  local pieces, position = {}, 1
  for _, token in ipairs(lexer.tokens(source)) do
    local change = changes[token.first]
    if not change and token.first >= position and (token.kind == "string" or token.kind == "comment") then
      local text = lexer.text(source, token)
      local other = without(text, replaced)
      if other ~= text then change = { token.last, other } end
    end
    if change and token.first >= position then
      pieces[#pieces + 1] = source:sub(position, token.first - 1) .. change[2]
      position = change[1] + 1
    end
  end
  return table.concat(pieces) .. source:sub(position)
end

-- A literal that is expected, with what stands in the place of secrets; nil where that cannot be told, because something in it is
-- a secret elsewhere and too short to be looked for.
local function clean_literal(source, replaced)
  for _, token in ipairs(lexer.tokens(source)) do
    local content = token.kind == "string" and value_of(source, token) or token.kind == "number" and lexer.text(source, token)
    if content and replaced.exact[content] and (#content < shortest_secret or token.kind == "number") then return nil end
  end
  return without(source, replaced)
end

-- Whether a text that is to be written has a secret in it after all.
local function has_secret(text, replaced)
  for _, entry in ipairs(replaced.everywhere) do
    if text:find(entry[1], 1, true) then return true end
  end
  return false
end

-- --- The test ---

local function indented(text) return text:find("\n", 1, true) and text or "  " .. text end

local function short(text)
  text = text:match "^[^\n]*"
  return #text > 60 and text:sub(1, 57) .. "..." or text
end

local function statement_of(chunk, replaced)
  local text = clean(chunk.text, replaced)
  if chunk.file then text = ("assert(loadfile(%q, \"t\", _ENV))()"):format(chunk.file) end
  return keep.statement(chunk, text)
end

-- The lines of the test's function, and what is to be told of them.
local function body_of(chunks, replaced, told)
  local lines, names, changes = {}, {}, {}
  for _, chunk in ipairs(chunks) do
    local text = statement_of(chunk, replaced)
    local depends = depends_on_chance(clean(chunk.text, replaced), names)
    if chunk.is_expression then names._ = depends or nil end
    lines[#lines + 1] = indented(text)
    if depends and calls(chunk.text) then changes[#changes + 1] = short(text) end
    for _, expected in ipairs(chunk.expected or {}) do
      local path, value, sign = expected[1], clean_literal(expected[2], replaced), expected[3] or ""
      if value and (not depends or path ~= "") and not chunk.is_nil then
        lines[#lines + 1] = ("  t:equal(%s_%s, %s)"):format(sign, path, value)
      end
    end
  end
  for index, text in ipairs(changes) do
    if index <= 5 then told[#told + 1] = "it depends on the time or on chance, and may ask for something else: " .. text end
  end
  return table.concat(lines, "\n")
end

local function name_of(path) return (path:match "([^/]*)$":gsub("%.lua$", ""):gsub("_test$", ""):gsub("^test_", "")) end

local function text_of(path, files, body)
  local quoted = {}
  for index, file in ipairs(files) do quoted[index] = ("%q"):format(file:match "[^/]*$") end
  local lines = {
    "-- Saved at the prompt of nightjar: what worked there, with what the servers answered. nightjar test runs it, without a network.",
    "-- Secrets are not in it: scrubbed-1 and so on stand in their place.",
    ("test(%q, function(t)"):format(name_of(path) .. ": as it was at the prompt"),
  }
  if #quoted > 0 then lines[#lines + 1] = ("  t:replay(%s)"):format(table.concat(quoted, ", ")) end
  lines[#lines + 1] = body
  lines[#lines + 1] = "end)\n"
  return table.concat(lines, "\n")
end

-- Those chunks that can be replayed, and the cassettes. Adds to what is told why the others cannot.
local function record(chunks, told)
  local steps, reasons, kept = {}, {}, {}
  for index, chunk in ipairs(chunks) do steps[index] = chunk.step end
  local texts, names = typed_secrets(chunks)
  local saved = session.cassettes { steps = steps, secrets = texts, names = names }
  local replaced = places(saved.names)
  for _, loss in ipairs(saved.losses) do reasons[loss[1]] = loss[2] end
  for _, chunk in ipairs(chunks) do
    local reason = reasons[chunk.step]
    if reason then
      told[#told + 1] = ("not in it: %s (%s)"):format(short(clean(chunk.text, replaced)), without(reason, replaced))
    else
      kept[#kept + 1] = chunk
    end
  end
  return kept, saved.cassettes, replaced
end

local function count_of(count, noun) return ("%d %s%s"):format(count, noun, count == 1 and "" or "s") end

local function cassette_paths(path, count)
  local base, files = path:gsub("%.lua$", ""), {}
  for index = 1, count do files[index] = index == 1 and base .. ".json" or ("%s-%d.json"):format(base, index) end
  return files
end

-- Writes the test and its cassettes, for their owner alone.
-- @return a list of what to tell, or nil and why nothing was written
function fixture.save(path)
  if not path:find "[^/]%.lua$" then return nil, "the file of a test is called NAME_test.lua, as in .save test api_test.lua" end
  local all, told = keep.chunks(), {}
  if #all == 0 then return nil, "nothing has worked yet" end
  local chunks, cassettes, replaced = record(all, told)
  if #chunks == 0 then return nil, "nothing of it can be replayed\n" .. table.concat(told, "\n") end
  local files = cassette_paths(path, #cassettes)
  local text = text_of(path, files, body_of(chunks, replaced, told))
  local chunk, problem = load(text, "=" .. path, "t")
  if not chunk then return nil, "the lines make no test together: " .. problem end
  local exchanges, overwritten = 0, nightjar.fs.exists(path)
  if has_secret(text, replaced) then return nil, "a secret would be in it; call what has its name otherwise" end
  for index, cassette in ipairs(cassettes) do
    exchanges = exchanges + cassette.exchanges
    if has_secret(cassette.text, replaced) then return nil, "a secret would be in " .. files[index] end
    overwritten = overwritten or nightjar.fs.exists(files[index])
  end
  for index, cassette in ipairs(cassettes) do
    local ok, message = terminal.write_private(files[index], cassette.text, false)
    if not ok then return nil, message end
  end
  local ok, message = terminal.write_private(path, text, false)
  if not ok then return nil, message end
  local head = ("%s in %s"):format(count_of(#chunks, "line"), path)
  if #files > 0 then head = ("%s, %s in %s"):format(head, count_of(exchanges, "exchange"), table.concat(files, ", ")) end
  table.insert(told, 1, head .. (overwritten and ", in the place of what was there" or ""))
  if session.background() > 0 then
    told[#told + 1] = "tasks of the background still run: the test fails unless it ends them"
  end
  told[#told + 1] = "nightjar test " .. path .. " runs it"
  return told
end

return fixture
