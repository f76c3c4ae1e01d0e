-- What has worked in a session as a test that replays it: .save test. The test has the statements, and what came of them as what is
-- expected; a cassette for each client has what the servers have answered. Secrets are in neither: what stands in their place is the
-- same in both.
local nightjar = require "nightjar"
local keep = require "nightjar.command.keep"
local scrub = require "nightjar.command.scrub"
local session = require "nightjar.command.session"
local statements = require "nightjar.command.statements"
local terminal = require "nightjar.command.terminal"

local fixture = {}

local function indented(text) return text:find("\n", 1, true) and text or "  " .. text end

local function short(text)
  text = text:match "^[^\n]*"
  return #text > 60 and text:sub(1, 57) .. "..." or text
end

local function statement_of(chunk, replaced)
  local text = scrub.statement(chunk.text, replaced)
  if chunk.file then text = ("assert(loadfile(%q, \"t\", _ENV))()"):format(chunk.file) end
  return keep.statement(chunk, text)
end

-- The lines of the function of the test `t`, and what is to be told of them.
local function body_of(chunks, replaced, told, t)
  local lines = {}
  for _, chunk in ipairs(chunks) do
    lines[#lines + 1] = indented(statement_of(chunk, replaced))
    if chunk.file then told[#told + 1] = ("it runs %s, with the environment that this needs"):format(chunk.file) end
    for _, expected in ipairs(chunk.expected or {}) do
      local path, value, sign = expected[1], scrub.literal(expected[2], replaced), expected[3] or ""
      if value and (not chunk.depends or path ~= "") and not chunk.is_nil and (path ~= "" or not statements.is_unlike(chunk.text)) then
        lines[#lines + 1] = ("  %s:equal(%s_%s, %s)"):format(t, sign, path, value)
      end
    end
  end
  return table.concat(lines, "\n")
end

local function name_of(path) return (path:match "([^/]*)$":gsub("%.lua$", ""):gsub("_test$", ""):gsub("^test_", "")) end

local function text_of(path, files, body, t)
  local quoted = {}
  for index, file in ipairs(files) do quoted[index] = ("%q"):format(file:match "[^/]*$") end
  local lines = {
    "-- Saved at the prompt of nightjar: what worked there, with what the servers answered. nightjar test runs it, without a network.",
    "-- Secrets are not in it: scrubbed-1 and so on stand in their place.",
    ("test(%q, function(%s)"):format(name_of(path) .. ": as it was at the prompt", t),
  }
  if #quoted > 0 then lines[#lines + 1] = ("  %s:replay(%s)"):format(t, table.concat(quoted, ", ")) end
  lines[#lines + 1] = body
  lines[#lines + 1] = "end)\n"
  return table.concat(lines, "\n")
end

-- Steps that begin a login with the browser, which nobody would answer: the test has tokens in its place.
local function browser_logins(chunks, reasons)
  local is_there = false
  for _, chunk in ipairs(chunks) do
    is_there = is_there or statements.has(chunk.text, "string", "authorization_code")
    if is_there and statements.has(chunk.text, "name", "log_in") then
      reasons[chunk.step] = "a login with the browser is not replayed: a token stands in its place"
    end
  end
end

-- What keeps chunks from being replayed, by their steps: what is lost, what would ask for something else each time, and what
-- reads a name that one of them gives its value.
local function add_reasons(chunks, saved, replaced, reasons)
  local changed, missing, there, active = {}, {}, {}, {}
  for _, loss in ipairs(saved.losses) do reasons[loss[1]] = loss[2] end
  for _, step in ipairs(saved.active) do active[step] = true end
  for _, chunk in ipairs(chunks) do
    local text = scrub.statement(chunk.text, replaced)
    local given, read = statements.names_of(text)
    chunk.depends = statements.depends_on_chance(text, changed)
    if chunk.is_expression and not chunk.is_nil and not chunk.failed then
      given._ = true
      changed._ = chunk.depends or nil
    end
    if chunk.depends and active[chunk.step] and not reasons[chunk.step] then
      reasons[chunk.step] = "it depends on the time or on chance"
    end
    for name in pairs(read) do
      if missing[name] and not reasons[chunk.step] then
        reasons[chunk.step] = name == "_" and "the result before it is not there" or name .. " is not there"
      end
    end
    for name in pairs(given) do
      if chunk.failed then
        missing[name] = not there[name] or nil -- It may have come to this, or not.
      else
        missing[name] = reasons[chunk.step] and true or nil
        there[name] = not reasons[chunk.step] or nil
      end
    end
  end
end

-- Those chunks that can be replayed, and the cassettes. Adds to what is told why the others cannot.
local function record(chunks, told)
  local reasons, kept = {}, {}
  local texts, names = scrub.typed(chunks)
  local function cassettes(of)
    local steps = nightjar.array {}
    for _, chunk in ipairs(of) do
      if not reasons[chunk.step] and not chunk.failed then steps[#steps + 1] = chunk.step end
    end
    return session.cassettes { steps = steps, secrets = texts, names = names }
  end
  browser_logins(chunks, reasons)
  local saved = cassettes(chunks)
  add_reasons(chunks, saved, scrub.places(saved.names), reasons)
  -- Without what those have asked for that are left out.
  saved = cassettes(chunks)
  local replaced = scrub.places(saved.names)
  for _, chunk in ipairs(chunks) do
    local reason = reasons[chunk.step]
    if reason and not chunk.failed then
      told[#told + 1] = ("not in it: %s (%s)"):format(short(scrub.statement(chunk.text, replaced)), scrub.without(reason, replaced))
    elseif not chunk.failed then
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
-- @param force whether a file that .save has not written is overwritten too
function fixture.save(path, force)
  if not path:find "[^/]%.lua$" then return nil, "the file of a test is called NAME_test.lua, as in .save test api_test.lua" end
  local all, told = keep.chunks(), {}
  local chunks, cassettes, replaced = record(all, told)
  if #chunks == 0 then
    return nil, #told == 0 and "nothing has worked yet" or "nothing can be replayed\n" .. table.concat(told, "\n")
  end
  local files = cassette_paths(path, #cassettes)
  local t = statements.free_name(chunks)
  local text = text_of(path, files, body_of(chunks, replaced, told, t), t)
  local chunk, problem = load(text, "=" .. path, "t")
  if not chunk then return nil, "the lines make no test together: " .. problem end
  local exchanges, overwritten = 0, nightjar.fs.exists(path)
  if not force and overwritten and keep.is_foreign(path) then
    return nil, path .. " is there, and .save has not written it; .save! test overwrites it"
  end
  if scrub.has_secret(text, replaced) then return nil, "a secret would be in it; call what has its name otherwise" end
  for index, cassette in ipairs(cassettes) do
    exchanges = exchanges + cassette.exchanges
    if scrub.has_secret(cassette.text, replaced) then return nil, "a secret would be in " .. files[index] end
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
