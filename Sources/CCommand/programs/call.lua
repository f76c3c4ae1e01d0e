-- nightjar get, post and so on: makes one call, or fetches all pages of a list.
local nightjar = require "nightjar"
local commands = require "nightjar.command.commands"
local items = require "nightjar.command.items"
local json_text = require "nightjar.command.json_text"
local output = require "nightjar.command.output"
local profiles = require "nightjar.command.profiles"
local show = require "nightjar.command.show"
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"

local call = {}

-- Standard input up to this size in bytes is sent with its length; longer input is sent in chunks.
local most_input = 16 * 1024 * 1024
local piece = 64 * 1024

-- --- The request ---

-- Expands a URL argument: :8080/path is localhost, host/path is http. With a base URL, everything else is joined to it.
local function url_of(word, base_url)
  if word:find "^%a[%w+.-]*://" then return word end
  if word:find "^:%d*$" or word:find "^:%d*[/?]" then
    local port, rest = word:match "^:(%d*)(.*)$"
    return "http://localhost" .. (port ~= "" and ":" .. port or "") .. rest
  end
  if base_url then return word end
  if word:find "^[/?]" then items.refuse("%s: a path requires the base URL of a profile; use --profile NAME", word) end
  return "http://" .. word
end

local function seconds_of(word)
  local seconds = tonumber(word)
  if not seconds then
    local ok, length = pcall(nightjar.time.duration, word)
    seconds = ok and length
  end
  if not seconds or not (seconds >= 0) then
    items.refuse("--timeout %s: a number of seconds or a duration such as 1m30s expected; 0 means no limit", word)
  end
  return seconds
end

local function check_pointer(option, pointer)
  if pointer ~= "" and pointer:sub(1, 1) ~= "/" then
    items.refuse("%s %s: a JSON Pointer must begin with /, as in /%s", option, pointer, (pointer:gsub("[.]", "/")))
  end
end

-- Returns standard input as a body; nil if it is empty. Pipes and small files are read before the call, up to a limit.
local function input_body()
  local start = io.stdin:seek()
  local length = start and io.stdin:seek "end" - start
  if start then io.stdin:seek("set", start) end
  if length and length > most_input then
    -- A retry reads the file from the same position again.
    local function each()
      io.stdin:seek("set", start)
      return function() return io.stdin:read(piece) end
    end
    return { each = each, length = length }
  end
  local content = io.stdin:read(most_input)
  if not content then return nil end
  local more = io.stdin:read(piece)
  if not more then return content end
  local parts = { content, more }
  return function()
    if #parts > 0 then return table.remove(parts, 1) end
    return io.stdin:read(piece)
  end
end

local takes_input = { post = true, put = true, patch = true }
local has_no_body = { get = true, head = true, options = true }

local function add_body(verb, options, read, request, types)
  local fields = read.fields
  local kinds = (options.form and 1 or 0) + (options.multipart and 1 or 0) + (options.json and 1 or 0)
  if kinds > 1 then items.refuse "only one of --json, --form and --multipart can be used" end
  if options.raw and #fields > 0 then items.refuse "--raw is the whole body and cannot be combined with fields" end
  if has_no_body[verb] and (#fields > 0 or options.raw) then
    items.refuse("a %s request has no body; use %s==text for a query item", verb:upper(), fields[1] and fields[1][1] or "name")
  end
  if options.raw then
    request.body = options.raw
    types.content = options.form and "application/x-www-form-urlencoded" or "application/json"
  elseif #fields > 0 then
    local has_file = false
    for _, field in ipairs(fields) do has_file = has_file or field.file ~= nil end
    if options.multipart or options.form and has_file then
      request.multipart = items.multipart(fields)
    elseif options.form then
      request.form = items.form(fields)
    else
      request.body = items.json(fields)
      types.content = "application/json"
    end
  elseif takes_input[verb] and not options.ignore_stdin and not terminal.is_terminal(0) then
    request.body = input_body()
    if request.body then types.content = options.form and "application/x-www-form-urlencoded" or "application/json" end
  end
end

-- How to remove the headers that the client adds by itself.
local own_headers = {
  ["user-agent"] = function(client) client.user_agent = false end,
  ["accept-encoding"] = function(client) client.decompress = false end,
}

local function add_headers(read, client, request, types)
  local headers, given, removed = {}, {}, {}
  for _, header in ipairs(read.headers) do
    local lower = header[1]:lower()
    given[lower] = true
    if header[2] then headers[#headers + 1] = header else removed[lower] = header[1] end
  end
  if type(client.headers) == "table" then
    local kept = {}
    for name, value in pairs(client.headers) do
      given[name:lower()] = true
      if not removed[name:lower()] then kept[name] = value end
    end
    client.headers = kept
  end
  for lower in pairs(removed) do
    if own_headers[lower] then own_headers[lower](client) end
    if lower == "authorization" then request.auth = false end
  end
  if types.content and not given["content-type"] then headers[#headers + 1] = { "Content-Type", types.content } end
  if not given.accept then headers[#headers + 1] = { "Accept", "application/json, */*;q=0.5" } end
  if #headers > 0 then request.headers = headers end
end

-- curl's -d sends data; a file with such a name is unlikely.
local function check_download(name)
  if not name:find "^[%[{@]" and not name:find "^[^/]*[=&]" then return end
  items.refuse("-d %s: -d writes the response to a file; to send data use fields (name=text) or --raw '%s'; to write to a file of this "
    .. "name use ./%s", name, name, name)
end

-- Whether the URL refers to another server than `base_url`.
local function is_elsewhere(url, base_url)
  local target = url_of(url, base_url)
  if not target:find "^%a[%w+.-]*://" then return false end
  local function origin(text) return (text:match "^(%a[%w+.-]*://[^/?#]*)" or ""):lower() end
  return origin(target) ~= origin(base_url or "")
end

-- Returns the options of the selected profile, or of the default profile. A call to another server ignores a default
-- profile whose environment variables are not set.
local function profile_options(options)
  if options.profile then return profiles.options(options.profile) or {} end
  local ok, found = pcall(profiles.options)
  if ok then return found or {} end
  if not profiles.is_problem(found) or not found.is_variable or not is_elsewhere(options.url, found.base_url) then error(found, 0) end
  io.stderr:write("nightjar: the default profile is not used: ", tostring(found), "\n")
  return {}
end

-- Returns the options of the client and of the request.
local function build(verb, options)
  local client = profile_options(options)
  if options.download then check_download(options.download) end
  local read = items.read(options.item)
  local request, types = { method = verb:upper(), path = url_of(options.url, client.base_url) }, {}
  if #read.query > 0 then request.query = read.query end
  add_body(verb, options, read, request, types)
  add_headers(read, client, request, types)
  if options.timeout then client.timeout = seconds_of(options.timeout) end
  if options.retry then
    if options.retry < 0 or options.retry > 100 then items.refuse("--retry %d: must be between 0 and 100", options.retry) end
    client.retry = options.retry > 0 and { attempts = options.retry + 1 } or false
  end
  if options.follow and options.no_follow then items.refuse "only one of --follow and --no-follow can be used" end
  if options.no_follow then request.redirect = false end
  if options.ca_file then client.tls = { ca_file = options.ca_file } end
  for _, pointer in ipairs(options.pick) do check_pointer("-f", pointer) end
  if options.at then check_pointer("--at", options.at) end
  if options.paginate and verb ~= "get" then items.refuse("--paginate can only be used with get, not with %s", verb) end
  for _, name in ipairs { "max_items", "at", "style" } do
    if options[name] and not options.paginate then
      items.refuse("--%s requires --paginate", (name:gsub("_", "-")))
    end
  end
  if options.max_items and options.max_items < 1 then items.refuse("--max-items %d: must be at least 1", options.max_items) end
  if options.paginate and options.download then items.refuse "only one of --paginate and --download can be used" end
  return client, request
end

-- --- The response ---

local function complain(err)
  io.stdout:flush()
  local shown = terminal.is_terminal(2) and show.error(err, text.painter(text.has_colors(2)), true)
  io.stderr:write("nightjar: ", shown or require("nightjar.command.hints").command_message(tostring(err)), "\n")
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
    complain(err)
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

-- Writes the body: unchanged to a pipe, formatted to a terminal.
local function write_body(res, options)
  if #options.pick > 0 then return write_picked(res, options) end
  if options.output and options.output ~= "raw" then
    if #res.body == 0 then return true end
    local body, err = json_of(res)
    if body then
      output.json(body, options.output)
    else
      complain(err)
    end
    return body ~= nil
  end
  if options.output == "raw" or not output.is_terminal() then
    io.stdout:write(res.body)
    return true
  end
  local shown = show.body(res, output.painter())
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

-- Returns the response with the secrets of a JSON body masked.
local function masked(res)
  if not json_of(res) then return res end
  local body = json_text.mask(res.text, profiles.is_secret)
  return setmetatable({ body = body, text = body }, { __index = function(_, name) return res[name] end })
end

local function write_response(res, err, verb, options)
  local has_request, has_head, has_body = parts_of(verb, options)
  if has_request then io.stdout:write(output.request(err or res) or "") end
  if not res then return true end
  if has_head then io.stdout:write(output.head(res, options.verbose), has_body and "\n" or "") end
  if not has_body then return true end
  if options.verbose then res = masked(res) end
  -- The body of an error has no items to pick and is not a table.
  if err then return write_body(res, { pick = {} }) end
  return write_body(res, options)
end

-- --- Streamed bodies ---

-- Whether the body can be written as it arrives.
local function is_streamed(options)
  if options.download or options.stream then return true end
  return not (options.verbose or options.headers or #options.pick > 0 or options.output and options.output ~= "raw")
    and not output.is_terminal()
end

local function write_stream(res, verb, options)
  local _, has_head, has_body = parts_of(verb, options)
  if has_head then io.stdout:write(output.head(res), "\n") end
  if not has_body then return res:close() end
  local is_terminal = output.is_terminal()
  for part in res:chunks() do
    io.stdout:write(is_terminal and text.safe(part, { ["\n"] = true, ["\t"] = true, ["\r"] = true }) or part)
    io.stdout:flush()
  end
end

-- Returns the file of a download. In a folder, its name is the last part of the URL's path.
local function file_of(name, res)
  if name:sub(-1) ~= "/" then return name end
  local last = (res.url or ""):gsub("[?#].*$", ""):match "://[^/]+/.-([^/]+)$"
  last = last and last:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end):gsub("[/%c]", "_")
  return name .. (last and last ~= "." and last ~= ".." and last or "download")
end

-- Writes the body to a file, which is created atomically.
local function download(res, name)
  local path = file_of(name, res)
  local file, message = io.open(path .. ".part", "wb")
  if not file then
    res:close()
    io.stderr:write("nightjar: ", message, "\n")
    return false
  end
  local part_file <close> = terminal.unfinished(path .. ".part")
  local progress = require "nightjar.command.progress"
  local length = not res.headers["content-encoding"] and tonumber(res.headers["content-length"]) or nil
  local bar = terminal.is_terminal(2) and progress.start(length, "bytes")
  local total = 0
  local ok, err = pcall(function()
    for part in res:chunks() do
      assert(file:write(part))
      total = total + #part
      if bar then bar:add(#part) end
    end
    assert(file:close())
    assert(os.rename(path .. ".part", path))
    part_file:keep()
  end)
  if bar then bar:close() end
  if not ok then
    pcall(file.close, file)
    complain(err)
    return false
  end
  if terminal.is_terminal(2) then io.stderr:write(("%s in %s\n"):format(text.bytes(total), path)) end
  return true
end

-- --- Lists ---

local function paginate(api, request, options)
  local path = request.path
  local list_options = {
    query = request.query, headers = request.headers, redirect = request.redirect, auth = request.auth,
    items = options.at, style = options.style,
  }
  local format = options.output or "ndjson"
  local write, finish = output.stream(format)
  local left, is_found, count = options.max_items or math.huge, {}, 0
  local list = api:paginate(path, list_options)
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
          if part and format == "ndjson" and not options.output then output.json(part, "raw") elseif part then write(part) end
        end
      end
      io.stdout:flush()
      if left <= 0 then return end
    end
  end)
  finish()
  if not ok then
    pcall(report_guess)
    complain(err)
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

-- --- All ---

local function send(verb, options)
  local client_options, request = build(verb, options)
  local ok, api = pcall(nightjar.client, client_options)
  if not ok then
    -- The library rejected an option of the profile.
    io.stderr:write("nightjar: ", tostring(api), "\n")
    return 1
  end
  if options.trace then terminal.trace(true) end
  if options.paginate then return paginate(api, request, options) end
  request.stream = is_streamed(options) or nil
  local res, err = nightjar.try(api.request, api, request)
  if not res then
    -- With --no-follow, an unfollowed redirect is a success.
    local response = type(err) == "userdata" and err.response or nil
    local is_wanted = response and options.no_follow and response.status >= 300 and response.status < 400
    if type(err) == "userdata" then write_response(response, err, verb, options) end
    if is_wanted then return 0 end
    complain(err)
    return 1
  end
  if options.download and options.download ~= "-" then return download(res, options.download) and 0 or 1 end
  if request.stream then
    local streamed, failure = pcall(write_stream, res, verb, options)
    if not streamed then complain(failure) end
    return streamed and 0 or 1
  end
  return write_response(res, nil, verb, options) and 0 or 1
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
  if items.is_usage(status) then
    io.stderr:write(("nightjar %s: %s\nTry 'nightjar %s --help'.\n"):format(verb, status.message, verb))
    return 2
  end
  io.stdout:flush()
  if type(status) == "userdata" then complain(status) else io.stderr:write("nightjar: ", tostring(status), "\n") end
  return 1
end

return call
