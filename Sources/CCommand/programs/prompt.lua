-- The prompt: reads, evaluates and prints until the input ends. On a terminal, lines are edited while background tasks
-- continue. Otherwise, and on a terminal without cursor control (TERM=dumb), lines are read without editing.
local nightjar = require "nightjar"
local session = require "nightjar.command.session"
local terminal = require "nightjar.command.terminal"

local prompt = {}

-- Returns the input as a function, and whether the input is an expression. Returns nil and the error if the input is
-- invalid.
local function load_chunk(source)
  source = source:gsub("^%s*=", "")
  local expression = load("return " .. source, "=stdin", "t")
  if expression then return expression, true end
  local chunk, message = load(source, "=stdin", "t")
  return chunk, chunk and false or message
end

-- Returns whether further lines could complete the input.
function prompt.is_incomplete(source)
  local chunk, message = load_chunk(source)
  return not chunk and message:sub(-5) == "<eof>"
end

local settings -- is_terminal, is_input_terminal, is_edited, colors, error_colors

-- --- Evaluating ---

-- Returns the traceback without the levels of the prompt.
local function traceback(err)
  if type(err) ~= "string" then return err end
  return (debug.traceback(err, 2):gsub("\n\t%[C%]: in function 'xpcall'.*$", ""))
end

-- The number of evaluations so far. The session records exchanges under this number.
local steps = 0

-- Runs the chunk as the foreground task. Tasks that it spawned continue in the background.
-- @return true and the results, or false and the error
local function evaluate(chunk)
  steps = steps + 1
  session.step(steps)
  local task = nightjar.spawn(function()
    local results = table.pack(xpcall(chunk, traceback))
    session.release()
    return table.unpack(results, 1, results.n)
  end)
  session.foreground(task)
  local results = table.pack(pcall(task.join, task))
  session.foreground()
  if settings.is_terminal then require("nightjar.command.progress").clear() end
  if not results[1] then return false, task.cancelled and "interrupted" or results[2] end
  return table.unpack(results, 2, results.n)
end

-- --- Printing ---

local function print_results(results)
  if not settings.is_terminal then return print(table.unpack(results, 2, results.n)) end
  local show = require "nightjar.command.show"
  if settings.is_edited then require("nightjar.command.editor").end_line() end
  for index = 2, results.n do
    local ok, shown = pcall(show.value, results[index], { colors = settings.colors })
    io.stdout:write(ok and shown or tostring(shown), "\n")
  end
end

local function print_error(err)
  if not settings.is_terminal then
    io.stderr:write("nightjar: ", tostring(err), "\n")
    return
  end
  local ok, shown = pcall(require("nightjar.command.show").error, err,
    require("nightjar.command.text").painter(settings.error_colors))
  io.stderr:write(ok and shown or tostring(err), "\n")
end

local function report(message) io.stderr:write(message, "\n") end

local function print_failures()
  for _, failure in ipairs(session.failures()) do
    report "a background task failed:"
    print_error(failure.error)
  end
end

-- --- Commands ---

local commands = {}

function commands.help(argument)
  local help = require "nightjar.command.help"
  io.stdout:write(help.about(argument ~= "" and argument or nil, { colors = settings.colors, width = terminal.width() }), "\n")
end

function commands.quit() return true end

function commands.trace(argument)
  if argument ~= "on" and argument ~= "off" then return report "usage: .trace on|off" end
  terminal.trace(argument == "on")
end

function commands.save(argument, force)
  local test = argument:match "^test%s+(.+)$"
  if argument == "" or argument == "test" then return report "usage: .save script.lua, or .save test api_test.lua" end
  if not test then
    local reported, message = require("nightjar.command.keep").save(argument, force)
    return report(reported or ".save: " .. message)
  end
  local ok, reported, message = pcall(require("nightjar.command.fixture").save, test, force)
  if not ok then return print_error(reported) end
  report(reported and table.concat(reported, "\n") or ".save: " .. message)
end

function commands.load(argument)
  if argument == "" then return report "usage: .load script.lua" end
  local chunk, message = loadfile(argument)
  if not chunk then return print_error(message) end
  local ok, err = evaluate(chunk)
  if not ok then return print_error(err) end
  require("nightjar.command.keep").add { text = ("dofile(%q)"):format(argument), step = steps, file = argument }
end

-- @return whether the prompt ends
local function run_command(line)
  local name, force, argument = line:match "^%s*%.(%a+)(!?)%s*(.-)%s*$"
  if commands[name] and (force == "" or name == "save") then return commands[name](argument, force == "!") end
  local names = {}
  for known in pairs(commands) do names[#names + 1] = known end
  local near = require("nightjar.command.hints").nearest(name, names)
  report(("unknown command .%s; %s"):format(name, near and "did you mean ." .. near .. "?" or ".help lists the commands"))
end

-- --- Reading ---

-- Waits for input. Returns whether Ctrl-C was typed.
local function wait()
  session.attend(true)
  local is_interrupted = false
  repeat
    print_failures()
    if settings.is_edited then require("nightjar.command.editor").refresh() end
    session.await_input()
    is_interrupted = session.was_interrupted()
  until is_interrupted or terminal.is_readable(0)
  session.attend(false)
  return is_interrupted
end

local readers = {}

function readers.edited(mark)
  return require("nightjar.command.editor").read(mark)
end

function readers.plain(mark)
  io.stdout:write(mark)
  io.stdout:flush()
  if settings.is_input_terminal and wait() then
    io.stdout:write "\n"
    return false
  end
  return terminal.read_line()
end

-- Reads the input of one chunk, which may be several lines; nil at the end of the input, "" if Ctrl-C discarded it.
local function read_chunk(read)
  local source = read "> "
  if not source then return source == false and "" or nil end
  if source:find "^%s*%.%a" then return source end
  while prompt.is_incomplete(source .. "\n") do
    local line = read ">> "
    if line == false then return "" end
    if not line then break end
    source = source .. "\n" .. line
  end
  return source
end

-- --- The session ---

local function open_editor()
  local editor = require "nightjar.command.editor"
  local complete = require "nightjar.command.complete"
  editor.open(wait, complete.at)
  for _, entry in ipairs(require("nightjar.command.history").load()) do editor.remember(entry) end
  local is_writable = true
  return function(source)
    editor.remember(source)
    if not is_writable then return end
    local ok, message = require("nightjar.command.history").add(source)
    if not ok then
      is_writable = false
      report("the history cannot be saved: " .. message)
    end
  end
end

local function define_globals()
  _G.nightjar = nightjar
  if not settings.is_terminal then return end
  function _G.help(...)
    local value = ...
    local about = require("nightjar.command.help").about(value, { colors = settings.colors, width = terminal.width() })
    io.stdout:write(about, "\n")
  end
  local progress = require "nightjar.command.progress"
  nightjar.map = progress.map(nightjar.map)
  progress.follow_chunks()
  progress.follow_calls()
end

-- Returns whether the text contains the name as a separate token.
local function mentions(source, name)
  for _, token in ipairs(require("nightjar.command.lexer").tokens(source)) do
    if token.kind ~= "string" and token.kind ~= "comment" and source:sub(token.first, token.last) == name then return true end
  end
  return false
end

-- The last error of the session, which is in the global `err`.
local last_error

local function keep_error(err)
  if not settings.is_terminal or err == nil then return end
  last_error = err
  _G.err = err
end

-- Returns whether a line reads the error of a failed line. A saved script does not contain the failed line.
local function reads_error(source) return last_error ~= nil and rawget(_G, "err") == last_error and mentions(source, "err") end

local function is_response(value)
  return type(value) == "userdata" and require("nightjar.command.show").kind(value) == "nightjar.response"
end

-- Evaluates one input. Returns whether the prompt ends.
local function run_line(source)
  if source:find "^%s*%.%a" then return run_command(source) end
  local chunk, is_expression = load_chunk(source)
  if not chunk then
    print_error(is_expression)
    return false
  end
  local of_error = reads_error(source)
  local results = table.pack(evaluate(chunk))
  if not results[1] then
    print_error(results[2])
    keep_error(results[2])
    require("nightjar.command.keep").add { text = source, step = steps, failed = true }
    return false
  end
  local expected = is_expression and results.n > 1 and require("nightjar.command.expected").of(results[2]) or nil
  if results.n > 1 then
    if results[2] ~= nil then _G._ = results[2] end
    if settings.is_terminal and is_response(results[2]) then _G.res = results[2] end
    local ok, err = pcall(print_results, results)
    if not ok then print_error(err) end
  end
  require("nightjar.command.keep").add {
    text = source:gsub("^%s*=", ""), step = steps, is_expression = is_expression, expected = expected,
    is_nil = results.n < 2 or results[2] == nil, returns = not is_expression and results.n > 1,
    is_response = settings.is_terminal and is_response(results[2]), failed = of_error or nil,
  }
  return false
end

function prompt.run()
  local kind = os.getenv "TERM"
  settings = {
    is_input_terminal = terminal.is_terminal(0),
    is_terminal = terminal.is_terminal(0) and terminal.is_terminal(1),
  }
  local is_edited = settings.is_terminal and kind ~= nil and kind ~= "" and kind ~= "dumb"
  settings.is_edited = is_edited
  if settings.is_terminal then
    local text = require "nightjar.command.text"
    settings.colors, settings.error_colors = text.has_colors(1), text.has_colors(2)
  end
  session.begin()
  define_globals()
  local remember = is_edited and open_editor()
  local read = is_edited and readers.edited or readers.plain
  while true do
    print_failures()
    local source = read_chunk(read)
    if not source then break end
    if source:find "%S" then
      if remember then remember(source) end
      if run_line(source) then
        session.cancel_background()
        return 0
      end
    end
  end
  io.stdout:write "\n"
  session.cancel_background()
  return 0
end

return prompt.run
