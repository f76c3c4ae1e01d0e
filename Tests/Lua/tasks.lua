-- Tasks: spawn, join, cancel; all, race, map, timeout, sleep; generators; <close>.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse = check.equal, check.misuse
local sleep, spawn = nightjar.sleep, nightjar.spawn

-- The events in order.
local trace = {}
local function note(word) trace[#trace + 1] = word end
local function happened(expected)
  equal(table.concat(trace, " "), expected)
  trace = {}
end

-- A task runs later, not immediately; join returns its results.
local task = spawn(function(a, b) note "child" return a + b, "two", nil end, 1, 2)
note "parent"
equal(task.done, false)
equal(select("#", task:join()), 3)
equal(table.concat({ task:join() }, " "), "3 two")
equal(task.done, true)
happened "parent child"

-- Sleeping tasks wake in the order of their times, regardless of the order of their start.
for _, tenths in ipairs { 3, 1, 2 } do
  spawn(function() sleep(tenths / 50) note(tenths) end)
end
sleep(0.1)
happened "1 2 3"

-- join raises the unchanged error, even if it is not text.
local thrown = { "an error" }
task = spawn(function() error(thrown) end)
local ok, err = pcall(task.join, task)
equal(ok, false)
equal(err, thrown)

-- The error of a task that is not joined is raised in the parent.
task = spawn(function()
  spawn(function() error("from below", 0) end)
  sleep(0.01)
end)
misuse("from below", task.join, task)

-- A task ends after its children.
task = spawn(function()
  spawn(function() sleep(0.02) note "child" end)
  note "parent"
end)
task:join()
happened "parent child"

-- Cancelling also cancels the children, and runs the <close> handlers.
local function closing(word) return setmetatable({}, { __close = function() note(word) end }) end
local isInFlight = false
task = spawn(function()
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
check.fails("cancelled", "the task was cancelled", task.join, task)
table.sort(trace)
happened "inner outer"

-- A <close> handler can wait.
isInFlight = false
task = spawn(function()
  local slow <close> = setmetatable({}, { __close = function() sleep(0.01) note "closed" end })
  isInFlight = true
  sleep(10)
end)
while not isInFlight do sleep(0) end
task:cancel()
pcall(task.join, task)
happened "closed"

-- A task that is cancelled before it starts never runs.
task = spawn(function() note "never" end)
task:cancel()
check.fails("cancelled", "the task was cancelled", task.join, task)
happened ""

-- A cancelled task cannot continue by catching the error.
task = spawn(function()
  pcall(sleep, 10)
  note "caught"
  sleep(0.001)
  note "never"
end)
sleep(0.001)
task:cancel()
pcall(task.join, task)
for _, word in ipairs(trace) do assert(word ~= "never") end
trace = {}

-- all: results by index; a failure cancels the rest.
local a, b, c = nightjar.all {
  function() sleep(0.02) return "a", "dropped" end,
  function() return nil end,
  function() return "c" end,
}
equal(a, "a")
equal(b, nil)
equal(c, "c")
equal(select("#", nightjar.all {}), 0)
misuse("second", nightjar.all, {
  function() local x <close> = closing "cancelled" sleep(10) end,
  function() sleep(0.01) error("second", 0) end,
})
happened "cancelled"

-- race: the first task to end determines the result.
equal(table.concat({ nightjar.race {
  function() local x <close> = closing "cancelled" sleep(10) end,
  function() sleep(0.01) return "first", "two" end,
} }, " "), "first two")
happened "cancelled"
misuse("lost", nightjar.race, { function() sleep(10) end, function() error("lost", 0) end })
misuse("race: the list is empty", nightjar.race, {})

-- map: in order, with a maximum number of concurrent tasks.
local running, most = 0, 0
local squares = nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, function(n, place)
  equal(n, place)
  running = running + 1
  most = math.max(most, running)
  sleep(0.001 * (10 - n))
  running = running - 1
  return n * n
end, { concurrency = 3 })
equal(table.concat(squares, " "), "1 4 9 16 25 36 49 64 81")
equal(most, 3)
equal(#nightjar.map({}, print), 0)
misuse("at 3", nightjar.map, { 1, 2, 3, 4 }, function(n) if n == 3 then error("at 3", 0) end sleep(10) end)

-- timeout.
equal(table.concat({ nightjar.timeout(1, function(...) return ... end, 1, 2, 3) }, " "), "1 2 3")
err = check.fails("timeout", "timeout: the function did not return within 0.01 seconds",
  nightjar.timeout, 0.01, function() local x <close> = closing "cancelled" sleep(10) end)
equal(err.phase, "total")
happened "cancelled"
equal(nightjar.timeout(0, function() sleep(0.005) return "no limit" end), "no limit")
misuse("mine", nightjar.timeout, 1, function() error("mine", 0) end)

-- Waits work inside pcall, metamethods, iterators and generators.
equal(select(2, pcall(function() sleep(0.001) return "through" end)), "through")
local object = setmetatable({}, { __index = function(_, key) sleep(0.001) return key .. "!" end,
  __add = function() sleep(0.001) return 7 end })
equal(object.key, "key!")
equal(object + 1, 7)
local function each(list) return coroutine.wrap(function() for _, v in ipairs(list) do sleep(0.001) coroutine.yield(v) end end) end
for value in each { "x", "y" } do note(value) end
happened "x y"
local generator = coroutine.create(function(first)
  note(first)
  local second = coroutine.yield(1)
  sleep(0.001)
  note(second)
  return 2
end)
equal(select(2, coroutine.resume(generator, "first")), 1)
equal(select(2, coroutine.resume(generator, "second")), 2)
equal(coroutine.status(generator), "dead")
happened "first second"
-- Two nested generators that wait, while another task runs.
task = spawn(function() for _ = 1, 3 do sleep(0.001) note "." end end)
local nested = coroutine.wrap(function() for value in each { 1, 2 } do coroutine.yield(value * 10) end end)
equal(nested(), 10)
equal(nested(), 20)
task:join()
happened ". . ."
-- Where yielding is not possible, it blocks, and other tasks still run.
task = spawn(function() note "other" end)
table.sort({ 2, 1 }, function(x, y) sleep(0.002) return x < y end)
happened "other"
equal((("ab"):gsub(".", function(letter) sleep(0.001) return letter:upper() end)), "AB")

-- Very many tasks at once.
local sum = 0
local many = {}
for i = 1, 5000 do many[i] = spawn(function() sleep(0.001) sum = sum + i end) end
for i = 1, 5000 do many[i]:join() end
equal(sum, 5000 * 5001 // 2)
-- Deeply nested tasks.
local function descend(depth) if depth > 0 then return spawn(descend, depth - 1):join() + 1 end return 0 end
equal(descend(150), 150)

-- try returns nil and the error.
equal(select("#", nightjar.try(function() return 1, nil, 3 end)), 3)
ok, err = nightjar.try(error, thrown)
equal(ok, nil)
equal(err, thrown)

-- Misuse.
misuse("bad argument #1 to 'spawn' (function expected, got no value)", function() spawn() end)
misuse("bad argument #1 to 'spawn' (function expected, got number)", function() spawn(1) end)
misuse("bad argument #1 to 'sleep' (number expected, got no value)", function() sleep() end)
misuse("bad argument #1 to 'sleep' (seconds from 0 to 1e9 expected)", function() sleep(-1) end)
misuse("bad argument #1 to 'sleep' (seconds from 0 to 1e9 expected)", function() sleep(0 / 0) end)
misuse("bad argument #1 to 'all' (table expected, got no value)", function() nightjar.all() end)
misuse("all: item 2 must be a function, got number", function() nightjar.all { print, 2 } end)
misuse("race: item 1 must be a function, got boolean", function() nightjar.race { true } end)
misuse("bad argument #2 to 'map' (function expected, got no value)", function() nightjar.map {} end)
misuse("map: concurrency must be an integer of at least 1", function() nightjar.map({}, print, { concurrency = 0 }) end)
misuse("map: unknown option 'concurency'; did you mean 'concurrency'?",
  function() nightjar.map({}, print, { concurency = 1 }) end)
misuse("bad argument #1 to 'timeout' (number expected, got function)", function() nightjar.timeout(print) end)
misuse("bad argument #2 to 'timeout' (function expected, got no value)", function() nightjar.timeout(1) end)
misuse("bad argument #1 to 'try' (function expected, got nil)", function() nightjar.try(nil) end)
misuse("a task has no field 'jion'", function() return spawn(function() end).jion end)
misuse("a task cannot join itself or one of its ancestors", function()
  local me
  me = spawn(function() me:join() end)
  me:join()
end)

-- Many cancelled tasks whose <close> handlers wait, each by blocking: the C stack does not grow with them.
do
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
  check.equal(closed, 2000)
end
-- The same for tasks that wait where yielding is not possible. Those that need other tasks to run are refused in time.
do
  local tasks, tally = {}, 0
  for index = 1, 500 do
    tasks[index] = nightjar.spawn(function()
      return (("x"):gsub("x", function() nightjar.sleep(0.01) tally = tally + 1 end))
    end)
  end
  for _, task in ipairs(tasks) do check.equal(task:join(), "x") end
  check.equal(tally, 500)
  local function nest(depth)
    return (("x"):gsub("x", function()
      if depth > 0 then return nest(depth - 1) end
      nightjar.spawn(function() nest(60) end):join()
    end))
  end
  local ok, message = pcall(nest, 60)
  check.equal(ok, false)
  assert(message:find "too many nested waits that cannot yield$", message)
end
-- A script can neither close nor resume the coroutine of a waiting task.
do
  local thread
  local task = nightjar.spawn(function() thread = coroutine.running() nightjar.sleep(0.01) return "kept" end)
  nightjar.sleep(0)
  misuse("this coroutine waits for nightjar and cannot be closed; cancel its task", coroutine.close, thread)
  check.equal(select(2, coroutine.resume(thread)), "this coroutine waits for nightjar and cannot be resumed")
  check.equal(task:join(), "kept")
end
-- The results and errors of a completed task are not affected by operations on its coroutine.
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
        check.equal(results[1], false)
        check.equal(results[2][1], "failed")
      else
        check.equal(results.n, 5)
        check.equal(results[2](), "called")
        check.equal(results[3], "two")
        check.equal(type(results[5]), "table")
        check.equal(select("#", task:join()), 4)
      end
    end
  end
end
-- The same if a failure is passed to the parent, and in groups.
do
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
    check.equal(table.concat(list), "123")
    meddle()
  end
end
-- Of several failures of tasks that are not joined, the parent gets the first. The others are not kept.
misuse("first", function()
  spawn(function()
    spawn(function() sleep(0.002) error("second", 0) end)
    spawn(function() error("first", 0) end)
  end):join()
end)
misuse("held", function()
  spawn(function()
    local one, two = spawn(error, "asked for", 0), spawn(error, "held", 0)
    sleep(0)
    pcall(one.join, one)
    return two
  end):join()
end)
do
  local parent = spawn(function()
    local function fail(count)
      for _ = 1, count do spawn(error, "lost", 0) end
      sleep(0)
      collectgarbage()
      collectgarbage()
      return collectgarbage "count"
    end
    local before = fail(1000)
    assert(fail(20000) < before + 1000)
  end)
  misuse("lost", parent.join, parent)
end
