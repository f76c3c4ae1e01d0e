-- Channels and select. Needs no server, and takes no real time: the clock is a test clock.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse, fails = check.misuse, check.fails
local spawn, sleep = nightjar.spawn, nightjar.sleep

testing.before(function(t)
  t.clock = testing.clock { auto = true }
  t:cleanup(t.clock.close, t.clock)
end)

testing.test("a producer that is faster than its consumer is blocked", function(t)
  local jobs = nightjar.channel(2)
  t:equal(#jobs, 0)
  t:equal(jobs.capacity, 2)
  local sent = 0
  local producer = spawn(function()
    for number = 1, 6 do
      jobs:send(number)
      sent = number
    end
    jobs:close()
  end)
  sleep(1)
  t:equal(sent, 2)
  t:equal(#jobs, 2)
  t:equal(tostring(jobs), "nightjar.channel: 2 of 2")
  t:equal(jobs:receive(), 1)
  sleep(1)
  t:equal(sent, 3)
  local got = {}
  for number in jobs:values() do got[#got + 1] = number end
  t:equal(table.concat(got, " "), "2 3 4 5 6")
  t:equal(jobs:receive(), nil)
  t:equal(jobs.closed, true)
  t:equal(tostring(jobs), "nightjar.channel: 0 of 2 (closed)")
  producer:join()
  fails("closed", "send: the channel is closed", jobs.send, jobs, 1)
  jobs:close()
end)

testing.test("each value goes to one of several consumers, in the order in which they began to wait", function(t)
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
  t:equal(#order, 3)
  channel:close()
  for _, consumer in ipairs(consumers) do consumer:join() end
  t:equal(table.concat(order, " "), "1a 2b 3c")
end)

testing.test("false is a value; nil is not", function(t)
  local channel = nightjar.channel(1)
  channel:send(false)
  t:equal(channel:receive(), false)
  misuse("send: nil cannot be sent, because it marks the end of a channel; use nightjar.null", channel.send, channel,
    nil)
end)

testing.test("a channel without a buffer passes values directly between two tasks", function(t)
  local meeting = nightjar.channel(0)
  local met = false
  local sender = spawn(function()
    meeting:send "hello"
    met = true
  end)
  sleep(1)
  t:equal(met, false)
  t:equal(meeting:receive(), "hello")
  sender:join()
  t:equal(met, true)
  local receiver = spawn(function() return meeting:receive() end)
  sleep(1)
  meeting:send "again"
  t:equal(receiver:join(), "again")
end)

testing.test("cancelling a receiver loses no value, even if one was already assigned to it", function(t)
  local channel = nightjar.channel(1)
  local first = spawn(function() return channel:receive() end)
  local second = spawn(function() return channel:receive() end)
  sleep(1)
  channel:send "kept"
  first:cancel()
  t:equal(second:join(), "kept")
  channel:send "next"
  t:equal(channel:receive(), "next")
end)

testing.test("a cancelled sender has sent nothing", function(t)
  local channel = nightjar.channel(1)
  channel:send(1)
  local waiting = spawn(function() channel:send(2) end)
  sleep(1)
  waiting:cancel()
  sleep(1)
  t:equal(channel:receive(), 1)
  t:equal(select(2, nightjar.select { channel, timeout = 0 }), nil)
  t:equal(#channel, 0)
end)

testing.test("a receive that timed out takes no value", function(t)
  local channel = nightjar.channel(1)
  for _ = 1, 20 do
    local ok = pcall(nightjar.timeout, 1, function() return channel:receive() end)
    t:equal(ok, false)
  end
  channel:send "still there"
  t:equal(channel:receive(), "still there")
end)

testing.test("closing wakes waiting tasks: receivers get nil, senders an error", function(t)
  local channel = nightjar.channel(1)
  local receiver = spawn(function() return channel:receive() end)
  sleep(1)
  channel:close()
  t:equal(receiver:join(), nil)
  channel = nightjar.channel(0)
  local sender = spawn(function() channel:send(1) end)
  sleep(1)
  channel:close()
  fails("closed", "send: the channel was closed while the value was waiting to be sent", sender.join, sender)
end)

testing.test("select takes the first channel that is ready or becomes ready, or nil after the timeout", function(t)
  local a, b = nightjar.channel(1), nightjar.channel(1)
  b:send "from b"
  a:send "from a"
  local from, value = nightjar.select { a, b }
  t:equal(from, a)
  t:equal(value, "from a")
  from, value = nightjar.select { a, b }
  t:equal(from, b)
  t:equal(value, "from b")
  spawn(function()
    sleep(2)
    b:send "late"
  end)
  local before = t.clock:now()
  t:equal(nightjar.select { a, b, timeout = 1 }, nil)
  t:equal(t.clock:now() - before, 1)
  from, value = nightjar.select { a, b, timeout = 10 }
  t:equal(from, b)
  t:equal(value, "late")
  t:equal(t.clock:now() - before, 2)
  b:close()
  from, value = nightjar.select { a, b }
  t:equal(from, b)
  t:equal(value, nil)
  t:equal(nightjar.select { timeout = 0.5 }, nil)
end)

testing.test("a select that has taken a value passes another channel's wakeup to the next task", function(t)
  local a, b = nightjar.channel(1), nightjar.channel(1)
  local chooser = spawn(function() return select(2, nightjar.select { a, b }) end)
  local other = spawn(function() return b:receive() end)
  sleep(1)
  a:send "a"
  b:send "b"
  t:equal(chooser:join(), "a")
  t:equal(other:join(), "b")
end)

testing.test("invalid arguments are reported", function()
  local a = nightjar.channel(1)
  misuse("channel: a capacity from 0 to 1000000 expected, got none", nightjar.channel)
  misuse("channel: a capacity from 0 to 1000000 expected, got inf",
    nightjar.channel, math.huge)
  misuse("channel: a capacity from 0 to 1000000 expected, got -1",
    nightjar.channel, -1)
  misuse("channel expected, got table; call methods with a colon, as in channel:receive()", a.send, {}, 1)
  misuse("a channel has no field 'recieve'; did you mean 'receive'?", function() return a:recieve() end)
  misuse("the fields of a channel cannot be set", function() a.capacity = 2 end)
  misuse("select: a list of channels expected, got a channel", nightjar.select, a)
  misuse("select: item 2 must be a channel or a WebSocket, got number", nightjar.select, { a, 1 })
  misuse("select: unknown option 'timout'", nightjar.select, { a, timout = 1 })
  misuse("select: option 'timeout' must be between 0 and 1e9 seconds", nightjar.select, { a, timeout = -1 })
  misuse("select: the list is empty", nightjar.select, {})
end)

testing.test("a thousand values pass through a chain of ten tasks", function(t)
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
  t:equal(sum, 1000 * 1001 // 2 + 10 * 1000)
end)

testing.test("in any order of operations, each sent value is received once and no task waits forever", function(t)
  t.clock:close() -- each order has a new clock
  for seed = 1, 40 do
    local clock <close> = testing.clock { auto = true }
    local state = seed
    local function random(limit)
      state = (state * 1103515245 + 12345) & 0x7fffffff
      return (state >> 8) % limit
    end
    local left, right = nightjar.channel(random(3)), nightjar.channel(random(3))
    local were_sent, were_received, is_over = {}, {}, false
    local function received(value)
      t:falsy(were_received[value], "twice")
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
          end) then t:truthy(were_sent[value]) end
        end
      end)
    end
    local receivers = {}
    for name = 1, 5 do
      receivers[name] = spawn(function()
        while not is_over do
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
    is_over = true
    for _, task in ipairs(receivers) do task:join() end
    left:close()
    right:close()
    for value in left:values() do received(value) end
    for value in right:values() do received(value) end
    for value in pairs(were_sent) do t:truthy(were_received[value], "lost") end
  end
end)

assert(testing.run().ok, "a case failed")
