-- nightjar.transfers: downloads and uploads that `nightjar transferd` performs, and that continue when this program has
-- ended.
local nightjar, native = ...
local work, raise, misuse, got = native.work, native.raise, native.misuse, native.got
local check_options, now, sleep_until = native.options, native.now, native.sleep_until
local type, pairs, ipairs, setmetatable, format, huge = type, pairs, ipairs, setmetatable, string.format, math.huge
local encode, decode = nightjar.json.encode, nightjar.json.decode

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

-- Returns the functions for the transfers of a journal. `path` is empty for the journal of the user.
local function open(path)
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
    return made(work("transfers.start", path, check_id(options.id, "transfers.start"), encode(rest)))
  end

  -- get(id) -> the transfer; nil if there is none
  function self.get(id)
    local text = work("transfers.get", path, check_id(id, "transfers.get"))
    return text and made(text)
  end

  -- list() -> an iterator of the transfers, in the order in which they were started
  function self.list()
    local texts, position = work("transfers.list", path), 0
    return function()
      position = position + 1
      return texts[position] and made(texts[position])
    end
  end

  for _, name in ipairs { "pause", "resume", "cancel", "retry", "remove" } do
    self[name] = function(id) work("transfers." .. name, path, check_id(id, "transfers." .. name)) end
    methods[name] = function(transfer) self[name](transfer.id) end
  end

  -- Reads the transfer again. Returns it; nil if it was removed.
  function methods:refresh()
    local text = work("transfers.get", path, self.id)
    return text and set(self, text)
  end

  -- Waits for the end of the transfer and returns it. Raises an error if it has not succeeded, and after `timeout` seconds.
  function methods:wait(options)
    local limit = check_options("transfer:wait", options, { timeout = "number" }).timeout or huge
    local deadline = limit < huge and now() + limit * 1e9
    local id = self.id
    while self:refresh() and not ENDED[self.state] do
      if deadline and now() >= deadline then
        raise("timeout", format("the transfer %q did not end within %g s; it continues in the background", id, limit))
      end
      sleep_until(now() + PAUSE)
    end
    -- Raises the error of a transfer that has not succeeded.
    work("transfers.check", path, id)
    return self
  end

  return self
end

local transfers = open ""

-- open(path) -> the same functions for another journal
function transfers.open(path)
  if type(path) ~= "string" or path == "" then misuse("transfers.open: the path of a journal expected, got " .. got(path)) end
  return open(path)
end

return transfers
