-- nightjar.channel and nightjar.select: pass values from one task to another, in order.
--
-- A value belongs to the channel until the receiving task runs, so a task that is cancelled while it waits loses no
-- value. Waiting tasks are in a list of the channel, and each value wakes one of them. A task that does not take the
-- value for which it was woken wakes the next task.
local nightjar, native = ...
local gate, now, raise, misuse = native.gate, native.now, native.raise, native.misuse
local type, setmetatable, ipairs, pairs, tostring, format = type, setmetatable, ipairs, pairs, tostring, string.format
local math_type = math.type

-- The maximum capacity of a channel. A sender that is faster than the receivers must wait; otherwise only memory would
-- limit the channel.
local MOST_CAPACITY = 1000000

-- --- Waiting tasks, in circular lists ---

local function new_list()
  local list = {}
  list.next, list.previous = list, list
  return list
end

local function append(list, node)
  local last = list.previous
  last.next, node.previous, node.next, list.previous = node, last, list, node
end

local function unlink(node)
  local before, after = node.previous, node.next
  if before then before.next, after.previous, node.next, node.previous = after, before, nil, nil end
end

local function wake_first(list)
  local node = list.next
  if node == list then return end
  unlink(node)
  node.is_woken = true
  node.gate:open()
end

-- --- Channels ---

local Channel = {}
-- The private state of each channel, hidden from scripts.
local insides = setmetatable({}, { __mode = "k" })

local function inside(channel)
  local self = insides[channel]
  if not self then
    misuse(format("channel expected, got %s; call methods with a colon, as in channel:receive()", type(channel)))
  end
  return self
end

local function is_ready(self) return self.count > 0 or self.senders.next ~= self.senders end

local function put(self, value)
  self.count = self.count + 1
  self.values[self.first + self.count - 1] = value
end

-- Returns the next value, or nil if there is none.
local function take(self)
  local sender = self.senders.next
  if self.count == 0 then
    if sender == self.senders then return nil end
  else
    local first = self.first
    local value = self.values[first]
    self.values[first] = nil
    self.first, self.count = first + 1, self.count - 1
    if sender ~= self.senders then
      unlink(sender)
      put(self, sender.value)
      sender.is_sent = true
      sender.gate:open()
      wake_first(self.receivers)
    end
    return value
  end
  unlink(sender)
  sender.is_sent = true
  sender.gate:open()
  return sender.value
end

local Sending = { __close = unlink }

-- channel:send(value) waits while the channel is full.
function Channel.send(channel, value)
  local self = inside(channel)
  if value == nil then misuse "send: nil cannot be sent, because it marks the end of a channel; use nightjar.null" end
  if self.is_closed then raise("closed", "send: the channel is closed") end
  if self.count < self.capacity then
    put(self, value)
    wake_first(self.receivers)
    return
  end
  local turn <close> = setmetatable({ value = value, gate = gate() }, Sending)
  append(self.senders, turn)
  -- If the channel contains values, a receiver was already woken for each of them.
  if self.count == 0 then wake_first(self.receivers) end
  turn.gate:wait()
  if not turn.is_sent then raise("closed", "send: the channel was closed while the value was waiting to be sent") end
end

local Receiving = {
  __close = function(turn)
    for index, self in ipairs(turn.channels) do
      local node = turn[index]
      unlink(node)
      if node.is_woken and turn.taken == self then
        turn.taken = nil
      elseif node.is_woken and is_ready(self) then
        wake_first(self.receivers)
      end
    end
  end,
}

-- Waits until a channel may have a value. Returns false if the deadline passed first.
local function wait_at(turn, deadline)
  for index, self in ipairs(turn.channels) do
    unlink(turn[index])
    turn[index].is_woken = false
    append(self.receivers, turn[index])
  end
  return turn.gate:wait(deadline)
end

local function new_turn(channels)
  local turn = { channels = channels, gate = gate() }
  for index in ipairs(channels) do turn[index] = { gate = turn.gate } end
  return setmetatable(turn, Receiving)
end

-- channel:receive() -> the next value; nil if the channel is closed and empty
function Channel.receive(channel)
  local self = inside(channel)
  local receivers, value = self.receivers, nil
  -- Queues after the receivers that already wait: one of them was woken for the available value.
  if receivers.next == receivers then
    value = take(self)
    if value ~= nil then return value end
  end
  if self.is_closed then return take(self) end
  local turn <close> = new_turn { self }
  repeat
    wait_at(turn)
    value = take(self)
  until value ~= nil or self.is_closed
  if value ~= nil then turn.taken = self end
  return value
end

-- channel:values() -> an iterator of the values until the channel is closed and empty
function Channel.values(channel)
  inside(channel)
  return function() return Channel.receive(channel) end
end

-- channel:close() rejects further values; values in the channel can still be received. Closing a closed channel does
-- nothing.
function Channel.close(channel)
  local self = inside(channel)
  self.is_closed = true
  while self.senders.next ~= self.senders do wake_first(self.senders) end
  while self.receivers.next ~= self.receivers do wake_first(self.receivers) end
end

local names = { "send", "receive", "values", "close", "closed", "capacity" }
local Meta = {
  __metatable = false,
  __name = "nightjar.channel",
  __len = function(channel) return inside(channel).count end,
  __close = Channel.close,
  __index = function(channel, name)
    local method = Channel[name]
    if method then return method end
    if name == "closed" then return inside(channel).is_closed end
    if name == "capacity" then return inside(channel).capacity end
    local near = type(name) == "string" and native.nearest(name, names)
    misuse(format("a channel has no field '%s'%s", tostring(name), near and format("; did you mean '%s'?", near) or ""))
  end,
  __newindex = function() misuse "the fields of a channel cannot be set" end,
  __tostring = function(channel)
    local self = inside(channel)
    return format("nightjar.channel: %d of %d%s", self.count, self.capacity, self.is_closed and " (closed)" or "")
  end,
}

local channels = {}

-- nightjar.channel(capacity). With capacity 0, each sender waits for a receiver.
function channels.channel(capacity)
  if math_type(capacity) ~= "integer" or capacity < 0 or capacity > MOST_CAPACITY then
    local got = type(capacity) == "number" and tostring(capacity) or type(capacity)
    misuse(format("channel: a capacity from 0 to %d expected, got %s",
      MOST_CAPACITY, got == "nil" and "none" or got))
  end
  local channel = setmetatable({}, Meta)
  insides[channel] = {
    capacity = capacity, values = {}, first = 1, count = 0, is_closed = false, senders = new_list(), receivers = new_list(),
  }
  return channel
end

-- The channels to which a task copies the messages of WebSockets, for select.
local sockets = setmetatable({}, { __mode = "k" })

-- Returns the inside of a channel or of the channel of a WebSocket. Returns nil for another value.
local function source(item)
  if insides[item] then return insides[item] end
  if not native.is_websocket(item) then return nil end
  local channel = sockets[item]
  if not channel then
    channel = channels.channel(1)
    sockets[item] = channel
    nightjar.spawn(function()
      local open <close> = channel
      for message in item:messages() do open:send(message) end
    end)
  end
  return insides[channel]
end

-- Returns the position and value of the first channel that has a value or is closed.
local function look(list)
  for place, self in ipairs(list) do
    local value = take(self)
    if value ~= nil or self.is_closed then return place, value end
  end
end

-- nightjar.select{channel, socket, timeout = seconds} -> the first channel or WebSocket in the list that has a value or is
-- closed, and the value, or nil if it is closed and empty. Returns nil if the timeout expired first. From the first
-- select on, a child of the current task receives the messages of a WebSocket.
function channels.select(cases)
  if type(cases) ~= "table" or insides[cases] then
    misuse(format("select: a list of channels expected, got %s", insides[cases] and "a channel" or type(cases)))
  end
  local list, timeout = {}, cases.timeout
  for place, channel in ipairs(cases) do
    list[place] = source(channel)
      or misuse(format("select: item %d must be a channel or a WebSocket, got %s", place, type(channel)))
  end
  for name in pairs(cases) do
    if name ~= "timeout" and not (math_type(name) == "integer" and list[name]) then
      misuse(format("select: unknown option '%s'", tostring(name)))
    end
  end
  if timeout ~= nil and (type(timeout) ~= "number" or not (timeout >= 0 and timeout <= 1e9)) then
    misuse "select: option 'timeout' must be between 0 and 1e9 seconds"
  end
  if #list == 0 and not timeout then misuse "select: the list is empty" end
  local place, value = look(list)
  if place then return cases[place], value end
  if timeout == 0 then return nil end
  local deadline = timeout and now() + (timeout * 1e9 // 1 | 0)
  local turn <close> = new_turn(list)
  while true do
    local is_woken = wait_at(turn, deadline)
    place, value = look(list)
    if place then
      if value ~= nil then turn.taken = list[place] end
      return cases[place], value
    end
    if not is_woken then return nil end
  end
end

return channels
