-- Shared functions of the tests of uploads: files to send, the server's log of uploads, and a relay that resets connections.
local nightjar = require "nightjar"
local files = require "files"
local process = nightjar.process

local sources = {}

sources.origin = files.origin
sources.folder = files.folder
sources.hash = files.hash
sources.new_run = files.new_run

local control = files.origin and nightjar.client { base_url = files.origin, timeout = 60 }

-- A pseudorandom text. Its length is a prime number, so that blocks of a file at different positions differ.
local pattern
local function bytes()
  if pattern then return pattern end
  local state, words = 88172645463325252, {}
  for index = 1, 131101 do
    state = state ~ (state << 13)
    state = state ~ (state >> 7)
    state = state ~ (state << 17)
    words[index] = string.pack("<I8", state)
  end
  pattern = table.concat(words):sub(1, 1048583)
  return pattern
end

-- Returns the first `size` bytes of the content with this seed.
function sources.content(size, seed)
  local text = bytes()
  local start = (seed or 1) * 7919 % #text
  text = text:sub(start + 1) .. text:sub(1, start)
  return text:rep(size // #text) .. text:sub(1, size % #text)
end

-- Writes a file of `size` bytes, and returns the path.
function sources.write(path, size, seed)
  local file = assert(io.open(path, "wb"))
  assert(file:write(sources.content(size, seed)))
  assert(file:close())
  return path
end

-- Returns the uploads of a run, oldest first.
function sources.log(run)
  return control:get("/__uploads/" .. run).json.uploads
end

-- Returns one line for each upload and request of a log, for messages.
function sources.describe(log)
  local lines = {}
  for _, upload in ipairs(log) do
    lines[#lines + 1] = ("%s: offset %d, length %s, complete %s, removed %s"):format(upload.path, upload.offset,
      tostring(upload.length), tostring(upload.complete), tostring(upload.removed))
    for _, request in ipairs(upload.requests) do
      lines[#lines + 1] = ("  %s at %s: %d, received %d, fault %s"):format(request.method, tostring(request.offset),
        request.status, request.body_bytes, tostring(request.fault))
    end
  end
  return table.concat(lines, "\n")
end

-- Returns the kind of an error object, or the message of another error.
function sources.kind(err)
  return type(err) == "userdata" and err.kind or tostring(err)
end

-- Waits until an upload has sent this number of bytes.
function sources.wait_until_sent(upload, count)
  local start = nightjar.time.monotonic()
  while upload.progress.sent < count do
    if upload.progress.state == "ended" then upload:wait() end
    assert(nightjar.time.monotonic() - start < 20, "the upload does not send")
    nightjar.sleep(0.01)
  end
end

-- Starts a relay to an origin on loopback. It resets the connection that carries the byte at each of these positions, which
-- count the bytes of all clients. Returns the process, and the origin of the relay.
function sources.start_relay(origin, positions)
  local child = process.spawn {
    cmd = "python3", stdout = "pipe",
    args = { "-B", files.folder .. "/reset_relay.py", origin:match ":(%d+)", table.unpack(positions) },
  }
  return child, "http://127.0.0.1:" .. child.stdout:line()
end

-- Stops a relay, and returns the number of connections that it has reset.
function sources.stop_relay(child)
  child:kill()
  local _, count = child.stdout:read_all():gsub("reset\n", "")
  child:close()
  return count
end

return sources
