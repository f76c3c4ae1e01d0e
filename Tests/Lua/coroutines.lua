-- A script's own coroutines, and places where nothing can yield. Needs no server.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse = check.equal, check.misuse

local function nap() nightjar.sleep(0.001) end

-- Generators wait while others go on.
local function count(to)
  return coroutine.wrap(function()
    for i = 1, to do
      nap()
      coroutine.yield(i)
    end
  end)
end
local ticks = 0
local ticker = nightjar.spawn(function() while true do nap() ticks = ticks + 1 end end)
local sum = 0
for i in count(20) do sum = sum + i end
equal(sum, 210)
assert(ticks > 5)
ticker:cancel()

-- Values go in and out as ever.
local co = coroutine.create(function(a)
  nap()
  local b = coroutine.yield(a + 1)
  nap()
  return b * 2
end)
equal(select(2, coroutine.resume(co, 1)), 2)
equal(coroutine.status(co), "suspended")
equal(select(2, coroutine.resume(co, 5)), 10)
equal(coroutine.status(co), "dead")
equal(select(2, coroutine.resume(co)), "cannot resume dead coroutine")

-- Generators in generators.
local function nested(depth)
  if depth == 0 then nap() return "deep" end
  return coroutine.wrap(nested)(depth - 1)
end
equal(nested(10), "deep")

-- Errors.
misuse("inside", coroutine.wrap(function() nap() error("inside", 0) end))
local value = {}
local ok, err = pcall(coroutine.wrap(function() nap() error(value) end))
equal(err, value)
ok, err = coroutine.resume(coroutine.create(function() nap() error(value) end))
equal(ok, false)
equal(err, value)
misuse("attempt to yield from outside a coroutine", coroutine.yield, 1)
misuse("bad argument #1 to 'resume' (thread expected, got nil)", function() coroutine.resume(nil) end)
misuse("bad argument #1 to 'wrap' (function expected, got nil)", function() coroutine.wrap(nil) end)

-- A coroutine that waits is nobody else's to resume or to close, and its own task goes on as if nobody had tried.
local gen = coroutine.create(function() nap() return "done" end)
local waiter = nightjar.spawn(function() return coroutine.resume(gen) end)
nightjar.sleep(0)
ok, err = coroutine.resume(gen)
equal(ok, false)
equal(err, "this coroutine waits for nightjar and cannot be resumed")
misuse("this coroutine waits for nightjar and cannot be closed; cancel its task", coroutine.close, gen)
equal(coroutine.status(gen), "suspended")
equal(table.concat({ select(2, waiter:join()) }), "done")
-- The same for each coroutine that the wait passes through.
local middle = coroutine.create(function() return coroutine.wrap(function() nap() return "deep" end)() end)
waiter = nightjar.spawn(coroutine.resume, middle)
nightjar.sleep(0)
equal(coroutine.resume(middle), false)
equal(pcall(coroutine.close, middle), false)
equal(select(2, waiter:join()), "deep")
-- A group in a coroutine belongs to the task that waits, also when its wait is over and the task has not gone on yet.
for _ = 1, 20 do
  local group = coroutine.create(function()
    return nightjar.map({ 1, 2, 3, 4 }, function(n) nightjar.sleep(0) return n end, { concurrency = 1 })
  end)
  waiter = nightjar.spawn(function() return select(2, coroutine.resume(group)) end)
  local thief = nightjar.spawn(function()
    for _ = 1, 10 do
      coroutine.resume(group)
      nightjar.sleep(0)
    end
  end)
  equal(#waiter:join(), 4)
  thief:join()
end

-- Cancelling closes generators too, from the inside out.
local closed = {}
local function closer(name) return setmetatable({}, { __close = function() closed[#closed + 1] = name end }) end
local task = nightjar.spawn(function()
  local outer <close> = closer "outer"
  coroutine.wrap(function()
    local inner <close> = closer "inner"
    nightjar.sleep(100)
  end)()
end)
nap()
task:cancel()
pcall(task.join, task)
equal(table.concat(closed, " "), "inner outer")

-- pcall, error handlers and iterators across waits.
ok, err = pcall(function() nap() error("after", 0) end)
equal(err, "after")
ok, err = xpcall(function() nap() error("x", 0) end, function(e) return e .. "!" end)
equal(err, "x!")
for i in function(_, last) nap() if (last or 0) < 3 then return (last or 0) + 1 end end do equal(i <= 3, true) end
local meta = setmetatable({}, { __index = function(_, k) nap() return k end, __add = function() nap() return 7 end })
equal(meta.field, "field")
equal(meta + 1, 7)

-- Where nothing can yield the wait blocks, and the others still run.
local list = { 3, 1, 2 }
ticks = 0
ticker = nightjar.spawn(function() while true do nap() ticks = ticks + 1 end end)
table.sort(list, function(a, b) nightjar.sleep(0.1) return a < b end)
equal(table.concat(list), "123")
assert(ticks > 5)
ticker:cancel()
equal(("abc"):gsub(".", function(c) nap() return c:upper() end), "ABC")
local sleeper, began = nightjar.spawn(function() nightjar.sleep(5) end), os.time()
equal(("abc"):gsub(".", function(c) nightjar.sleep(0) return c:upper() end), "ABC")
assert(os.time() - began < 4, "the other's sleep was waited for")
sleeper:cancel()

-- Waiting for one another from such places ends in an error, not in silence.
local other
local blocked = nightjar.spawn(function()
  table.sort({ 1, 2 }, function() other:join() return false end)
end)
other = nightjar.spawn(function() nightjar.sleep(0) blocked:join() end)
ok, err = pcall(blocked.join, blocked)
equal(ok, false)
assert(tostring(err):match "deadlock: all tasks wait for each other", tostring(err))
pcall(other.join, other)

-- Finalizers may wait, by blocking.
local finalized = false
do
  setmetatable({}, { __gc = function() nap() finalized = true end })
end
collectgarbage()
collectgarbage()
equal(finalized, true)

-- Coroutines that close others as they are closed end in an error and not in an overflow of the C stack.
do
  local last, failure
  for _ = 1, 1000 do
    local before = last
    last = coroutine.create(function()
      local closer <close> = setmetatable({}, { __close = function()
        local ok, message = pcall(coroutine.close, before)
        if before and not ok then failure = failure or message end
      end })
      coroutine.yield()
    end)
    coroutine.resume(last)
  end
  check.equal(coroutine.close(last), true)
  check.equal(failure, "too many nested coroutine closes")
end
