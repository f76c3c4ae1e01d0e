-- .save test: saves the successful statements of a session as a test that replays them. The test contains the
-- statements and their results as expectations; a cassette for each client contains the servers' responses. Secrets are
-- replaced by the same placeholders in the test and in the cassettes.
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

-- Returns the lines of the test function with the parameter `t`, and adds notes to `reported`.
local function body_of(chunks, replaced, reported, t)
  local lines = {}
  for _, chunk in ipairs(chunks) do
    lines[#lines + 1] = indented(statement_of(chunk, replaced))
    if chunk.file then reported[#reported + 1] = ("the test runs %s and requires the same environment"):format(chunk.file) end
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
    "-- Saved at the prompt of nightjar, with the servers' responses. Run it with nightjar test; it needs no network.",
    "-- Secrets are replaced by scrubbed-1 and so on.",
    ("test(%q, function(%s)"):format(name_of(path) .. ": as at the prompt", t),
  }
  if #quoted > 0 then lines[#lines + 1] = ("  %s:replay(%s)"):format(t, table.concat(quoted, ", ")) end
  lines[#lines + 1] = body
  lines[#lines + 1] = "end)\n"
  return table.concat(lines, "\n")
end

-- Excludes steps that start a browser login, because a test runs without a user. The test uses placeholder
-- tokens instead.
local function browser_logins(chunks, reasons)
  local is_there = false
  for _, chunk in ipairs(chunks) do
    is_there = is_there or statements.has(chunk.text, "string", "authorization_code")
    if is_there and statements.has(chunk.text, "name", "log_in") then
      reasons[chunk.step] = "a browser login is not replayed; a placeholder token is used instead"
    end
  end
end

-- Adds the reasons why chunks cannot be replayed, by step: exchanges that were lost, requests that differ each time,
-- and uses of a variable that an excluded chunk sets.
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
      reasons[chunk.step] = "it depends on the time or on random values"
    end
    for name in pairs(read) do
      if missing[name] and not reasons[chunk.step] then
        reasons[chunk.step] = name == "_" and "the previous result is missing" or name .. " is missing"
      end
    end
    for name in pairs(given) do
      if chunk.failed then
        missing[name] = not there[name] or nil -- The failed chunk may have set the variable.
      else
        missing[name] = reasons[chunk.step] and true or nil
        there[name] = not reasons[chunk.step] or nil
      end
    end
  end
end

-- Returns the chunks that can be replayed, and the cassettes. Adds the reasons for excluded chunks to `reported`.
local function record(chunks, reported)
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
  -- Records again, without the exchanges of the excluded chunks.
  saved = cassettes(chunks)
  local replaced = scrub.places(saved.names)
  for _, chunk in ipairs(chunks) do
    local reason = reasons[chunk.step]
    if reason and not chunk.failed then
      reported[#reported + 1] = ("excluded: %s (%s)"):format(short(scrub.statement(chunk.text, replaced)), scrub.without(reason, replaced))
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

-- Writes the test and its cassettes, accessible only to the user.
-- @return a list of messages, or nil and the reason why the test was not written
-- @param force whether to overwrite a file that .save did not write
function fixture.save(path, force)
  if not path:find "[^/]%.lua$" then return nil, "the file name must end in .lua, as in .save test api_test.lua" end
  local all, reported = keep.chunks(), {}
  local chunks, cassettes, replaced = record(all, reported)
  if #chunks == 0 then
    return nil, #reported == 0 and "no statement has succeeded yet" or "no statement can be replayed\n" .. table.concat(reported, "\n")
  end
  local files = cassette_paths(path, #cassettes)
  local t = statements.free_name(chunks)
  local text = text_of(path, files, body_of(chunks, replaced, reported, t), t)
  local chunk, problem = load(text, "=" .. path, "t")
  if not chunk then return nil, "the statements do not form a valid test: " .. problem end
  local exchanges, overwritten = 0, nightjar.fs.exists(path)
  if not force and overwritten and keep.is_foreign(path) then
    return nil, path .. " exists and was not written by .save; use .save! test to overwrite it"
  end
  if scrub.has_secret(text, replaced) then return nil, "the test would contain a secret; rename the variable that has the secret as its name" end
  for index, cassette in ipairs(cassettes) do
    exchanges = exchanges + cassette.exchanges
    if scrub.has_secret(cassette.text, replaced) then return nil, "a secret would be written to " .. files[index] end
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
  table.insert(reported, 1, head .. (overwritten and ", overwriting the previous file" or ""))
  if session.background() > 0 then
    reported[#reported + 1] = "background tasks are still running; the test fails unless it ends them"
  end
  reported[#reported + 1] = "run it with nightjar test " .. path
  return reported
end

return fixture
