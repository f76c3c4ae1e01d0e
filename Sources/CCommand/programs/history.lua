-- The history across sessions: $XDG_STATE_HOME/nightjar/history or ~/.local/state/nightjar/history, accessible only to
-- the user. One line per entry, with newlines as \n and backslashes as \\. Entries that contain a secret according to
-- nightjar.command.secrets, and entries that begin with a space, are not written.
local editor = require "nightjar.command.editor"
local secrets = require "nightjar.command.secrets"
local terminal = require "nightjar.command.terminal"

local history = {}

-- The maximum number of bytes read from the file, and the maximum size of an entry.
local most_bytes, most_entry = 1024 * 1024, 64 * 1024

function history.path()
  local state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
  if state and state:sub(1, 1) == "/" then return state .. "/nightjar/history" end
  return home and home ~= "" and home .. "/.local/state/nightjar/history" or nil
end

local function encode(entry) return (entry:gsub("\\", "\\\\"):gsub("\n", "\\n")) end
local function decode(line)
  return (line:gsub("\\(.)", function(letter) return letter == "n" and "\n" or letter == "\\" and "\\" or nil end))
end

-- Returns the newest entries of the file, at most editor.history_size, oldest first. Rewrites the file if it has more
-- entries.
function history.load()
  local path = history.path()
  local file = path and terminal.open_private(path)
  if not file then return {} end
  local size = file:seek "end" or 0
  file:seek("set", math.max(size - most_bytes, 0))
  local bytes = file:read(most_bytes) or ""
  file:close()
  local entries = {}
  for line in bytes:gmatch "[^\n]+" do
    if not line:find "[%c]" then entries[#entries + 1] = decode(line) end
  end
  if size > most_bytes then table.remove(entries, 1) end -- The beginning of the first entry may be missing.
  local surplus = #entries - editor.history_size
  if surplus > 0 then
    table.move(entries, surplus + 1, #entries + surplus, 1)
    local lines = {}
    for index, entry in ipairs(entries) do lines[index] = encode(entry) .. "\n" end
    terminal.write_private(path, table.concat(lines), false)
  end
  return entries
end

-- Appends the entry to the file, unless the entry begins with a space, is too long or contains a secret.
-- @return nil and the reason if the file cannot be written
function history.add(entry)
  local path = history.path()
  if not path or entry:find "^%s" or #entry > most_entry or secrets.has(entry) then return true end
  return terminal.write_private(path, encode(entry) .. "\n", true)
end

return history
