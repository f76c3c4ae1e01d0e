-- Tasks: spawn, join, cancel; all, race, map, timeout, sleep; generators; <close>. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local same = check.equal -- identity; t:equal compares tables by content
local sleep, spawn = nightjar.sleep, nightjar.spawn

-- The events of the current case in order.
local trace = {}
local function note(word) trace[#trace + 1] = word end
local function happened()
  local text = table.concat(trace, " ")
  trace = {}
  return text
end

testing.before(function() trace = {} end)

local function closing(word) return setmetatable({}, { __close = function() note(word) end }) end

test("a task runs later, not immediately, and join returns its results", function(t)
  local task = spawn(function(a, b) note "child" return a + b, "two", nil end, 1, 2)
  note "parent"
  t:equal(task.done, false)
  t:equal(select("#", task:join()), 3)
  t:equal(table.concat({ task:join() }, " "), "3 two")
  t:equal(task.done, true)
  t:equal(happened(), "parent child")
end)

test("sleeping tasks wake in the order of their times, regardless of the order of their start", function(t)
  for _, tenths in ipairs { 3, 1, 2 } do
    spawn(function() sleep(tenths / 50) note(tenths) end)
  end
  sleep(0.1)
  t:equal(happened(), "1 2 3")
end)

test("join raises the unchanged error, even if it is not text", function(t)
  local thrown = { "an error" }
  local task = spawn(function() error(thrown) end)
  local ok, err = pcall(task.join, task)
  t:equal(ok, false)
  same(err, thrown)
end)

test("the error of a task that is not joined is raised in the parent", function()
  local task = spawn(function()
    spawn(function() error("from below", 0) end)
    sleep(0.01)
  end)
  misuse("from below", task.join, task)
end)

test("a task ends after its children", function(t)
  local task = spawn(function()
    spawn(function() sleep(0.02) note "child" end)
    note "parent"
  end)
  task:join()
  t:equal(happened(), "parent child")
end)

test("cancelling also cancels the children, and runs the <close> handlers", function(t)
  local isInFlight = false
  local task = spawn(function()
    local outer <close> = closing "outer"
    spawn(function()
      local inner <close> = closing "inner"
      isInFlight = true
      sleep(10)
    end)
    sleep(10)
    note "never"
  end)
  while not isInFlight do sleep(0) end
  task:cancel()
  task:cancel()
  fails("cancelled", "the task was cancelled", task.join, task)
  table.sort(trace)
  t:equal(happened(), "inner outer")
end)

test("a <close> handler can wait", function(t)
  local isInFlight = false
  local task = spawn(function()
    local slow <close> = setmetatable({}, { __close = function() sleep(0.01) note "closed" end })
    isInFlight = true
    sleep(10)
  end)
  while not isInFlight do sleep(0) end
  task:cancel()
  pcall(task.join, task)
  t:equal(happened(), "closed")
end)

test("a task that is cancelled before it starts never runs", function(t)
  local task = spawn(function() note "never" end)
  task:cancel()
  fails("cancelled", "the task was cancelled", task.join, task)
  t:equal(happened(), "")
end)

test("a cancelled task cannot continue by catching the error", function(t)
  local task = spawn(function()
    pcall(sleep, 10)
    note "caught"
    sleep(0.001)
    note "never"
  end)
  sleep(0.001)
  task:cancel()
  pcall(task.join, task)
  for _, word in ipairs(trace) do t:truthy(word ~= "never") end
end)

test("all returns the results by index", function(t)
  local a, b, c = nightjar.all {
    function() sleep(0.02) return "a", "dropped" end,
    function() return nil end,
    function() return "c" end,
  }
  t:equal(a, "a")
  t:equal(b, nil)
  t:equal(c, "c")
end)

test("all without functions returns nothing", function(t) t:equal(select("#", nightjar.all {}), 0) end)

test("a failure in all cancels the rest", function(t)
  misuse("second", nightjar.all, {
    function() local x <close> = closing "cancelled" sleep(10) end,
    function() sleep(0.01) error("second", 0) end,
  })
  t:equal(happened(), "cancelled")
end)

test("race: the first task to end determines the result", function(t)
  t:equal(table.concat({ nightjar.race {
    function() local x <close> = closing "cancelled" sleep(10) end,
    function() sleep(0.01) return "first", "two" end,
  } }, " "), "first two")
  t:equal(happened(), "cancelled")
end)

test("race: the first failure is raised", function()
  misuse("lost", nightjar.race, { function() sleep(10) end, function() error("lost", 0) end })
end)

test("race requires a function", function()
  misuse("race: the list is empty", nightjar.race, {})
end)

test("map returns the results in order, with a maximum number of concurrent tasks", function(t)
  local running, most = 0, 0
  local squares = nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, function(n, place)
    t:equal(n, place)
    running = running + 1
    most = math.max(most, running)
    sleep(0.001 * (10 - n))
    running = running - 1
    return n * n
  end, { concurrency = 3 })
  t:equal(table.concat(squares, " "), "1 4 9 16 25 36 49 64 81")
  t:equal(most, 3)
  t:equal(#nightjar.map({}, print), 0)
end)

test("map raises the first error, and cancels the other tasks", function()
  misuse("at 3", nightjar.map, { 1, 2, 3, 4 }, function(n) if n == 3 then error("at 3", 0) end sleep(10) end)
end)

test("timeout returns the results of the function", function(t)
  t:equal(table.concat({ nightjar.timeout(1, function(...) return ... end, 1, 2, 3) }, " "), "1 2 3")
end)

test("timeout cancels a function that does not return in time", function(t)
  local err = fails("timeout", "timeout: the function did not return within 0.01 seconds",
    nightjar.timeout, 0.01, function() local x <close> = closing "cancelled" sleep(10) end)
  t:equal(err.phase, "total")
  t:equal(happened(), "cancelled")
end)

test("a timeout of 0 is no limit", function(t)
  t:equal(nightjar.timeout(0, function() sleep(0.005) return "no limit" end), "no limit")
end)

test("timeout raises the error of the function", function()
  misuse("mine", nightjar.timeout, 1, function() error("mine", 0) end)
end)

test("a function inside pcall can wait", function(t)
  t:equal(select(2, pcall(function() sleep(0.001) return "through" end)), "through")
end)

test("metamethods can wait", function(t)
  local object = setmetatable({}, {
    __index = function(_, key) sleep(0.001) return key .. "!" end,
    __add = function() sleep(0.001) return 7 end,
  })
  t:equal(object.key, "key!")
  t:equal(object + 1, 7)
end)

-- An iterator that waits before each value.
local function each(list)
  return coroutine.wrap(function()
    for _, value in ipairs(list) do
      sleep(0.001)
      coroutine.yield(value)
    end
  end)
end

test("iterators can wait", function(t)
  for value in each { "x", "y" } do note(value) end
  t:equal(happened(), "x y")
end)

test("generators can wait", function(t)
  local generator = coroutine.create(function(first)
    note(first)
    local second = coroutine.yield(1)
    sleep(0.001)
    note(second)
    return 2
  end)
  t:equal(select(2, coroutine.resume(generator, "first")), 1)
  t:equal(select(2, coroutine.resume(generator, "second")), 2)
  t:equal(coroutine.status(generator), "dead")
  t:equal(happened(), "first second")
end)

test("two nested generators wait while another task runs", function(t)
  local task = spawn(function() for _ = 1, 3 do sleep(0.001) note "." end end)
  local nested = coroutine.wrap(function() for value in each { 1, 2 } do coroutine.yield(value * 10) end end)
  t:equal(nested(), 10)
  t:equal(nested(), 20)
  task:join()
  t:equal(happened(), ". . .")
end)

test("where yielding is not possible, a wait blocks, and other tasks still run", function(t)
  local task = spawn(function() note "other" end)
  table.sort({ 2, 1 }, function(x, y) sleep(0.002) return x < y end)
  t:equal(happened(), "other")
  t:equal((("ab"):gsub(".", function(letter) sleep(0.001) return letter:upper() end)), "AB")
end)

test("five thousand tasks run concurrently", function(t)
  local sum = 0
  local many = {}
  for i = 1, 5000 do many[i] = spawn(function() sleep(0.001) sum = sum + i end) end
  for i = 1, 5000 do many[i]:join() end
  t:equal(sum, 5000 * 5001 // 2)
end)

test("tasks can be nested deeply", function(t)
  local function descend(depth) if depth > 0 then return spawn(descend, depth - 1):join() + 1 end return 0 end
  t:equal(descend(150), 150)
end)

test("try returns all results, or nil and the error", function(t)
  t:equal(select("#", nightjar.try(function() return 1, nil, 3 end)), 3)
  local thrown = { "an error" }
  local ok, err = nightjar.try(error, thrown)
  t:equal(ok, nil)
  same(err, thrown)
end)

test("invalid arguments raise an error", function()
  misuse("bad argument #1 to 'spawn' (function expected, got no value)", function() spawn() end)
  misuse("bad argument #1 to 'spawn' (function expected, got number)", function() spawn(1) end)
  misuse("bad argument #1 to 'sleep' (number expected, got no value)", function() sleep() end)
  misuse("bad argument #1 to 'sleep' (seconds from 0 to 1e9 expected)", function() sleep(-1) end)
  misuse("bad argument #1 to 'sleep' (seconds from 0 to 1e9 expected)", function() sleep(0 / 0) end)
  misuse("bad argument #1 to 'all' (table expected, got no value)", function() nightjar.all() end)
  misuse("all: item 2 must be a function, got number", function() nightjar.all { print, 2 } end)
  misuse("race: item 1 must be a function, got boolean", function() nightjar.race { true } end)
  misuse("bad argument #2 to 'map' (function expected, got no value)", function() nightjar.map {} end)
  misuse("map: concurrency must be an integer of at least 1",
    function() nightjar.map({}, print, { concurrency = 0 }) end)
  misuse("map: unknown option 'concurency'; did you mean 'concurrency'?",
    function() nightjar.map({}, print, { concurency = 1 }) end)
  misuse("bad argument #1 to 'timeout' (number expected, got function)", function() nightjar.timeout(print) end)
  misuse("bad argument #2 to 'timeout' (function expected, got no value)", function() nightjar.timeout(1) end)
  misuse("bad argument #1 to 'try' (function expected, got nil)", function() nightjar.try(nil) end)
  local task = spawn(function() end)
  misuse("a task has no field 'jion'", function() return task.jion end)
  task:join()
end)

test("a task cannot join itself", function()
  misuse("a task cannot join itself or one of its ancestors", function()
    local me
    me = spawn(function() me:join() end)
    me:join()
  end)
end)

-- Each handler blocks while it waits. The C stack must not grow with their number.
test("two thousand cancelled tasks have <close> handlers that wait", function(t)
  local tasks, closed = {}, 0
  for index = 1, 2000 do
    tasks[index] = nightjar.spawn(function()
      local closer <close> = setmetatable({}, { __close = function()
        nightjar.sleep(0.001)
        closed = closed + 1
      end })
      nightjar.sleep(100)
    end)
  end
  nightjar.sleep(0)
  for _, task in ipairs(tasks) do task:cancel() end
  for _, task in ipairs(tasks) do pcall(task.join, task) end
  t:equal(closed, 2000)
end)

test("five hundred tasks wait where yielding is not possible", function(t)
  local tasks, tally = {}, 0
  for index = 1, 500 do
    tasks[index] = nightjar.spawn(function()
      return (("x"):gsub("x", function() nightjar.sleep(0.01) tally = tally + 1 end))
    end)
  end
  for _, task in ipairs(tasks) do t:equal(task:join(), "x") end
  t:equal(tally, 500)
end)

test("too many nested waits that cannot yield raise an error", function(t)
  local spawned = {}
  local function nest(depth)
    return (("x"):gsub("x", function()
      if depth > 0 then return nest(depth - 1) end
      local task = spawn(function() nest(60) end)
      spawned[#spawned + 1] = task
      task:join()
    end))
  end
  local ok, message = pcall(nest, 60)
  t:equal(ok, false)
  t:matches(message, "too many nested waits that cannot yield$")
  for _, task in ipairs(spawned) do pcall(task.join, task) end
end)

test("a script can neither close nor resume the coroutine of a waiting task", function(t)
  local thread
  local task = nightjar.spawn(function() thread = coroutine.running() nightjar.sleep(0.01) return "kept" end)
  nightjar.sleep(0)
  misuse("this coroutine waits for nightjar and cannot be closed; cancel its task", coroutine.close, thread)
  t:equal(select(2, coroutine.resume(thread)), "this coroutine waits for nightjar and cannot be resumed")
  t:equal(task:join(), "kept")
end)

test("operations on the coroutine of a completed task do not affect its results and errors", function(t)
  for _, meddle in ipairs {
    coroutine.close, coroutine.resume,
    function(thread) for _ = 1, 3 do coroutine.resume(thread, print, 1, 2) end end,
    function(thread) coroutine.close(thread) collectgarbage() collectgarbage() end,
  } do
    for _, fails in ipairs { false, true } do
      for _, has_child in ipairs { false, true } do
        local thread
        local task = spawn(function()
          thread = coroutine.running()
          if has_child then spawn(sleep, 0.002) end -- the task ends after this child
          if fails then error({ "failed" }, 0) end
          return function() return "called" end, "two", nil, {}
        end)
        sleep(0)
        pcall(meddle, thread)
        local results = table.pack(pcall(task.join, task))
        pcall(meddle, thread)
        if fails then
          t:equal(results[1], false)
          t:equal(results[2][1], "failed")
        else
          t:equal(results.n, 5)
          t:equal(results[2](), "called")
          t:equal(results[3], "two")
          t:equal(type(results[5]), "table")
          t:equal(select("#", task:join()), 4)
        end
      end
    end
  end
end)

test("operations on the coroutines of completed tasks do not affect their parent or group", function(t)
  local threads = {}
  local function ending(...)
    threads[#threads + 1] = coroutine.running()
    return ...
  end
  local function meddle()
    for _, thread in ipairs(threads) do
      pcall(coroutine.close, thread)
      pcall(coroutine.resume, thread)
    end
  end
  local parent = spawn(function()
    spawn(function() ending() error("handed on", 0) end)
    spawn(function() sleep(0.001) meddle() end)
  end)
  misuse("handed on", parent.join, parent)
  for _ = 1, 3 do
    local list = nightjar.map({ 1, 2, 3 }, function(n)
      meddle()
      return ending(n, n, n)
    end)
    t:equal(table.concat(list), "123")
    meddle()
  end
end)

test("the parent gets the first of several failures of unjoined tasks", function()
  misuse("first", function()
    spawn(function()
      spawn(function() sleep(0.002) error("second", 0) end)
      spawn(function() error("first", 0) end)
    end):join()
  end)
end)

test("of several failures, the parent gets the first one of an unjoined task", function()
  misuse("held", function()
    spawn(function()
      local one, two = spawn(error, "asked for", 0), spawn(error, "held", 0)
      sleep(0)
      pcall(one.join, one)
      return two
    end):join()
  end)
end)

test("of many failures of unjoined tasks, only the first is kept", function(t)
  local parent = spawn(function()
    local function fail(count)
      for _ = 1, count do spawn(error, "lost", 0) end
      sleep(0)
      collectgarbage()
      collectgarbage()
      return collectgarbage "count"
    end
    local before = fail(1000)
    t:truthy(fail(20000) < before + 1000)
  end)
  misuse("lost", parent.join, parent)
end)

assert(testing.run().ok, "a case failed")
