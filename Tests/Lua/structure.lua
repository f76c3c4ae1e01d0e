-- Edge cases of structured concurrency: order, results, failures, invalid use, depth. Needs no server.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

local function closer(f) return setmetatable({}, { __close = function(_, err) f(err) end }) end

-- spawn and join.
local order = {}
local function note(what) order[#order + 1] = what end
local function noted()
  local text = table.concat(order, " ")
  order = {}
  return text
end
local task = nightjar.spawn(function(a, b)
  note "task"
  return a, nil, b
end, 1, 3)
note "main"
equal(task.done, false)
equal(select("#", task:join()), 3)
equal(select(3, task:join()), 3)
equal(task.done, true)
equal(noted(), "main task")
assert(tostring(task):match "^nightjar.task: .* %(ended%)$")

local late = nightjar.spawn(function() nightjar.sleep(0.2) note "late" end)
local soon = nightjar.spawn(function() nightjar.sleep(0.01) note "soon" end)
late:join()
soon:join()
equal(noted(), "soon late")

-- A task ends after its children.
nightjar.spawn(function()
  nightjar.spawn(function() nightjar.sleep(0.01) note "child" end)
  note "parent"
end):join()
equal(noted(), "parent child")

-- Errors are raised in the task that joins, or in the parent if no task joins.
local failing = nightjar.spawn(error, { code = 7 })
local ok, err = pcall(failing.join, failing)
equal(err.code, 7)
ok, err = pcall(failing.join, failing)
equal(err.code, 7)
assert(tostring(failing):match "%(failed%)$")
local parent = nightjar.spawn(function() nightjar.spawn(error, "lost child", 0) end)
misuse("lost child", parent.join, parent)

-- cancel.
local isInFlight = false
task = nightjar.spawn(function()
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
err = fails("cancelled", "the task was cancelled", task.join, task)
equal(err.user_message, nil)
equal(task.cancelled, true)
equal(noted(), "child closed closed")
local never = nightjar.spawn(note, "never")
never:cancel()
fails("cancelled", "the task was cancelled", never.join, never)
equal(noted(), "")
local itself
itself = nightjar.spawn(function()
  itself:cancel()
  note "on"
  pcall(nightjar.sleep, 0)
  nightjar.sleep(0)
  note "not reached"
end)
fails("cancelled", "the task was cancelled", itself.join, itself)
equal(noted(), "on")
-- A task that catches every error ends nevertheless.
itself = nightjar.spawn(function()
  local a <close> = closer(function() note "closed" end)
  local inner = coroutine.wrap(function() while true do pcall(nightjar.sleep, 0.1) end end)
  itself:cancel()
  inner()
end)
fails("cancelled", "the task was cancelled", itself.join, itself)
equal(noted(), "closed")

-- Tasks that wait for each other.
misuse("a task cannot join itself or one of its ancestors", function()
  local t
  t = nightjar.spawn(function() t:join() end)
  t:join()
end)

-- all.
local a, b, c = nightjar.all { function() nightjar.sleep(0.01) return 1 end, function() end, function() return 3, 4 end }
equal(a, 1)
equal(b, nil)
equal(c, 3)
equal(select("#", nightjar.all {}), 0)
misuse("second", nightjar.all, {
  function()
    local x <close> = closer(function() note "first was closed" end)
    nightjar.sleep(100)
  end,
  function() error("second", 0) end,
})
equal(noted(), "first was closed")
misuse("all: item 2 must be a function, got nil", function() nightjar.all { print, nil, print } end)
-- Lists are read without metamethods: a waiting metamethod would start a child after the group has ended.
equal(nightjar.race(setmetatable({ function() return "plain" end }, {
  __len = function() return 2 end,
  __index = function() nightjar.sleep(0.01) return function() note "started late" end end,
})), "plain")
nightjar.sleep(0.05)
equal(noted(), "")
misuse("bad argument #1 to 'all' (table expected, got function)", function() nightjar.all(print) end)

-- race.
a, b = nightjar.race { function() nightjar.sleep(100) end, function() nightjar.sleep(0.001) return "won", 2 end }
equal(a, "won")
equal(b, 2)
misuse("lost", nightjar.race, { function() nightjar.sleep(100) end, function() error("lost", 0) end })
misuse("race: the list is empty", function() nightjar.race {} end)

-- map.
local running, most = 0, 0
local doubled = nightjar.map({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, function(x, index)
  equal(x, index)
  running = running + 1
  most = math.max(most, running)
  nightjar.sleep(0.001 * (10 - x))
  running = running - 1
  return 2 * x
end, { concurrency = 4 })
equal(most, 4)
equal(table.concat(doubled, " "), "2 4 6 8 10 12 14 16 18")
equal(#nightjar.map({}, print), 0)
local started = 0
misuse("third", nightjar.map, { 1, 2, 3, 4, 5 }, function(x)
  started = started + 1
  nightjar.sleep(0.001)
  if x == 3 then error("third", 0) end
end, { concurrency = 1 })
equal(started, 3)
misuse("map: unknown option 'concurency'; did you mean 'concurrency'?", function() nightjar.map({}, print, { concurency = 1 }) end)
misuse("map: concurrency must be an integer of at least 1", function() nightjar.map({}, print, { concurrency = 0 }) end)
misuse("map: concurrency must be an integer of at least 1", function() nightjar.map({}, print, { concurrency = 1.5 }) end)
misuse("bad argument #2 to 'map' (function expected, got no value)", function() nightjar.map({}) end)

-- timeout.
equal(select("#", nightjar.timeout(1, function(...) return ... end, 1, nil, nil)), 3)
err = fails("timeout", "timeout: the function did not return within 0.01 seconds", nightjar.timeout, 0.01, function()
  local x <close> = closer(function() note "closed" end)
  nightjar.sleep(100)
end)
equal(err.phase, "total")
equal(noted(), "closed")
misuse("inside", nightjar.timeout, 1, error, "inside", 0)
misuse("bad argument #1 to 'timeout' (number expected, got nil)", function() nightjar.timeout(nil, print) end)
misuse("bad argument #2 to 'timeout' (function expected, got no value)", function() nightjar.timeout(1) end)
misuse("bad argument #1 to 'timeout' (seconds from 0 to 1e9 expected)", function() nightjar.timeout(-1, print) end)

-- Misuse.
misuse("bad argument #1 to 'spawn' (function expected, got string)", function() nightjar.spawn "x" end)
misuse("bad argument #1 to 'sleep' (number expected, got no value)", function() nightjar.sleep() end)
misuse("bad argument #1 to 'sleep' (seconds from 0 to 1e9 expected)", function() nightjar.sleep(0 / 0) end)
misuse("a task has no field 'jion'", function() return task.jion end)
misuse("bad argument #1 to 'join' (nightjar.task expected, got nil)", function() task.join(nil) end)

-- Many at once.
local sum = 0
local many = {}
for i = 1, 10000 do many[i] = nightjar.spawn(function() nightjar.sleep(0.001 * (i % 5)) sum = sum + i end) end
for _, one in ipairs(many) do one:join() end
equal(sum, 50005000)

-- A chain of tasks that is deeper than the C stack.
local function nest(depth)
  if depth == 0 then return nightjar.sleep(100) end
  return nightjar.spawn(nest, depth - 1)
end
local top = nightjar.spawn(nest, 20000)
nightjar.sleep(0.2)
top:cancel()
fails("cancelled", "the task was cancelled", top.join, top)
