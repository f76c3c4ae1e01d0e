-- Coroutines of scripts, and places that cannot yield. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse = check.misuse

local function nap() nightjar.sleep(0.001) end

local claims = {}
local function case(name, f)
  claims[#claims + 1] = f
  testing.test(name, f)
end

case("a generator can wait while other tasks run", function(t)
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
  t:equal(sum, 210)
  t:truthy(ticks > 5)
  ticker:cancel()
  pcall(ticker.join, ticker)
end)

case("values are passed in and out as usual", function(t)
  local co = coroutine.create(function(a)
    nap()
    local b = coroutine.yield(a + 1)
    nap()
    return b * 2
  end)
  t:equal(select(2, coroutine.resume(co, 1)), 2)
  t:equal(coroutine.status(co), "suspended")
  t:equal(select(2, coroutine.resume(co, 5)), 10)
  t:equal(coroutine.status(co), "dead")
  t:equal(select(2, coroutine.resume(co)), "cannot resume dead coroutine")
end)

case("generators can be nested", function(t)
  local function nested(depth)
    if depth == 0 then nap() return "deep" end
    return coroutine.wrap(nested)(depth - 1)
  end
  t:equal(nested(10), "deep")
end)

case("errors are raised where the coroutine is resumed", function(t)
  misuse("inside", coroutine.wrap(function() nap() error("inside", 0) end))
  local value = {}
  local ok, err = pcall(coroutine.wrap(function() nap() error(value) end))
  t:truthy(rawequal(err, value))
  ok, err = coroutine.resume(coroutine.create(function() nap() error(value) end))
  t:equal(ok, false)
  t:truthy(rawequal(err, value))
  misuse("attempt to yield from outside a coroutine", coroutine.yield, 1)
  misuse("bad argument #1 to 'resume' (thread expected, got nil)", function() coroutine.resume(nil) end)
  misuse("bad argument #1 to 'wrap' (function expected, got nil)", function() coroutine.wrap(nil) end)
end)

case("other code can neither resume nor close a waiting coroutine, and does not affect its task", function(t)
  local gen = coroutine.create(function() nap() return "done" end)
  local waiter = nightjar.spawn(function() return coroutine.resume(gen) end)
  nightjar.sleep(0)
  local ok, err = coroutine.resume(gen)
  t:equal(ok, false)
  t:equal(err, "this coroutine waits for nightjar and cannot be resumed")
  misuse("this coroutine waits for nightjar and cannot be closed; cancel its task", coroutine.close, gen)
  t:equal(coroutine.status(gen), "suspended")
  t:equal(table.concat({ select(2, waiter:join()) }), "done")
end)

case("other code can neither resume nor close a coroutine that a wait passes through", function(t)
  local middle = coroutine.create(function() return coroutine.wrap(function() nap() return "deep" end)() end)
  local waiter = nightjar.spawn(coroutine.resume, middle)
  nightjar.sleep(0)
  t:equal(coroutine.resume(middle), false)
  t:equal(pcall(coroutine.close, middle), false)
  t:equal(select(2, waiter:join()), "deep")
end)

case("a group in a coroutine belongs to the waiting task until this task has continued", function(t)
  for _ = 1, 20 do
    local group = coroutine.create(function()
      return nightjar.map({ 1, 2, 3, 4 }, function(n) nightjar.sleep(0) return n end, { concurrency = 1 })
    end)
    local waiter = nightjar.spawn(function() return select(2, coroutine.resume(group)) end)
    local thief = nightjar.spawn(function()
      for _ = 1, 10 do
        coroutine.resume(group)
        nightjar.sleep(0)
      end
    end)
    t:equal(#waiter:join(), 4)
    thief:join()
  end
end)

case("cancelling closes generators from the inside out", function(t)
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
  t:equal(table.concat(closed, " "), "inner outer")
end)

case("pcall, error handlers, iterators and metamethods can wait", function(t)
  local ok, err = pcall(function() nap() error("after", 0) end)
  t:equal(err, "after")
  ok, err = xpcall(function() nap() error("x", 0) end, function(e) return e .. "!" end)
  t:equal(err, "x!")
  for i in function(_, last) nap() if (last or 0) < 3 then return (last or 0) + 1 end end do t:equal(i <= 3, true) end
  local meta = setmetatable({}, { __index = function(_, k) nap() return k end, __add = function() nap() return 7 end })
  t:equal(meta.field, "field")
  t:equal(meta + 1, 7)
end)

case("where yielding is not possible, the wait blocks, and other tasks still run", function(t)
  local list = { 3, 1, 2 }
  local ticks = 0
  local ticker = nightjar.spawn(function() while true do nap() ticks = ticks + 1 end end)
  table.sort(list, function(a, b) nightjar.sleep(0.1) return a < b end)
  t:equal(table.concat(list), "123")
  t:truthy(ticks > 5)
  ticker:cancel()
  t:equal(("abc"):gsub(".", function(c) nap() return c:upper() end), "ABC")
  local sleeper, began = nightjar.spawn(function() nightjar.sleep(5) end), os.time()
  t:equal(("abc"):gsub(".", function(c) nightjar.sleep(0) return c:upper() end), "ABC")
  t:truthy(os.time() - began < 4, "the other's sleep was waited for")
  sleeper:cancel()
  pcall(sleeper.join, sleeper)
end)

case("finalizers can wait, by blocking", function(t)
  local finalized = false
  do
    setmetatable({}, { __gc = function() nap() finalized = true end })
  end
  collectgarbage()
  collectgarbage()
  t:equal(finalized, true)
end)

case("too many coroutines that close others while they are closed are an error", function(t)
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
  t:equal(coroutine.close(last), true)
  t:equal(failure, "too many nested coroutine closes")
end)

assert(testing.run().ok, "a case failed")

-- A test has a time limit, whose timer can always expire, so a deadlock of all tasks is detected only outside of
-- tests.
do
  local blocked, other
  blocked = nightjar.spawn(function()
    table.sort({ 1, 2 }, function() other:join() return false end)
  end)
  other = nightjar.spawn(function() nightjar.sleep(0) blocked:join() end)
  local ok, err = pcall(blocked.join, blocked)
  check.equal(ok, false)
  assert(tostring(err):match "deadlock: all tasks wait for each other", tostring(err))
  pcall(other.join, other)
end

-- Tests run in tasks. The claims must also hold on the main chunk, which cannot yield in stock Lua: each wait blocks.
local on_main_chunk = {
  equal = function(_, got, expected) check.equal(got, expected) end,
  truthy = function(_, value, note) assert(value, note) end,
}
for _, claim in ipairs(claims) do claim(on_main_chunk) end
