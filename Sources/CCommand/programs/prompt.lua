-- The prompt: reads, evaluates, prints, until the input ends.
local nightjar = require "nightjar"
local session = require "nightjar.command.session"
local terminal = require "nightjar.command.terminal"

-- What was typed as a function: an expression, whose values it returns, or statements; or nil and why not.
local function load_line(text)
  local expression = load("return " .. text, "=stdin", "t")
  if expression then return expression end
  return load(text, "=stdin", "t")
end

local function is_incomplete(text)
  local chunk, message = load_line(text)
  return not chunk and message:sub(-5) == "<eof>"
end

local function read_chunk()
  io.stdout:write("> ")
  local text = terminal.read_line()
  if not text then return nil end
  while is_incomplete(text .. "\n") do
    io.stdout:write(">> ")
    local line = terminal.read_line()
    if not line then break end
    text = text .. "\n" .. line
  end
  return text
end

-- Runs the chunk as the task in the foreground. What it has spawned goes on behind it.
local function evaluate(chunk)
  local task = nightjar.spawn(function()
    local results = table.pack(xpcall(chunk, function(err)
      return type(err) == "string" and debug.traceback(err, 2) or err
    end))
    session.release()
    return table.unpack(results, 1, results.n)
  end)
  session.foreground(task)
  local results = table.pack(pcall(task.join, task))
  session.foreground()
  if not results[1] then return false, task.cancelled and "interrupted" or results[2] end
  return table.unpack(results, 2, results.n)
end

return function()
  _G.nightjar = nightjar
  session.begin()
  for text in read_chunk do
    local chunk, message = load_line(text)
    local results = table.pack(chunk ~= nil, message)
    if chunk then results = table.pack(evaluate(chunk)) end
    if not results[1] then
      io.stderr:write("nightjar: ", tostring(results[2]), "\n")
    elseif results.n > 1 then
      print(table.unpack(results, 2, results.n))
    end
  end
  io.stdout:write("\n")
  session.cancel_background()
end
