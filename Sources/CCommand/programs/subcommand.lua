-- The steps that subcommands with a URL share: they create the client, and report the error that ends them.
local nightjar = require "nightjar"
local call_request = require "nightjar.command.call_request"
local call_response = require "nightjar.command.call_response"
local commands = require "nightjar.command.commands"
local output = require "nightjar.command.output"
local terminal = require "nightjar.command.terminal"

local subcommand = {}

-- Creates a client for the parsed words.
-- @return the client and the request, or nil after a message if the client's options are invalid
function subcommand.open(verb, words)
  local client_options, request = call_request.build(verb, words)
  local ok, api = pcall(nightjar.client, client_options)
  if not ok then
    io.stderr:write("nightjar: ", tostring(api), "\n")
    return nil
  end
  if words.trace then terminal.trace(true) end
  return api, request
end

-- Adds the members of a request to the options of a method, which has the path as an argument of its own.
function subcommand.add_request(options, request)
  for name, value in pairs(request) do
    if name ~= "path" then options[name] = value end
  end
end

-- Parses the words and calls `body` with the result.
-- @return the exit status, which `body` returns
function subcommand.run(name, words, body)
  local options = nightjar.args.parse(commands[name], words)
  output.show_all()
  local ok, status = pcall(body, options)
  io.stdout:flush()
  return ok and status or call_response.fail(name, status)
end

-- Returns the name of the command among the words of a subcommand that has several, and its position. Options before the
-- command are those of all commands.
local function command_of(name, words)
  local has_value, place = {}, 1
  for _, item in ipairs(commands[name]) do
    local last = item[#item]
    for _, word in ipairs(item) do
      if word:sub(1, 1) == "-" and last:sub(1, 1) ~= "-" then has_value[word] = true end
    end
  end
  while words[place] do
    local word = words[place]
    if word:sub(1, 1) ~= "-" then return word, place end
    if word == "--" then return nil end
    place = place + (has_value[word] and 2 or 1)
  end
end

-- Runs a command of a subcommand that has several, such as `transfers list`. `actions` has the function of each.
-- @return the exit status
function subcommand.run_part(name, words, actions)
  local part, place = command_of(name, words)
  if not actions[part] then
    nightjar.args.parse(commands[name], words) -- shows the help, or reports the error
    return 2
  end
  table.remove(words, place)
  return subcommand.run(name .. " " .. part, words, actions[part])
end

return subcommand
