-- nightjar events: writes the events of an event stream as they arrive.
local nightjar = require "nightjar"
local call_response = require "nightjar.command.call_response"
local items = require "nightjar.command.items"
local output = require "nightjar.command.output"
local subcommand = require "nightjar.command.subcommand"
local text = require "nightjar.command.text"

local events = {}

-- Writes an event for a person: its type and id, and its data.
local function write_pretty(event)
  local paint = output.painter()
  local id = event.id ~= "" and " " .. paint("dim", text.safe(event.id)) or ""
  io.stdout:write(paint("head", text.safe(event.type)), id, "\n")
  local is_json = pcall(nightjar.json.decode, event.data)
  if is_json then output.json(event.data, "json") else io.stdout:write(text.safe(event.data, { ["\n"] = true, ["\t"] = true }), "\n") end
end

-- Writes an event as one line of JSON.
local function write_line(event)
  local ok, value = pcall(nightjar.json.decode, event.data)
  local shown = { type = event.type, id = event.id ~= "" and event.id or nil, data = event.data }
  if ok then shown.json = value end
  io.stdout:write(nightjar.json.encode(shown), "\n")
end

local writers = {
  pretty = write_pretty, ndjson = write_line, data = function(event) io.stdout:write(event.data, "\n") end,
}

local function read(words)
  local has_body = words.raw or #items.read(words.item).fields > 0
  words.accept = "text/event-stream"
  local api, request = subcommand.open(words.method or has_body and "post" or "get", words)
  if not api then return 1 end
  local options = { last_event_id = words.last_event_id }
  if words.once then options.reconnect = false end
  subcommand.add_request(options, request)
  local write = writers[words.output or output.is_terminal() and "pretty" or "ndjson"]
  local left = words.max_events or math.huge
  local stream <close> = api:events(request.path, options)
  local done, err = pcall(function()
    while left > 0 do
      local event = stream()
      if not event then return end
      left = left - 1
      write(event)
      io.stdout:flush()
    end
  end)
  if words.verbose then io.stderr:write(text.safe(stream:explain(), { ["\n"] = true }), "\n") end
  if done then return 0 end
  call_response.complain(err)
  return 1
end

-- @return the exit status
function events.run(words) return subcommand.run("events", words, read) end

return events
