-- Writes the response of nightjar get, post and so on.
local nightjar = require "nightjar"
local bodies = require "nightjar.command.show_bodies"
local items = require "nightjar.command.items"
local json_text = require "nightjar.command.json_text"
local output = require "nightjar.command.output"
local profiles = require "nightjar.command.profiles"
local show = require "nightjar.command.show"
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"

local call_response = {}

-- Reports an error on standard error.
function call_response.complain(err)
  io.stdout:flush()
  local shown = terminal.is_terminal(2) and show.error(err, text.painter(text.has_colors(2)), true)
  io.stderr:write("nightjar: ", shown or require("nightjar.command.hints").command_message(tostring(err)), "\n")
end

-- Reports the error that ended a command, which is a usage error, an error of a call or a message. Returns the exit status.
function call_response.fail(command, err)
  io.stdout:flush()
  if items.is_usage(err) then
    io.stderr:write(("nightjar %s: %s\nTry 'nightjar %s --help'.\n"):format(command, err.message, command))
    return 2
  end
  if type(err) == "userdata" then
    call_response.complain(err)
  else
    io.stderr:write("nightjar: ", tostring(err), "\n")
  end
  return 1
end

-- Returns the JSON text of a body; nil and an error if it is not JSON.
local function json_of(res)
  local value, err = nightjar.try(function() return res.json end)
  if value == nil and err then return nil, err end
  return res.text
end

-- Writes the picked parts of the response. Returns whether all of them exist.
local function write_picked(res, options)
  local body, err = json_of(res)
  if not body then
    call_response.complain(err)
    return false
  end
  local is_whole = true
  for _, pointer in ipairs(options.pick) do
    local part = json_text.pick(body, pointer)
    if part then
      local is_text = json_text.kind(part) == "scalar"
      output.json(part, options.output or (is_text or not output.is_terminal()) and "raw" or "json")
    else
      is_whole = false
      io.stdout:flush()
      io.stderr:write(("nightjar: the response has no value at %s\n"):format(text.safe(pointer)))
    end
  end
  return is_whole
end

-- Writes the body, or the parts of it that the options select. Without an output format, the body is formatted on a
-- terminal and otherwise unchanged.
local function write_body(res, options)
  if #options.pick > 0 then return write_picked(res, options) end
  if options.output and options.output ~= "raw" then
    if #res.body == 0 then return true end
    local body, err = json_of(res)
    if body then
      output.json(body, options.output)
    else
      call_response.complain(err)
    end
    return body ~= nil
  end
  if options.output == "raw" or not output.is_terminal() then
    io.stdout:write(res.body)
    return true
  end
  local shown = bodies.body(res, output.painter())
  if shown then io.stdout:write(shown, shown:sub(-1) == "\n" and "" or "\n") end
  return true
end

-- Returns which parts of the messages are written: request, head, body.
local function parts_of(verb, options)
  if options.verbose then return true, true, true end
  if options.headers or verb == "head" then return false, true, options.body end
  if options.body or options.output or #options.pick > 0 then return false, false, true end
  return false, output.is_terminal(), true
end

-- Returns the response with another text as its body.
local function with_body(res, body)
  return setmetatable({ body = body, text = body }, { __index = function(_, name) return res[name] end })
end

-- Returns the response. The secret strings of a JSON body are masked.
local function masked(res)
  if not json_of(res) then return res end
  return with_body(res, json_text.mask(res.text, profiles.is_secret))
end

-- Writes the parts of the request and the response that the options select. `res` is nil if there is no response. If
-- `options.part` is a text, it is written in place of the body.
-- @return false if a picked part does not exist, or if the body is not JSON and an option requires JSON
function call_response.write(res, err, verb, options)
  local has_request, has_head, has_body = parts_of(verb, options)
  if has_request then io.stdout:write(output.request(err or res, res and res.http_version) or "") end
  if not res then return true end
  if has_head then io.stdout:write(output.head(res, options.verbose), has_body and "\n" or "") end
  if not has_body then return true end
  if options.part then res = with_body(res, options.part) end
  if options.verbose then res = masked(res) end
  -- The options that select and format parts of the body do not apply to errors.
  if err then return write_body(res, { pick = {} }) end
  return write_body(res, options)
end

-- --- Streamed bodies ---

-- Returns whether the body can be written as it arrives.
function call_response.is_streamed(options)
  if options.stream or options.lines then return true end
  return not (options.verbose or options.headers or #options.pick > 0 or options.output and options.output ~= "raw")
    and not output.is_terminal()
end

-- Writes each line of the body, or each JSON value that the options select. Returns whether all picked parts exist.
local function write_lines(res, options)
  if not options.output and #options.pick == 0 then
    for line in res:lines() do
      io.stdout:write(output.is_terminal() and text.safe(line, { ["\t"] = true }) or line, "\n")
      io.stdout:flush()
    end
    return true
  end
  local is_whole, write, finish = true, output.stream(options.output or "ndjson")
  for value in res:ndjson() do
    local item = nightjar.json.encode(value)
    if #options.pick == 0 then write(item) end
    for _, pointer in ipairs(options.pick) do
      local part = json_text.pick(item, pointer)
      is_whole = is_whole and part ~= nil
      if part and not options.output then output.json(part, "raw") elseif part then write(part) end
    end
    io.stdout:flush()
  end
  finish()
  if not is_whole then io.stderr:write "nightjar: not every line has a value at each JSON Pointer of -f\n" end
  return is_whole
end

function call_response.write_stream(res, verb, options)
  local _, has_head, has_body = parts_of(verb, options)
  if has_head then io.stdout:write(output.head(res), "\n") end
  if not has_body then return res:close() end
  if options.lines then return write_lines(res, options) end
  local is_terminal = output.is_terminal()
  for part in res:chunks() do
    io.stdout:write(is_terminal and text.safe(part, { ["\n"] = true, ["\t"] = true, ["\r"] = true }) or part)
    io.stdout:flush()
  end
end

return call_response
