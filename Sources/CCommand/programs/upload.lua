-- nightjar upload: uploads a file, and continues an upload that has failed.
local nightjar = require "nightjar"
local call_response = require "nightjar.command.call_response"
local items = require "nightjar.command.items"
local progress = require "nightjar.command.progress"
local subcommand = require "nightjar.command.subcommand"
local terminal = require "nightjar.command.terminal"

local upload = {}

-- The protocols whose uploads can be continued.
local can_continue = { tus = true, resumable = true, s3 = true, oci = true }

-- Stores the state of an upload beside its file. The state is enough to write to the upload, so that only the user may
-- read the file.
local function state_file(path)
  local file = { path = path .. ".nightjar-upload" }

  function file.read() return (nightjar.try(nightjar.fs.read, file.path)) end

  function file.write(state)
    if not state or state == file.state then return end
    file.state = state
    local ok, err = pcall(nightjar.fs.write, file.path, state, { atomic = true, mode = tonumber("600", 8) })
    if not ok and not file.has_failed then
      file.has_failed = true
      io.stderr:write("nightjar: the upload cannot be continued later: ", tostring(err), "\n")
    end
  end

  function file.remove() os.remove(file.path) end

  return file
end

-- Returns the content: a path, or a function that reads standard input.
local function content(path)
  if path ~= "-" then return path end
  return function() return nightjar.stdin.read() end
end

local function read_options(words, request)
  local options = { protocol = words.protocol, checksum = words.checksum, type = words.type }
  options.chunk_size, options.max_rate = words.chunk_size, words.max_rate
  if words.retry then options.attempts = words.retry + 1 end
  request.method = nil -- The protocol decides the method.
  subcommand.add_request(options, request)
  return options
end

local function write_result(task, words)
  local response = task.response
  if response and #response.body > 0 then return call_response.write(response, nil, "post", words) and 0 or 1 end
  if task.url then io.stdout:write(task.url, "\n") end
  return 0
end

local function transfer(words)
  local protocol, continues = words.protocol or "put", words.continue
  if continues and not can_continue[protocol] then
    items.refuse("--continue requires --protocol tus, resumable, s3 or oci, not %s", protocol)
  end
  if continues and words.file == "-" then items.refuse "--continue requires a file, not standard input" end
  words.continue = nil -- call_request checks the option of downloads.
  words.ignore_stdin = true -- Standard input is not the body of a form.
  local state = words.file ~= "-" and can_continue[protocol] and state_file(words.file) or nil
  local resume = continues and state.read()
  if continues and not resume then items.refuse("--continue: there is no unfinished upload of %s", words.file) end
  local api, request = subcommand.open("get", words)
  if not api then return 1 end
  local options = read_options(words, request)
  options.resume = resume or nil
  local bar <close> = terminal.is_terminal(2) and progress.start(nil, "bytes") or nil
  function options.on_progress(now, task)
    if bar then bar:set(now.sent, now.total) end
    if state then state.write(task:state()) end
  end
  local task, err = nightjar.try(api.start_upload, api, request.path, content(words.file), options)
  local done
  if task then done, err = nightjar.try(task.wait, task) end
  if bar then bar:close() end
  if done then
    if state then state.remove() end
    return write_result(task, words)
  end
  local response = type(err) == "userdata" and err.response or nil
  if response then call_response.write(response, err, "post", words) end
  call_response.complain(err)
  if state and task and task:state() then
    state.write(task:state())
    io.stderr:write "nightjar: the server has part of the file; --continue continues the upload\n"
  end
  return 1
end

-- @return the exit status
function upload.run(words) return subcommand.run("upload", words, transfer) end

return upload
