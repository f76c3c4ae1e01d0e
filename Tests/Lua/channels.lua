-- Channels, select, after and every. Needs no server, and no time passes: the clock is one for tests.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails
local spawn, sleep = nightjar.spawn, nightjar.sleep

local clock <close> = nightjar.testing.clock { auto = true }

local function closing(f) return setmetatable({}, { __close = f }) end

-- A producer that is faster than its consumer waits for it.
local jobs = nightjar.channel(2)
equal(#jobs, 0)
equal(jobs.capacity, 2)
local sent = 0
local producer = spawn(function()
  for number = 1, 6 do
    jobs:send(number)
    sent = number
  end
  jobs:close()
end)
sleep(1)
equal(sent, 2)
equal(#jobs, 2)
equal(tostring(jobs), "nightjar.channel: 2 of 2")
equal(jobs:receive(), 1)
sleep(1)
equal(sent, 3)
local got = {}
for number in jobs:values() do got[#got + 1] = number end
equal(table.concat(got, " "), "2 3 4 5 6")
equal(jobs:receive(), nil)
equal(jobs.closed, true)
equal(tostring(jobs), "nightjar.channel: 0 of 2 (closed)")
producer:join()
fails("closed", "send: the channel is closed", jobs.send, jobs, 1)
jobs:close()

-- Many consumers: each value goes to one, in the order in which they came to wait.
local channel = nightjar.channel(1)
local order = {}
local consumers = {}
for name = 1, 3 do
  consumers[name] = spawn(function()
    for value in channel:values() do order[#order + 1] = name .. value end
  end)
end
sleep(0)
for _, value in ipairs { "a", "b", "c" } do channel:send(value) end
sleep(0)
equal(#order, 3)
channel:close()
for _, consumer in ipairs(consumers) do consumer:join() end
equal(table.concat(order, " "), "1a 2b 3c")

-- false is a value; nil is none.
channel = nightjar.channel(1)
channel:send(false)
equal(channel:receive(), false)
misuse("send: nil cannot be sent, because it marks the end of a channel; use nightjar.null", channel.send, channel, nil)

-- Without room of its own, a channel is where two meet.
local meeting = nightjar.channel(0)
local met = false
local sender = spawn(function()
  meeting:send "hello"
  met = true
end)
sleep(1)
equal(met, false)
equal(meeting:receive(), "hello")
sender:join()
equal(met, true)
local receiver = spawn(function() return meeting:receive() end)
sleep(1)
meeting:send "again"
equal(receiver:join(), "again")

-- Who is cancelled while it waits loses nothing, even when a value had already been sent for it.
channel = nightjar.channel(1)
local first = spawn(function() return channel:receive() end)
local second = spawn(function() return channel:receive() end)
sleep(1)
channel:send "kept"
first:cancel()
equal(second:join(), "kept")
channel:send "next"
equal(channel:receive(), "next")

-- A sender that is cancelled has sent nothing.
channel:send(1)
local waiting = spawn(function() channel:send(2) end)
sleep(1)
waiting:cancel()
sleep(1)
equal(channel:receive(), 1)
equal(select(2, nightjar.select { channel, timeout = 0 }), nil)
equal(#channel, 0)

-- So it is with a limit of time.
for number = 1, 20 do
  local ok = pcall(nightjar.timeout, 1, function() return channel:receive() end)
  equal(ok, false)
end
channel:send "still there"
equal(channel:receive(), "still there")

-- Closing wakes who waits: receivers with nil, senders with an error.
receiver = spawn(function() return channel:receive() end)
sleep(1)
channel:close()
equal(receiver:join(), nil)
channel = nightjar.channel(0)
sender = spawn(function() channel:send(1) end)
sleep(1)
channel:close()
fails("closed", "send: the channel was closed while the value was waiting to be sent", sender.join, sender)

-- select: the first in the list that has something; else the first to get something; else nil, in time.
local a, b = nightjar.channel(1), nightjar.channel(1)
b:send "from b"
a:send "from a"
local from, value = nightjar.select { a, b }
equal(from, a)
equal(value, "from a")
from, value = nightjar.select { a, b }
equal(from, b)
equal(value, "from b")
spawn(function()
  sleep(2)
  b:send "late"
end)
local before = clock:now()
equal(nightjar.select { a, b, timeout = 1 }, nil)
equal(clock:now() - before, 1)
from, value = nightjar.select { a, b, timeout = 10 }
equal(from, b)
equal(value, "late")
equal(clock:now() - before, 2)
b:close()
from, value = nightjar.select { a, b }
equal(from, b)
equal(value, nil)
equal(nightjar.select { timeout = 0.5 }, nil)

-- A select that took from one hands what it was woken for elsewhere to the next.
b = nightjar.channel(1)
local chooser = spawn(function() return select(2, nightjar.select { a, b }) end)
local other = spawn(function() return b:receive() end)
sleep(1)
a:send "a"
b:send "b"
equal(chooser:join(), "a")
equal(other:join(), "b")

clock:close()

-- Misuse.
misuse("channel: a capacity from 0 to 1000000 expected, got none", nightjar.channel)
misuse("channel: a capacity from 0 to 1000000 expected, got inf",
  nightjar.channel, math.huge)
misuse("channel: a capacity from 0 to 1000000 expected, got -1",
  nightjar.channel, -1)
misuse("channel expected, got table; call it with a colon", a.send, {}, 1)
misuse("a channel has no field 'recieve'; did you mean 'receive'?", function() return a:recieve() end)
misuse("the fields of a channel cannot be set", function() a.capacity = 2 end)
misuse("select: a list of channels expected, got a channel", nightjar.select, a)
misuse("select: item 2 must be a channel, got number", nightjar.select, { a, 1 })
misuse("select: unknown option 'timout'", nightjar.select, { a, timout = 1 })
misuse("select: option 'timeout' must be between 0 and 1e9 seconds", nightjar.select, { a, timeout = -1 })
misuse("select: the list is empty", nightjar.select, {})

-- A thousand values through a chain of ten tasks.
local head = nightjar.channel(3)
local tail = head
for _ = 1, 10 do
  local from_channel, to = tail, nightjar.channel(3)
  spawn(function()
    for number in from_channel:values() do to:send(number + 1) end
    to:close()
  end)
  tail = to
end
spawn(function()
  for number = 1, 1000 do head:send(number) end
  head:close()
end)
local sum = 0
for number in tail:values() do sum = sum + number end
equal(sum, 1000 * 1001 // 2 + 10 * 1000)

-- However senders, receivers and choosers come, wait and give up: what was sent is received, once, and nobody is forgotten.
for seed = 1, 40 do
  local time <close> = nightjar.testing.clock { auto = true }
  local state = seed
  local function random(limit)
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return (state >> 8) % limit
  end
  local left, right = nightjar.channel(random(3)), nightjar.channel(random(3))
  local were_sent, were_received, isOver = {}, {}, false
  local function received(value)
    assert(not were_received[value], "twice")
    were_received[value] = true
  end
  local senders = {}
  for name = 1, 4 do
    senders[name] = spawn(function()
      for number = 1, 25 do
        sleep(random(3) / 10)
        local value = name .. "-" .. number
        local target = random(2) == 0 and left or right
        if pcall(nightjar.timeout, random(4) / 10, function()
          target:send(value)
          were_sent[value] = true
        end) then assert(were_sent[value]) end
      end
    end)
  end
  local receivers = {}
  for name = 1, 5 do
    receivers[name] = spawn(function()
      while not isOver do
        sleep(random(2) / 10)
        local kind = random(4)
        if kind == 0 then
          pcall(nightjar.timeout, random(3) / 10 + 0.01, function() received(left:receive()) end)
        elseif kind == 1 then
          pcall(nightjar.timeout, random(3) / 10 + 0.01, function() received(right:receive()) end)
        elseif kind == 2 then
          local _, value = nightjar.select { left, right, timeout = random(3) / 10 }
          if value then received(value) end
        else
          local chooser = spawn(function()
            local _, value = nightjar.select { right, left, right }
            if value then received(value) end
          end)
          sleep(random(2) / 10)
          chooser:cancel()
          pcall(chooser.join, chooser)
        end
      end
    end)
  end
  for _, task in ipairs(senders) do task:join() end
  isOver = true
  for _, task in ipairs(receivers) do task:join() end
  left:close()
  right:close()
  for value in left:values() do received(value) end
  for value in right:values() do received(value) end
  for value in pairs(were_sent) do assert(were_received[value], "lost") end
end
