-- nightjar.transfers: downloads and uploads that `nightjar transferd` performs, and that continue when this program has
-- ended.
local nightjar, native = ...
local work, raise, misuse, got = native.work, native.raise, native.misuse, native.got
local check_options, now, sleep_until = native.options, native.now, native.sleep_until
local type, pairs, ipairs, setmetatable, format, huge = type, pairs, ipairs, setmetatable, string.format, math.huge
local encode, decode, base64, utf8_len = nightjar.json.encode, nightjar.json.decode, nightjar.base64.encode, utf8.len

-- Nanoseconds between two reads of transfer:wait.
local PAUSE = 100 * 1000 * 1000

local ENDED = { done = true, failed = true, cancelled = true, in_doubt = true }

local function check_id(id, name)
  if type(id) ~= "string" then misuse(format("%s: the id must be a string, got %s", name, got(id))) end
  return id
end

-- Replaces the fields of a transfer by those of a JSON text.
local function set(transfer, text)
  for name in pairs(transfer) do transfer[name] = nil end
  for name, value in pairs(decode(text)) do transfer[name] = value end
  return transfer
end

-- Moves the bytes of a field to a field with their base64: JSON strings must be valid UTF-8.
local function move_bytes(fields, name, new_name)
  if type(fields[name]) ~= "string" or fields[new_name] then return end
  fields[name], fields[new_name] = nil, base64(fields[name])
end

local function is_binary(value) return type(value) == "string" and not utf8_len(value) end

-- Returns the option multipart for JSON.
local function encode_parts(parts)
  if type(parts) ~= "table" then return parts end
  local encoded = {}
  for name, part in pairs(parts) do
    if type(part) == "table" or is_binary(part) then
      local fields = {}
      for field, value in pairs(type(part) == "table" and part or { value = part }) do fields[field] = value end
      if fields.bytes ~= nil and type(fields.bytes) ~= "string" then
        raise("invalid_argument", format("the bytes of the part %q must be a string, got %s", tostring(fields.name or name), got(fields.bytes)))
      elseif fields.bytes and (fields.value ~= nil or fields.file ~= nil or fields.bytes_base64 ~= nil) then
        raise("invalid_argument", format("the part %q must have exactly one of value, bytes and file", tostring(fields.name or name)))
      end
      move_bytes(fields, "bytes", "bytes_base64")
      if is_binary(fields.value) then move_bytes(fields, "value", "bytes_base64") end
      part = fields
    end
    encoded[name] = part
  end
  return encoded
end

-- Returns the functions for the transfers of a journal. `path` is empty for the journal of the user. `transferd` is the
-- program to start as a worker; empty: none.
local function open(path, transferd)
  local self = {}
  local Transfer = { __name = "nightjar.background_transfer", __metatable = false }
  local methods = {}
  Transfer.__index = methods

  local function made(text) return setmetatable(set({}, text), Transfer) end

  -- start{id =, download | upload = URL, to | from = PATH, ...} records a transfer. Returns it, or the transfer that has the
  -- same id and options.
  function self.start(options)
    if type(options) ~= "table" then misuse("transfers.start: a table of options expected, got " .. got(options)) end
    local rest = {}
    for name, value in pairs(options) do
      if type(value) == "function" then
        raise("invalid_argument", format("option %q is a function, which the worker cannot call; remove it", name))
      end
      if name ~= "id" then rest[name] = value end
    end
    if is_binary(rest.body) then move_bytes(rest, "body", "body_base64") end
    rest.multipart = encode_parts(rest.multipart)
    return made(work("transfers.start", path, transferd, check_id(options.id, "transfers.start"), encode(rest)))
  end

  -- get(id) -> the transfer; nil if there is none
  function self.get(id)
    local text = work("transfers.get", path, transferd, check_id(id, "transfers.get"))
    return text and made(text)
  end

  -- list() -> an iterator of the transfers, in the order in which they were started
  function self.list()
    local texts, position = work("transfers.list", path, transferd), 0
    return function()
      position = position + 1
      return texts[position] and made(texts[position])
    end
  end

  for _, name in ipairs { "pause", "resume", "cancel", "retry", "acknowledge", "remove" } do
    self[name] = function(id) work("transfers." .. name, path, transferd, check_id(id, "transfers." .. name)) end
    methods[name] = function(transfer) self[name](transfer.id) end
  end

  -- wake() lets the worker read the journal now. Starts a worker if none runs, and if there is a program.
  local function wake() work("transfers.wake", path, transferd) end
  self.wake = wake

  -- log(id) -> an iterator of the log entries of a transfer, or of all without an id, oldest first
  function self.log(id)
    local texts, position
    if id == nil then
      texts, position = work("transfers.log", path, transferd), 0
    else
      texts, position = work("transfers.log", path, transferd, check_id(id, "transfers.log")), 0
    end
    return function()
      position = position + 1
      return texts[position] and decode(texts[position])
    end
  end

  -- ended{timeout =} -> an iterator of the transfers that have ended or will end; ends when no transfer is left. Raises an
  -- error if no transfer ends for `timeout` seconds.
  function self.ended(options)
    local limit = check_options("transfers.ended", options, { timeout = "number" }).timeout or huge
    local returned, queue, first, is_first = {}, {}, 1, true
    -- A transfer that was started again ends with more attempts.
    local function key_of(transfer) return format("%q %d %s", transfer.id, transfer.attempts, transfer.created or 0) end
    local function next_transfer()
      while queue[first] do
        local transfer = queue[first]
        first = first + 1
        local key = key_of(transfer)
        if not returned[key] then
          returned[key] = true
          return transfer
        end
      end
    end
    return function()
      local deadline = limit < huge and now() + limit * 1e9
      while true do
        local transfer = next_transfer()
        if transfer then return transfer end
        local is_left, known = false, {}
        queue, first = {}, 1
        for each in self.list() do
          if ENDED[each.state] then
            queue[#queue + 1] = each
            known[key_of(each)] = returned[key_of(each)]
          else
            is_left = true
          end
        end
        returned = known -- the ends of removed transfers are forgotten
        transfer = next_transfer()
        if transfer then return transfer end
        if not is_left then return nil end
        if is_first then wake() end
        is_first = false
        if deadline and now() >= deadline then
          raise("timeout", format("no background transfer ended within %g s; they continue", limit))
        end
        sleep_until(now() + PAUSE)
      end
    end
  end

  -- Reads the transfer again. Returns it; nil if it was removed.
  function methods:refresh()
    local text = work("transfers.get", path, transferd, self.id)
    return text and set(self, text)
  end

  -- Waits for the end of the transfer and returns it. Raises an error if it has not succeeded, and after `timeout` seconds.
  function methods:wait(options)
    local limit = check_options("transfer:wait", options, { timeout = "number" }).timeout or huge
    local deadline = limit < huge and now() + limit * 1e9
    local id = self.id
    if not ENDED[self.state] then wake() end
    while self:refresh() and not ENDED[self.state] do
      if deadline and now() >= deadline then
        raise("timeout", format("the transfer %q did not end within %g s; it continues in the background", id, limit))
      end
      sleep_until(now() + PAUSE)
    end
    -- Raises the error of a transfer that has not succeeded.
    work("transfers.check", path, transferd, id)
    return self
  end

  return self
end

local transfers = open("", "")

-- open(path) or open{journal =, transferd =} -> the same functions for another journal, or with a program that is started as a
-- worker
function transfers.open(options)
  if type(options) == "string" then options = { journal = options } end
  options = check_options("transfers.open", options, { journal = "string", transferd = "string" })
  for name, value in pairs(options) do
    if value == "" then misuse(format("transfers.open: the option %s is empty; write a path", name)) end
  end
  return open(options.journal or "", options.transferd or "")
end

return transfers
