-- File and command helpers for scripts.
local system = {}

-- Quotes a text as one shell word.
function system.quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- Reports an error on standard error and exits.
function system.fail(format, ...)
  io.stderr:write((arg[0]:match "[^/]*$"), ": ", format:format(...), "\n")
  os.exit(2)
end

function system.read_file(path)
  local file, reason = io.open(path, "rb")
  if not file then system.fail("%s", reason) end
  local text = file:read "a"
  file:close()
  return text
end

function system.write_file(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  assert(file:close())
end

-- Returns the output and the exit status of a shell command.
function system.shell(command)
  local process = io.popen(command)
  local output = process:read "a"
  local _, how, status = process:close()
  return output, how == "signal" and 128 + status or status
end

-- Returns the output of a shell command that must succeed, without the trailing newline.
function system.output(command)
  local output, status = system.shell(command)
  if status ~= 0 then system.fail("failed with status %d: %s", status, command) end
  return (output:gsub("%s+$", ""))
end

return system
