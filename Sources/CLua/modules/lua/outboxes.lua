-- nightjar.outboxes, and api:outbox(): writes that are recorded in the journal before they are sent, and are sent by this and later processes.
local nightjar, native = ...
local work, raise, misuse, got = native.work, native.raise, native.misuse, native.got
local check_options, open_outbox = native.options, native.open_outbox
local now, sleep_until = native.now, native.sleep_until
local type, pairs, setmetatable, format, huge = type, pairs, setmetatable, string.format, math.huge
local encode, decode, base64, utf8_len = nightjar.json.encode, nightjar.json.decode, nightjar.base64, utf8.len

-- Nanoseconds between two reads of entry:wait and outbox:changes.
local PAUSE = 25 * 1000 * 1000

local SETTLED = { done = true, conflict = true, parked = true, in_doubt = true }

local OPTIONS = {
  name = "string", concurrency = "integer", max_entries = "integer", max_bytes = "integer", max_age = "number",
  max_attempts = "integer", retry_delay = "number", max_retry_delay = "number", keep = "number", keep_entries = "integer",
  send = "boolean",
}

local function check_id(id, name)
  if type(id) ~= "string" then misuse(format("%s: the id must be a string, got %s", name, got(id))) end
  return id
end

local function check_table(options, name)
  if options == nil then return {} end
  if type(options) ~= "table" then misuse(format("%s: options must be a table, got %s", name, got(options))) end
  return options
end

-- Replaces the fields of an entry by those of a JSON text. Bodies in base64 become strings of bytes.
local function set(entry, text)
  for name in pairs(entry) do entry[name] = nil end
  for name, value in pairs(decode(text)) do entry[name] = value end
  for _, name in pairs { "response", "mine", "theirs" } do
    local version = entry[name]
    if version and version.body_base64 then
      version.body, version.body_base64 = base64.decode(version.body_base64), nil
    end
  end
  return entry
end

-- Returns the options as JSON. A body that is not valid UTF-8 becomes base64.
local function encode_write(options, changes)
  local copy = {}
  for name, value in pairs(options) do
    if type(value) == "function" then
      raise("invalid_argument", format("option %q is a function, which an outbox cannot record", name))
    end
    copy[name] = value
  end
  for name, value in pairs(changes) do
    if copy[name] ~= nil then misuse(format("%s is not allowed in the options", name)) end
    copy[name] = value
  end
  if type(copy.body) == "string" and not utf8_len(copy.body) then
    copy.body, copy.body_base64 = nil, base64.encode(copy.body)
  end
  return encode(copy)
end

local outboxes = {}

-- open(client, options) opens an outbox of a client.
function outboxes.open(client, options)
  local resource, number = open_outbox(client, encode(check_options("outbox", options, OPTIONS)))
  local Outbox = { __name = "nightjar.outbox", __metatable = false }
  local methods = {}
  Outbox.__index = methods
  local Entry = { __name = "nightjar.outbox_entry", __metatable = false }
  local entry_methods = {}
  Entry.__index = entry_methods

  local function made(text) return setmetatable(set({}, text), Entry) end

  for name, method in pairs { post = "POST", put = "PUT", patch = "PATCH", delete = "DELETE" } do
    local label = "outbox:" .. name
    -- outbox:post(path, options) records a write. Returns its entry, or the entry that has the same id and write.
    methods[name] = function(_, path, write)
      if type(path) ~= "string" then misuse(format("%s: path must be a string, got %s", label, got(path))) end
      return made(work("outbox.record", number, encode_write(check_table(write, label), { method = method, path = path })))
    end
  end

  -- outbox:get(id) -> the entry; nil if there is none
  function methods:get(id)
    local text = work("outbox.get", number, check_id(id, "outbox:get"))
    return text and made(text)
  end

  -- outbox:list{state =} -> an iterator of the entries, in the order in which they were recorded
  function methods:list(filter)
    local state = check_options("outbox:list", filter, { state = "string" }).state
    if state and not (SETTLED[state] or state == "pending" or state == "sending") then
      misuse(format("outbox:list: unknown state %q", state))
    end
    local texts, position = work("outbox.list", number, state or ""), 0
    return function()
      position = position + 1
      return texts[position] and made(texts[position])
    end
  end

  -- outbox:count() -> the number of entries that are not done
  function methods:count() return work("outbox.count", number) end

  for _, name in pairs { "retry", "remove" } do
    methods[name] = function(_, id) work("outbox." .. name, number, check_id(id, "outbox:" .. name)) end
    entry_methods[name] = function(entry) work("outbox." .. name, number, entry.id) end
  end

  -- outbox:resolve(id, { json =, if_match = }) sends an entry that is held with another body or another If-Match.
  function methods:resolve(id, write)
    work("outbox.resolve", number, check_id(id, "outbox:resolve"), encode_write(check_table(write, "outbox:resolve"), {}))
  end
  function entry_methods:resolve(write) methods:resolve(self.id, write) end

  -- outbox:changes{timeout =} -> an iterator of the entries that this outbox delivers or holds from now on. Ends if nothing
  -- changes for `timeout` seconds.
  function methods:changes(settings)
    local limit = check_options("outbox:changes", settings, { timeout = "number" }).timeout or huge
    local texts, position = {}, 0
    return function()
      local deadline = limit < huge and now() + limit * 1e9
      while true do
        position = position + 1
        if texts[position] then return made(texts[position]) end
        texts, position = work("outbox.changes", number), 0
        if #texts == 0 then
          if deadline and now() >= deadline then return nil end
          sleep_until(now() + PAUSE)
        end
      end
    end
  end

  -- Closes the outbox. Its entries stay in the journal.
  function methods:close() resource:close() end
  Outbox.__close = methods.close

  -- Reads the entry again. Returns it; nil if it was removed.
  function entry_methods:refresh()
    local text = work("outbox.get", number, self.id)
    return text and set(self, text)
  end

  -- Waits until the entry is done, and returns it. Raises an error if the entry is held, and after `timeout` seconds.
  function entry_methods:wait(settings)
    local limit = check_options("entry:wait", settings, { timeout = "number" }).timeout or huge
    local deadline = limit < huge and now() + limit * 1e9
    local id = self.id
    while true do
      if not self:refresh() then raise("invalid_argument", format("the outbox has no entry %q; it was removed", id)) end
      if self.state == "done" then return self end
      -- Raises the error of an entry that is held.
      if SETTLED[self.state] then work("outbox.check", number, id) end
      if deadline and now() >= deadline then
        raise("timeout", format("the outbox entry %q was not done within %g s; it is sent in the background", id, limit))
      end
      sleep_until(now() + PAUSE)
    end
  end

  return setmetatable({}, Outbox)
end

return outboxes
