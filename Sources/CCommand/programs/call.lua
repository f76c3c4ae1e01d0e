-- nightjar get, post and so on: makes one call, or fetches all pages of a list.
local nightjar = require "nightjar"
local call_response = require "nightjar.command.call_response"
local commands = require "nightjar.command.commands"
local download = require "nightjar.command.download"
local json_text = require "nightjar.command.json_text"
local output = require "nightjar.command.output"
local subcommand = require "nightjar.command.subcommand"
local text = require "nightjar.command.text"

local call = {}

-- Writes the items of a list as its pages arrive. Returns the exit status.
function call.write_pages(list, options)
  local format = options.output or "ndjson"
  local write, finish = output.stream(format)
  local left, is_found, count = options.max_items or math.huge, {}, 0
  -- Reports the detected pagination style, because a wrong guess can end a list early.
  local is_reported = false
  local function report_guess()
    if is_reported or not list.explanation then return end
    is_reported = true
    io.stderr:write("nightjar: ", text.safe(list.explanation), "\n")
  end
  local ok, err = pcall(function()
    for page in list:pages() do
      report_guess()
      for _, item in ipairs(page.items) do
        if left <= 0 then return end
        left, count = left - 1, count + 1
        local item_text = nightjar.json.encode(item)
        if #options.pick == 0 then write(item_text) end
        for _, pointer in ipairs(options.pick) do
          local part = json_text.pick(item_text, pointer)
          if part then is_found[pointer] = true end
          if part and format == "ndjson" and not options.output then
            output.json(part, "raw")
          elseif part then
            write(part)
          end
        end
      end
      io.stdout:flush()
      if left <= 0 then return end
    end
  end)
  finish()
  if not ok then
    pcall(report_guess)
    call_response.complain(err)
  end
  for _, pointer in ipairs(ok and count > 0 and options.pick or {}) do
    if not is_found[pointer] then
      ok = false
      io.stderr:write(("nightjar: no item has a value at %s; with --paginate, -f applies to each item\n"):format(
        text.safe(pointer)))
    end
  end
  return ok and 0 or 1
end

local function paginate(api, request, options)
  return call.write_pages(api:paginate(request.path, {
    method = request.method, query = request.query, headers = request.headers, body = request.body, form = request.form,
    redirect = request.redirect, auth = request.auth, items = options.at, style = options.style, next = options.next,
    body_param = options.body_param, next_header = options.next_header,
  }), options)
end

local function send(verb, options)
  local api, request = subcommand.open(verb, options)
  if not api then return 1 end
  if options.paginate then return paginate(api, request, options) end
  if options.download and options.download ~= "-" then return download.run(api, request, verb, options) end
  request.stream = call_response.is_streamed(options) or nil
  local res, err = nightjar.try(api.request, api, request)
  if not res then
    -- With --no-follow, an unfollowed redirect is a success.
    local response = type(err) == "userdata" and err.response or nil
    local is_wanted = response and options.no_follow and response.status >= 300 and response.status < 400
    if type(err) == "userdata" then call_response.write(response, err, verb, options) end
    if is_wanted then return 0 end
    call_response.complain(err)
    return 1
  end
  if request.stream then
    local streamed, result = pcall(call_response.write_stream, res, verb, options)
    if not streamed then call_response.complain(result) end
    return streamed and result ~= false and 0 or 1
  end
  return call_response.write(res, nil, verb, options) and 0 or 1
end

-- @param verb in lower case
-- @return the exit status
function call.run(verb, words)
  local options = nightjar.args.parse(commands[verb], words)
  output.show_all()
  local ok, status = pcall(send, verb, options)
  if ok then
    io.stdout:flush()
    return status
  end
  return call_response.fail(verb, status)
end

return call
