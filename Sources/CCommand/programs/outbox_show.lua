-- Writes the entries of an outbox: as lines, for a person in full, or as JSON.
local nightjar = require "nightjar"
local bodies = require "nightjar.command.show_bodies"
local json_text = require "nightjar.command.json_text"
local output = require "nightjar.command.output"
local text = require "nightjar.command.text"

local show = {}

-- The members of an entry in the order in which they are written.
local members = {
  "id", "state", "method", "url", "key", "attempts", "if_match", "error", "response", "mine", "theirs", "created", "updated",
}
local state_roles = { done = "good", conflict = "bad", parked = "bad", in_doubt = "bad", pending = "warn", sending = "warn" }
local kept = { ["\n"] = true, ["\t"] = true }

-- --- JSON ---

-- Returns an entry as a JSON text. A body that is not valid UTF-8 becomes base64.
function show.json(entry)
  local copy = {}
  for name, value in pairs(entry) do copy[name] = value end
  for _, name in ipairs { "response", "mine", "theirs" } do
    local version = copy[name]
    if version and version.body and not utf8.len(version.body) then
      local changed = {}
      for member, value in pairs(version) do changed[member] = value end
      changed.body, changed.body_base64 = nil, nightjar.base64.encode(version.body)
      copy[name] = changed
    end
  end
  return json_text.object(copy, members)
end

-- --- Lines ---

-- Writes one line for each entry.
function show.lines(list)
  local paint, rows, widths = output.painter(), {}, { 0, 0, 0 }
  for place, entry in ipairs(list) do
    rows[place] = { text.safe(entry.id), entry.state, entry.method }
    for column, cell in ipairs(rows[place]) do widths[column] = math.max(widths[column], text.columns(cell)) end
  end
  for place, row in ipairs(rows) do
    local entry = list[place]
    io.stdout:write(paint("head", text.pad(row[1], widths[1])), "  ", paint(state_roles[entry.state], text.pad(row[2], widths[2])),
      "  ", text.pad(row[3], widths[3]), "  ", text.safe(entry.url))
    if entry.error then io.stdout:write("  ", paint("bad", text.safe(entry.error.message))) end
    io.stdout:write "\n"
  end
end

-- --- One entry ---

-- Returns the body of a version, with each line indented.
local function body_of(version, paint)
  local body = version.json ~= nil and nightjar.json.encode(version.json) or version.body
  if version.body_omitted then return "  " .. paint("dim", "the body has more than 256 KiB and was not stored") end
  if not body or body == "" then return "  " .. paint("dim", "no body") end
  if version.json == nil and not bodies.is_text(body) then return "  " .. paint("dim", text.bytes(#body) .. " of binary data") end
  local shown = version.json ~= nil and bodies.json(body, paint) or text.safe(body, kept)
  return "  " .. shown:gsub("\n", "\n  ")
end

-- Returns the status and the ETag of a version. If the server's version has the status 404, the resource was deleted.
local function head_of(name, version)
  local parts = {}
  if version.status then parts[1] = tostring(version.status) .. (name == "theirs" and version.status == 404 and ", deleted" or "") end
  if version.etag then parts[#parts + 1] = "ETag " .. text.safe(version.etag) end
  return #parts > 0 and " (" .. table.concat(parts, "; ") .. ")" or ""
end

local function is_object(value) return type(value) == "table" and value ~= nightjar.null and #value == 0 end

-- Returns the members of the write that the server's version lacks or that differ: a list of { name, mine, theirs }.
local function differences(mine, theirs)
  local found, names = {}, {}
  if not is_object(mine) or not is_object(theirs) then return found end
  for name in pairs(mine) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local left = nightjar.json.encode(mine[name])
    local right = theirs[name] ~= nil and nightjar.json.encode(theirs[name]) or nil
    if left ~= right then found[#found + 1] = { name, left, right } end
  end
  return found
end

local function write_differences(entry, paint)
  local found = differences(entry.mine and entry.mine.json, entry.theirs and entry.theirs.json)
  if #found == 0 then return end
  io.stdout:write(paint("head", "differences"), "\n")
  for _, each in ipairs(found) do
    local function cell(value) return value and text.cut(text.safe(value), 60) or "absent" end
    io.stdout:write("  ", paint("key", text.safe(each[1])), ": mine ", cell(each[2]), ", theirs ", cell(each[3]), "\n")
  end
end

-- Writes an entry for a person.
function show.entry(entry)
  local paint = output.painter()
  local function field(name, value, role)
    if value then io.stdout:write(paint("head", text.pad(name, 10)), role and paint(role, value) or value, "\n") end
  end
  local function time(value) return value and nightjar.time.format(math.floor(value)) end
  field("id", text.safe(entry.id))
  field("state", entry.state, state_roles[entry.state])
  field("request", entry.method .. " " .. text.safe(entry.url))
  if entry.key ~= entry.url then field("key", text.safe(entry.key)) end
  field("if_match", entry.if_match and text.safe(entry.if_match))
  field("attempts", tostring(entry.attempts))
  field("created", time(entry.created))
  field("updated", time(entry.updated))
  if entry.error then
    field("error", text.safe(entry.error.message), "bad")
    if entry.error.may_have_been_processed then field("", "the server may have processed the write", "warn") end
  end
  for _, name in ipairs { "mine", "theirs", "response" } do
    local version = entry[name]
    if version then io.stdout:write(paint("head", name), head_of(name, version), "\n", body_of(version, paint), "\n") end
  end
  write_differences(entry, paint)
end

return show
