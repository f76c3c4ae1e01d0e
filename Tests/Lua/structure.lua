-- Edge cases of structured concurrency: order, results, failures, invalid use, depth. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails

local function closer(f) return setmetatable({}, { __close = function(_, err) f(err) end }) end

-- The events of the current case in order.
local order = {}
local function note(what) order[#order + 1] = what end
local function noted()
  local text = table.concat(order, " ")
  order = {}
  return text
end

testing.before(function() order = {} end)

test("join returns the results, and a task begins after the call of spawn", function(t)
  local task = nightjar.spawn(function(a, b)
    note "task"
    return a, nil, b
  end, 1, 3)
  note "main"
  t:equal(task.done, false)
  t:equal(select("#", task:join()), 3)
  t:equal(select(3, task:join()), 3)
  t:equal(task.done, true)
  t:equal(noted(), "main task")
  t:matches(tostring(task), "^nightjar.task: .* %(ended%)$")
end)

test("tasks can be joined in another order than that of their ends", function(t)
  local late = nightjar.spawn(function() nightjar.sleep(0.2) note "late" end)
  local soon = nightjar.spawn(function() nightjar.sleep(0.01) note "soon" end)
  late:join()
  soon:join()
  t:equal(noted(), "soon late")
end)

test("a task ends after its children", function(t)
  nightjar.spawn(function()
    nightjar.spawn(function() nightjar.sleep(0.01) note "child" end)
    note "parent"
  end):join()
  t:equal(noted(), "parent child")
end)

test("an error is raised in each task that joins", function(t)
  local failing = nightjar.spawn(error, { code = 7 })
  local _, err = pcall(failing.join, failing)
  t:equal(err.code, 7)
  _, err = pcall(failing.join, failing)
  t:equal(err.code, 7)
  t:matches(tostring(failing), "%(failed%)$")
end)

test("an error is raised in the parent if no task joins", function()
  local parent = nightjar.spawn(function() nightjar.spawn(error, "lost child", 0) end)
  misuse("lost child", parent.join, parent)
end)

test("cancelling a task cancels its children first, and runs the <close> handlers", function(t)
  local isInFlight = false
  local task = nightjar.spawn(function()
    local a <close> = closer(function() nightjar.sleep(0.001) note "closed" end)
    nightjar.spawn(function()
      local b <close> = closer(function() note "child closed" end)
      isInFlight = true
      nightjar.sleep(100)
    end)
    nightjar.sleep(100)
  end)
  while not isInFlight do nightjar.sleep(0) end
  task:cancel()
  task:cancel()
  local err = fails("cancelled", "the task was cancelled", task.join, task)
  t:equal(err.user_message, nil)
  t:equal(task.cancelled, true)
  t:equal(noted(), "child closed closed")
end)

test("a task that is cancelled before it starts never runs", function(t)
  local never = nightjar.spawn(note, "never")
  never:cancel()
  fails("cancelled", "the task was cancelled", never.join, never)
  t:equal(noted(), "")
end)

test("a task that cancels itself ends at its next wait", function(t)
  local itself
  itself = nightjar.spawn(function()
    itself:cancel()
    note "on"
    pcall(nightjar.sleep, 0)
    nightjar.sleep(0)
    note "not reached"
  end)
  fails("cancelled", "the task was cancelled", itself.join, itself)
  t:equal(noted(), "on")
end)

test("a cancelled task that catches every error ends nevertheless", function(t)
  local itself
  itself = nightjar.spawn(function()
    local a <close> = closer(function() note "closed" end)
    local inner = coroutine.wrap(function() while true do pcall(nightjar.sleep, 0.1) end end)
    itself:cancel()
    inner()
  end)
  fails("cancelled", "the task was cancelled", itself.join, itself)
  t:equal(noted(), "closed")
end)

test("a task cannot join itself", function()
  misuse("a task cannot join itself or one of its ancestors", function()
    local itself
    itself = nightjar.spawn(function() itself:join() end)
    itself:join()
  end)
end)

test("all returns the first result of each function", function(t)
  local a, b, c = nightjar.all {
    function() nightjar.sleep(0.01) return 1 end,
    function() end,
    function() return 3, 4 end,
  }
  t:equal(a, 1)
  t:equal(b, nil)
  t:equal(c, 3)
  t:equal(select("#", nightjar.all {}), 0)
end)

test("a failure in all cancels the other functions", function(t)
  misuse("second", nightjar.all, {
    function()
      local x <close> = closer(function() note "first was closed" end)
      nightjar.sleep(100)
    end,
    function() error("second", 0) end,
  })
  t:equal(noted(), "first was closed")
end)

test("all requires a list of functions", function()
  misuse("all: item 2 must be a function, got nil", function() nightjar.all { print, nil, print } end)
  misuse("bad argument #1 to 'all' (table expected, got function)", function() nightjar.all(print) end)
end)

-- A waiting metamethod would start a child after the group has ended.
test("lists are read without metamethods", function(t)
  t:equal(nightjar.race(setmetatable({ function() return "plain" end }, {
    __len = function() return 2 end,
    __index = function() nightjar.sleep(0.01) return function() note "started late" end end,
  })), "plain")
  nightjar.sleep(0.05)
  t:equal(noted(), "")
end)

test("race returns the results of the first function to end", function(t)
  local a, b = nightjar.race {
    function() nightjar.sleep(100) end,
    function() nightjar.sleep(0.001) return "won", 2 end,
  }
  t:equal(a, "won")
  t:equal(b, 2)
end)

test("race raises the error of the first function to end", function()
  misuse("lost", nightjar.race, { function() nightjar.sleep(100) end, function() error("lost", 0) end })
end)

test("race requires a function", function()
  misuse("race: the list is empty", function() nightjar.race {} end)
end)

test("map returns the results in order, and limits the concurrency", function(t)
  local running, most = 0, 0
  local doubled = nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, function(x, index)
    t:equal(x, index)
    running = running + 1
    most = math.max(most, running)
    nightjar.sleep(0.001 * (10 - x))
    running = running - 1
    return 2 * x
  end, { concurrency = 4 })
  t:equal(most, 4)
  t:equal(table.concat(doubled, " "), "2 4 6 8 10 12 14 16 18")
  t:equal(#nightjar.map({}, print), 0)
end)

test("map raises the first error, and calls the function for no further item", function(t)
  local started = 0
  misuse("third", nightjar.map, { 1, 2, 3, 4, 5 }, function(x)
    started = started + 1
    nightjar.sleep(0.001)
    if x == 3 then error("third", 0) end
  end, { concurrency = 1 })
  t:equal(started, 3)
end)

test("invalid arguments of map raise an error", function()
  misuse("map: unknown option 'concurency'; did you mean 'concurrency'?",
    function() nightjar.map({}, print, { concurency = 1 }) end)
  misuse("map: concurrency must be an integer of at least 1",
    function() nightjar.map({}, print, { concurrency = 0 }) end)
  misuse("map: concurrency must be an integer of at least 1",
    function() nightjar.map({}, print, { concurrency = 1.5 }) end)
  misuse("bad argument #2 to 'map' (function expected, got no value)", function() nightjar.map({}) end)
end)

test("timeout returns all results of the function", function(t)
  t:equal(select("#", nightjar.timeout(1, function(...) return ... end, 1, nil, nil)), 3)
end)

test("timeout cancels a function that does not return in time", function(t)
  local function late()
    local x <close> = closer(function() note "closed" end)
    nightjar.sleep(100)
  end
  local err = fails("timeout", "timeout: the function did not return within 0.01 seconds", nightjar.timeout, 0.01, late)
  t:equal(err.phase, "total")
  t:equal(noted(), "closed")
end)

test("timeout raises the error of the function", function()
  misuse("inside", nightjar.timeout, 1, error, "inside", 0)
end)

test("invalid arguments of timeout raise an error", function()
  misuse("bad argument #1 to 'timeout' (number expected, got nil)", function() nightjar.timeout(nil, print) end)
  misuse("bad argument #2 to 'timeout' (function expected, got no value)", function() nightjar.timeout(1) end)
  misuse("bad argument #1 to 'timeout' (seconds from 0 to 1e9 expected)", function() nightjar.timeout(-1, print) end)
end)

test("invalid arguments raise an error", function()
  local task = nightjar.spawn(function() end)
  task:join()
  misuse("bad argument #1 to 'spawn' (function expected, got string)", function() nightjar.spawn "x" end)
  misuse("bad argument #1 to 'sleep' (number expected, got no value)", function() nightjar.sleep() end)
  misuse("bad argument #1 to 'sleep' (seconds from 0 to 1e9 expected)", function() nightjar.sleep(0 / 0) end)
  misuse("a task has no field 'jion'", function() return task.jion end)
  misuse("bad argument #1 to 'join' (nightjar.task expected, got nil)", function() task.join(nil) end)
end)

test("ten thousand tasks run concurrently", function(t)
  local sum = 0
  local many = {}
  for i = 1, 10000 do many[i] = nightjar.spawn(function() nightjar.sleep(0.001 * (i % 5)) sum = sum + i end) end
  for _, one in ipairs(many) do one:join() end
  t:equal(sum, 50005000)
end)

test("a chain of tasks can be deeper than the C stack", function()
  local function nest(depth)
    if depth == 0 then return nightjar.sleep(100) end
    return nightjar.spawn(nest, depth - 1)
  end
  local top = nightjar.spawn(nest, 20000)
  nightjar.sleep(0.2)
  top:cancel()
  fails("cancelled", "the task was cancelled", top.join, top)
end)

assert(testing.run().ok, "a case failed")
