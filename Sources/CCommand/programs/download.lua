-- nightjar get --download: writes the body of a response to a file.
local nightjar = require "nightjar"
local call_response = require "nightjar.command.call_response"
local progress = require "nightjar.command.progress"
local terminal = require "nightjar.command.terminal"
local text = require "nightjar.command.text"

local download = {}

-- Writes the body to a device or a pipe, which have no parts.
local function write_through(api, request, path)
  request.stream = true
  local file <close> = assert(io.open(path, "wb"))
  for part in api:request(request):chunks() do assert(file:write(part)) end
end

local function is_special(path)
  local status = nightjar.fs.stat(path)
  return status ~= nil and status.kind ~= "file" and status.kind ~= "folder"
end

-- Downloads to options.download: a file, or a folder if it is one or ends with a slash.
-- @return the exit status
function download.run(api, request, verb, options)
  if is_special(options.download) then
    local ok, err = pcall(write_through, api, request, options.download)
    if not ok then call_response.complain(err) end
    return ok and 0 or 1
  end
  local path = request.path
  request.path = nil
  request.resume = options.continue == true
  if options.retry then request.attempts = options.retry + 1 end
  local bar <close> = terminal.is_terminal(2) and progress.start(nil, "bytes") or nil
  if bar then request.on_progress = function(state) bar:set(state.received, state.total) end end
  local task, err = nightjar.try(api.start_download, api, path, options.download, request)
  local file
  if task then file, err = nightjar.try(task.wait, task) end
  if bar then bar:close() end
  if file then
    if terminal.is_terminal(2) then io.stderr:write(("%s in %s\n"):format(text.bytes(file.size), file.path)) end
    return 0
  end
  local response = type(err) == "userdata" and err.response or nil
  if response then call_response.write(response, err, verb, options) end
  call_response.complain(err)
  if task and task:state() then io.stderr:write "nightjar: the part of the file is kept; --continue continues the download\n" end
  return 1
end

return download
