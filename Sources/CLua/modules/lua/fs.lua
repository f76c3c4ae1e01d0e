-- nightjar.fs: file operations on other threads, while other coroutines of the script run.
--
-- An operation that has started completes even if its task is cancelled. fs.copy and, by default, fs.write replace a
-- file atomically: the new file is created under another name in the same folder and then renamed.
--
-- Named pipes and devices are not read or written on these threads, so a wait for another process does not delay other
-- operations. Cancelling the task ends the wait.
local nightjar, native = ...
local work, reader, memory_left = native.work, native.reader, native.memory_left
local now, sleep_until, raise = native.now, native.sleep_until, native.raise
local misuse, check_options = native.misuse, native.options
local type, setmetatable, tostring, ipairs, format = type, setmetatable, tostring, ipairs, string.format
local concat = table.concat
local getenv = os and os.getenv or function() end

-- The default limit of fs.read in bytes.
local MOST = 1024 * 1024 * 1024

local fs = {}

-- Returns the path of an argument: a string, or an object with the field `path` such as a temporary file.
local function path_of(value, name, place)
  local path = type(value) == "table" and value.path or value
  if type(path) ~= "string" then
    misuse(format("fs.%s: argument %d must be a path, got %s", name, place, value == nil and "no value" or type(value)))
  end
  if path == "" then misuse(format("fs.%s: the path is empty", name)) end
  if path:find("\0", 1, true) then misuse(format("fs.%s: the path must not contain a NUL: %q", name, path)) end
  return path
end

local function text_of(value, name)
  if type(value) == "number" then return tostring(value) end
  if type(value) ~= "string" then misuse(format("fs.%s: argument 2 must be a string, got %s", name, type(value))) end
  return value
end

-- --- Named pipes and devices ---

-- Nanoseconds between attempts to open a named pipe without a reader. The system does not report when a reader opens
-- the pipe.
local PAUSE = 20 * 1000 * 1000

-- Bytes per read.
local CHUNK = 64 * 1024

local function open_sink(path)
  while true do
    local _, file = work("sink", path)
    if file then return file:stream() end
    sleep_until(now() + PAUSE)
  end
end

local function write_stream(pipe, text, path)
  if not pipe:write(text) then raise("storage", format("cannot write %q: Broken pipe", path)) end
end

local function read_stream(file, path, limit)
  local pipe <close> = file:stream()
  local parts, length = {}, 0
  for part in function() return pipe:read(CHUNK) end do
    length = length + #part
    if length > limit then
      raise("too_large", format("%q is larger than the limit of %d bytes", path, limit))
    end
    parts[#parts + 1] = part
  end
  return concat(parts)
end

-- Opens a file for reading. Returns an object with the methods read and close.
local function open_source(path)
  local is_stream, file = work("open", path)
  return is_stream and file:stream() or file
end

-- --- Files ---

local function limit_of(limit)
  local left = memory_left()
  return left and left < limit and left or limit
end

-- fs.read(path, {max_bytes = 1073741824}) -> the contents of the file
function fs.read(path, options)
  path = path_of(path, "read", 1)
  local limit = check_options("fs.read", options, { max_bytes = "integer" }).max_bytes or MOST
  if limit < 0 then misuse "fs.read: option 'max_bytes' must not be negative" end
  limit = limit_of(limit)
  local text, file = work("read", path, limit)
  return file and read_stream(file, path, limit) or text
end

-- fs.write(path, text, {atomic = true, mode =}) replaces the file, atomically by default.
function fs.write(path, text, options)
  path, text = path_of(path, "write", 1), text_of(text, "write")
  options = check_options("fs.write", options, { atomic = "boolean", mode = "integer" })
  if options.mode and (options.mode < 0 or options.mode > 4095) then
    misuse "fs.write: option 'mode' must be between 0 and 4095, for example 6 * 64 for rw-------"
  end
  if work("write", path, text, options.atomic ~= false, options.mode) then return end
  local pipe <close> = open_sink(path)
  write_stream(pipe, text, path)
end

-- fs.append(path, text) appends to the file. Creates the file if it does not exist.
function fs.append(path, text)
  path, text = path_of(path, "append", 1), text_of(text, "append")
  if work("append", path, text) then return end
  local pipe <close> = open_sink(path)
  write_stream(pipe, text, path)
end

-- fs.exists(path) -> "file", "folder" or another kind as in fs.stat; false if the path does not exist
function fs.exists(path)
  local found = work("stat", path_of(path, "exists", 1), true)
  return found and found[1] or false
end

-- fs.stat(path, {follow = true}) -> {kind, size, modified, mode}; nil if the path does not exist
function fs.stat(path, options)
  path = path_of(path, "stat", 1)
  local follows = check_options("fs.stat", options, { follow = "boolean" }).follow ~= false
  local found = work("stat", path, follows)
  return found and { kind = found[1], size = found[2], modified = found[3], mode = found[4] } or nil
end

-- fs.list(path) -> the sorted names in a folder, without . and .., and a table of their kinds by name
function fs.list(path)
  local found = work("list", path_of(path, "list", 1))
  local names, kinds = {}, {}
  for place = 1, #found, 2 do
    local name = found[place]
    names[#names + 1] = name
    kinds[name] = found[place + 1]
  end
  return names, kinds
end

-- fs.mkdir(path, {parents = true}) creates a folder and by default its parents. An existing folder is not an error.
function fs.mkdir(path, options)
  path = path_of(path, "mkdir", 1)
  work("mkdir", path, check_options("fs.mkdir", options, { parents = "boolean" }).parents ~= false)
end

-- fs.remove(path, {recursive = false}) -> whether the path existed
function fs.remove(path, options)
  path = path_of(path, "remove", 1)
  return (work("remove", path, check_options("fs.remove", options, { recursive = "boolean" }).recursive == true))
end

-- fs.rename(from, to) renames a file or folder. Replaces an existing file at `to`.
function fs.rename(from, to) work("rename", path_of(from, "rename", 1), path_of(to, "rename", 2)) end

-- fs.copy(from, to) copies a file atomically. Data for a named pipe or a device is written as it is read.
function fs.copy(from, to)
  from, to = path_of(from, "copy", 1), path_of(to, "copy", 2)
  if work("copy", from, to) then return end
  local kind = fs.exists(to)
  if kind == "file" or not kind then return fs.write(to, fs.read(from)) end
  local source <close> = open_source(from)
  local pipe <close> = open_sink(to)
  for part in function() return source:read(CHUNK) end do write_stream(pipe, part, to) end
end

-- fs.lines(path) -> an iterator of the lines, which does not load the whole file into memory
function fs.lines(path, options)
  path = path_of(path, "lines", 1)
  local limit = check_options("fs.lines", options, { max_line = "integer" }).max_line
  local file = open_source(path)
  return reader(file, format("%q", path)):lines(limit), nil, nil, file
end

-- --- Temporary files and folders ---

local Temporary = {
  __metatable = false,
  __name = "nightjar.temporary",
  __tostring = function(self) return self.path end,
  __close = function(self) self.resource:close() end,
  __index = { remove = function(self) self.resource:close() end },
}

local function temporary(name, is_folder, options)
  options = check_options("fs." .. name, options, { prefix = "string", suffix = "string", dir = "string" })
  for _, option in ipairs { "prefix", "suffix" } do
    if options[option] and options[option]:find "[/\0]" then
      misuse(format("fs.%s: option '%s' must not contain a slash or a NUL", name, option))
    end
  end
  local folder = path_of(options.dir or getenv "TMPDIR" or "/tmp", name, 1)
  local path, resource = work("temporary", is_folder, folder, options.prefix or "nightjar-", options.suffix or "")
  return setmetatable({ path = path, resource = resource }, Temporary)
end

-- fs.temp_file{prefix, suffix, dir} creates an empty file, accessible only to the user: local file <close> =
-- fs.temp_file(). Its path is `file.path`. The file is removed when the variable is closed, by file:remove(), or at the
-- latest when the Lua state closes or the script calls os.exit.
function fs.temp_file(options) return temporary("temp_file", false, options) end

-- fs.temp_dir{...} creates a temporary folder, which is removed with its contents like a temporary file.
function fs.temp_dir(options) return temporary("temp_dir", true, options) end

return fs
