-- nightjar.process: runs programs while other coroutines of the script run.
--
-- process.run kills its process when the calling task is cancelled. A process of process.spawn is killed when its object
-- is collected, at the latest when the Lua state closes or the script calls os.exit.
local nightjar, native = ...
local spawn, reader, environment, signals = native.spawn, native.reader, native.environment, native.signals
local raise, misuse, check_options = native.raise, native.misuse, native.options
local type, tostring, setmetatable, pairs, ipairs, error = type, tostring, setmetatable, pairs, ipairs, error
local find, format, match, upper, concat, sort = string.find, string.format, string.match, string.upper, table.concat, table.sort
local math_type = math.type

-- The default limit of run for standard output and for standard error, in bytes.
local MOST_OUTPUT = 16 * 1024 * 1024

local process = {}

local names = {}
for name, number in pairs(signals) do names[number] = name end

-- --- Options ---

local COMMON = { cmd = "string", args = "table", env = "table", inherit_env = "boolean", cwd = "string" }

local function with(options)
  for name, kind in pairs(COMMON) do options[name] = kind end
  return options
end

local RUN = with {
  input = "string", timeout = "number", max_output = "integer", check = "boolean", stdout = "string", stderr = "string",
}
local SPAWN = with { stdin = "string", stdout = "string", stderr = "string" }

-- Reads {"ls", "-l", cwd = "/"} or {cmd = "ls", args = {"-l"}, cwd = "/"}.
local function read_options(name, given, known)
  if type(given) == "string" then given = { given } end
  if type(given) ~= "table" then misuse(format("%s: a table expected, got %s", name, type(given))) end
  local options, arguments = {}, {}
  for place, value in ipairs(given) do arguments[place] = value end
  for key, value in pairs(given) do
    if not (math_type(key) == "integer" and arguments[key] ~= nil) then options[key] = value end
  end
  check_options(name, options, known)
  if options.cwd and find(options.cwd, "\0", 1, true) then
    misuse(format("%s: option 'cwd' must not contain a NUL: %q", name, options.cwd))
  end
  if options.cmd then
    if #arguments > 0 then misuse(format("%s: set the program either by option 'cmd' or as the first element of the list", name)) end
    arguments[1] = options.cmd
  end
  for _, value in ipairs(options.args or {}) do arguments[#arguments + 1] = value end
  if #arguments == 0 then misuse(format("%s: option 'cmd' (the program to run) is missing", name)) end
  for place, value in ipairs(arguments) do
    if type(value) == "number" then
      arguments[place] = tostring(value)
    elseif type(value) ~= "string" then
      misuse(format("%s: argument %d must be a string, got %s", name, place - 1, type(value)))
    end
  end
  return options, arguments
end

local function read_environment(name, options)
  if not options.env and options.inherit_env ~= false then return nil end
  local values = {}
  if options.inherit_env ~= false then
    for _, line in ipairs(environment()) do
      local key, value = match(line, "^([^=]+)=(.*)$")
      if key then values[key] = value end
    end
  end
  for key, value in pairs(options.env or {}) do
    if type(key) ~= "string" or not match(key, "^[^=]+$") then
      misuse(format("%s: %s in option 'env' is not a valid variable name", name, tostring(key)))
    end
    if value == false then
      values[key] = nil
    elseif type(value) == "string" or type(value) == "number" then
      values[key] = tostring(value)
    else
      misuse(format("%s: option 'env.%s' must be a string, or false to unset it, got %s", name, key, type(value)))
    end
  end
  local list = {}
  for key, value in pairs(values) do list[#list + 1] = key .. "=" .. value end
  sort(list)
  return list
end

local function read_source(name, option, value, default, also)
  value = value or default
  if value == "pipe" or value == "null" or value == "inherit" or value == also then return value end
  misuse(format("%s: option '%s' must be \"pipe\", \"null\"%s or \"inherit\", got \"%s\"", name, option,
    also and format(", \"%s\"", also) or "", value))
end

local function start(name, options, arguments, input, output, errors)
  return spawn(arguments, read_environment(name, options), options.cwd, input, output, errors)
end

-- --- spawn ---

local Process = {}

-- process:wait() -> {status = 0, ok = true}; {signal = "KILL", ok = false} if a signal ended the process; {ok = false}
-- if the status is unknown
function Process:wait()
  local status, number = self.child:wait()
  return { status = status, signal = number and (names[number] or tostring(number)), ok = status == 0 }
end

-- process:kill("TERM") -> whether the process still existed
function Process:kill(signal)
  local number = signal == nil and signals.TERM or signal
  if type(number) == "string" then
    local name = upper(number):gsub("^SIG", "")
    number = signals[name] or misuse(format("kill: unknown signal '%s'", signal))
  end
  if math_type(number) ~= "integer" then misuse(format("kill: a signal name expected, got %s", type(signal))) end
  return self.child:kill(number)
end

-- process:close(), also called by <close>: kills the process if it is running, and closes its pipes
function Process:close()
  self.child:close()
  for _, pipe in ipairs(self.pipes) do pipe:close() end
end

local field_names = { "wait", "kill", "close", "pid", "stdin", "stdout", "stderr" }
local ProcessMeta = {
  __metatable = false,
  __name = "nightjar.process",
  __close = function(self) Process.close(self) end,
  __tostring = function(self) return format("nightjar.process: %s (%d)", self.name, self.pid) end,
  __index = function(_, name)
    if Process[name] then return Process[name] end
    if name == "stdin" or name == "stdout" or name == "stderr" then return nil end
    local near = type(name) == "string" and native.nearest(name, field_names)
    misuse(format("a process has no field '%s'%s", tostring(name), near and format("; did you mean '%s'?", near) or ""))
  end,
}

local Writer = {}
Writer.__index = Writer
Writer.__metatable = false
Writer.__name = "nightjar.writer"

-- writer:write(text, ...) waits while the process does not read.
function Writer:write(...)
  for _, text in ipairs { ... } do
    if type(text) ~= "string" and type(text) ~= "number" then
      misuse(format("write: a string expected, got %s", type(text)))
    end
    if not self.pipe:write(tostring(text)) then
      raise("storage", format("cannot write to %s: it has closed its input", self.name))
    end
  end
  return self
end

-- writer:close() closes the pipe, so that the process reads the end of its input
function Writer:close() self.pipe:close() end
Writer.__close = Writer.close

-- process.spawn{cmd, args, ...} -> a process. Its fields stdin, stdout and stderr are set for the streams that are
-- pipes.
function process.spawn(given)
  local options, arguments = read_options("process.spawn", given, SPAWN)
  local child, input, output, errors = start("process.spawn", options, arguments,
    read_source("process.spawn", "stdin", options.stdin, "null"),
    read_source("process.spawn", "stdout", options.stdout, "inherit"),
    read_source("process.spawn", "stderr", options.stderr, "inherit", "output"))
  local name = format("%q", arguments[1])
  -- A reference to a pipe keeps the process alive.
  local function reading(pipe, what)
    local made = reader(pipe, what .. name)
    made.owner = child
    return made
  end
  return setmetatable({
    child = child, name = name, pid = child:pid(), pipes = { input, output, errors },
    stdin = options.stdin == "pipe" and setmetatable({ pipe = input, name = name, owner = child }, Writer) or nil,
    stdout = options.stdout == "pipe" and reading(output, "the output of ") or nil,
    stderr = options.stderr == "pipe" and reading(errors, "the errors of ") or nil,
  }, ProcessMeta)
end

-- --- run ---

local function feed(pipe, text)
  pipe:write(text) -- Returns false if the process does not read all of its input, which is not an error.
  pipe:close()
end

-- Returns all output, or raises an error if there is too much.
local function drain(pipe, limit, name, what)
  local parts, length = {}, 0
  while true do
    local part = pipe:read(64 * 1024)
    if part == nil then return concat(parts) end
    length = length + #part
    if length > limit then
      raise("too_large", format("%s wrote more than %d bytes to %s and was killed (option max_output)", name, limit, what))
    end
    parts[#parts + 1] = part
  end
end

local function run(options, arguments, name)
  local output = read_source("process.run", "stdout", options.stdout, "pipe")
  local errors = read_source("process.run", "stderr", options.stderr, "pipe", "output")
  local limit = options.max_output or MOST_OUTPUT
  local made, input_pipe, output_pipe, errors_pipe = start("process.run", options, arguments,
    options.input and "pipe" or "null", output, errors)
  local child <close> = made
  local result = {}
  local work = {
    function() result.stdout = output == "pipe" and drain(output_pipe, limit, name, "standard output") or nil end,
    function() result.stderr = errors == "pipe" and drain(errors_pipe, limit, name, "standard error") or nil end,
    function() if options.input then feed(input_pipe, options.input) end end,
    function()
      local status, number = child:wait()
      result.status, result.signal = status, number and (names[number] or tostring(number))
    end,
  }
  nightjar.all(work)
  result.ok = result.status == 0
  return result
end

local function last_line(text)
  return text and match(text, "([^\n]+)\n*$")
end

-- process.run{cmd, args, input, ...} -> {status, signal, ok, stdout, stderr}, when the process has ended and its output
-- is closed
function process.run(given)
  local options, arguments = read_options("process.run", given, RUN)
  local name = format("%q", arguments[1])
  local timeout = options.timeout
  if timeout and not (timeout >= 0 and timeout <= 1e9) then
    misuse "process.run: option 'timeout' must be between 0 and 1e9 seconds"
  end
  if options.max_output and options.max_output < 0 then misuse "process.run: option 'max_output' must not be negative" end
  local result
  if timeout then
    local err
    result, err = nightjar.try(nightjar.timeout, timeout, run, options, arguments, name)
    if not result then
      -- Only the time limit of run can raise a timeout in this call.
      if type(err) == "userdata" and err.kind == "timeout" then
        raise("timeout", format("%s did not end within %s seconds and was killed", name, timeout))
      end
      error(err, 0)
    end
  else
    result = run(options, arguments, name)
  end
  if options.check and not result.ok then
    local line = last_line(result.stderr)
    local how = result.status and format("failed with status %d", result.status)
      or format("was terminated by signal %s", result.signal or "unknown")
    raise("script", format("%s %s%s", name, how, line and ": " .. line or ""))
  end
  return result
end

return process
