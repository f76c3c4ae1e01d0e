-- Shared functions of the tests of transfers: files of the demo API, and folders.
local nightjar = require "nightjar"
local fs, hash = nightjar.fs, nightjar.hash

local files = {}

files.origin = os.getenv "NIGHTJAR_DEMO_URL"
-- The folder of this file.
files.folder = debug.getinfo(1, "S").source:match "^@(.*)/" or "."

-- A client for what the tests check.
local control = files.origin and nightjar.client { base_url = files.origin, timeout = 60 }

-- Returns a name that no other test uses.
local last_run = 0
function files.new_run(prefix)
  last_run = last_run + 1
  return ("%s-%d-%d"):format(prefix or "run", os.time(), last_run)
end

-- Returns the SHA-256 digest of the content that a query of /file describes, after `version` changes.
function files.digest(query, version)
  local parameters = { size = query.size, seed = query.seed, change_size = query.change_size, version = version or 0 }
  return control:get("/__file", { query = parameters }).json.sha256
end

-- Returns the log of a run, which has the fields count, body_bytes and requests.
function files.log(run)
  return control:get("/__transfers/" .. run).json
end

-- Returns the SHA-256 digest of a file, or nil if there is none.
function files.hash(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local digest = hash.new "sha256"
  for block in function() return file:read(1 << 20) end do digest:update(block) end
  file:close()
  return digest:finish()
end

-- Returns the names of the files in a folder, separated by spaces.
function files.names(folder)
  return table.concat(fs.list(folder), " ")
end

-- Returns one line for each request of a log, for messages.
function files.describe(log)
  local lines = {}
  for index, request in ipairs(log.requests) do
    lines[index] = ("%s %s if-range %s: %d, bytes %s-%s, sent %d, fault %s"):format(request.method,
      tostring(request.range), tostring(request.if_range), request.status, tostring(request.start),
      tostring(request["end"]), request.body_bytes, tostring(request.fault))
  end
  return table.concat(lines, "\n")
end

return files
