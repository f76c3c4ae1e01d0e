-- Modules that wait while they are loaded, and errors that pass through tasks. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, equal, misuse = testing.test, check.equal, check.misuse
local spawn, sleep = nightjar.spawn, nightjar.sleep
-- Debian's lua5.4 keeps its own require. A module that it loads blocks its task while it waits, and other tasks run.
local is_ours = debug.getinfo(require, "S").what ~= "C"
local ours = { skip = not is_ours and "the interpreter has its own require" }

local function module(name, f) package.preload[name] = f end
local function forget(...) for _, name in ipairs { ... } do package.loaded[name] = nil end end

-- A module that waits while it is loaded.
module("slow", function(name, data)
  sleep(0.02)
  return { name = name, data = data }
end)

local function load_slow()
  forget "slow"
  local clock <close> = testing.clock { auto = true }
  local beats = 0
  local heart <close> = setmetatable({ task = nightjar.every(0.001, function() beats = beats + 1 end) }, {
    __close = function(heart)
      heart.task:cancel()
      pcall(heart.task.join, heart.task)
    end,
  })
  local slow, data = require "slow"
  equal(slow.name, "slow")
  equal(slow.data, ":preload:")
  equal(data, ":preload:")
  assert(beats > 2, beats)
  equal(require "slow", slow)
  equal(select("#", require "slow"), 1)
end
-- The main chunk of a stock interpreter cannot yield.
local loaded, why = pcall(load_slow)

test("a module can wait while the main chunk loads it, and other tasks run", function()
  if not loaded then error(why, 0) end
end)

test("a module can wait while a task loads it, and other tasks run", load_slow)

test("a module can wait while a child task loads it", function(t)
  forget "slow"
  t:equal(spawn(function() return require("slow").name end):join(), "slow")
end)

test("a module can wait while a generator loads it", function(t)
  forget "slow"
  t:equal(coroutine.wrap(function() return require("slow").name end)(), "slow")
end)

test("a module without a result is true", function(t)
  module("silent", function() end)
  t:equal(require "silent", true)
end)

test("a module that sets package.loaded itself has that value", function(t)
  module("early", function(name) package.loaded[name] = "itself" end)
  t:equal(require "early", "itself")
end)

test("two modules can require each other in the way that Lua's manual shows", function()
  module("left", function(name)
    local left = {}
    package.loaded[name] = left
    sleep(0.001)
    left.right = require "right"
    return left
  end)
  module("right", function() return { left = require "left" } end)
  equal(require("left").right.left, require "left")
end)

test("an error of a module is raised for the caller, and the next caller loads the module again", function(t)
  local tries = 0
  module("broken", function()
    tries = tries + 1
    sleep(0.001)
    error("broken " .. tries, 0)
  end)
  misuse("broken 1", require, "broken")
  misuse("broken 2", require, "broken")
  t:equal(package.loaded.broken, nil)
end)

test("require without a name and of an unknown module raises an error", function(t)
  misuse("bad argument #1 to 'require' (string expected, got no value)", require)
  local ok, why = pcall(require, "no.such.module")
  t:equal(ok, false)
  t:matches(why, "module 'no.such.module' not found:\n\tno field package.preload%['no.such.module'%]\n\tno file ")
end)

-- A module that waits. Returns a function that returns the number of its loads.
local function shared()
  local loads = 0
  forget "shared"
  module("shared", function()
    loads = loads + 1
    sleep(0.005)
    return {}
  end)
  return function() return loads end
end

test("a task waits for a module that another task is loading, and the module is loaded once", ours, function(t)
  local loads = shared()
  local a, b, c = nightjar.all {
    function() return require "shared" end,
    function() return require "shared" end,
    function() return require "shared" end,
  }
  equal(a, b)
  equal(b, c)
  t:equal(loads(), 1)
end)

test("a task that was spawned before waits for the module that its parent loads", ours, function(t)
  local loads = shared()
  local before = spawn(function() return require "shared" end)
  local module = require "shared"
  equal(before:join(), module)
  t:equal(loads(), 1)
end)

test("if the first load is cancelled, the next waiting task loads the module", ours, function(t)
  local loads = shared()
  local first = spawn(require, "shared")
  local second = spawn(require, "shared")
  sleep(0.001)
  first:cancel()
  t:equal(type(second:join()), "table")
  t:equal(loads(), 2)
  pcall(first.join, first)
end)

-- Three modules that require each other in a circle.
local function circle()
  forget("one", "two", "three")
  module("one", function() sleep(0) return require "two" end)
  module("two", function() return require "three" end)
  module("three", function() sleep(0) return require "one" end)
end

test("modules that require each other in a circle raise an error that shows the circle", ours, function()
  circle()
  misuse("circular require of module 'one': one -> two -> three -> one", require, "one")
  misuse("circular require of module 'two': two -> three -> one -> two", require, "two")
end)

test("a module that requires itself raises an error", ours, function()
  module("self", function() return require "self" end)
  misuse("circular require of module 'self': self -> self", require, "self")
end)

test("a circle across tasks raises an error in both", ours, function(t)
  circle()
  local one = spawn(function() return pcall(require, "one") end)
  local three = spawn(function() return pcall(require, "three") end)
  local is_first, first_why = one:join()
  local is_second, second_why = three:join()
  t:falsy(is_first or is_second)
  t:matches(first_why .. second_why, "circular require of module ")
end)

test("a circle by a child of the loading task raises an error", ours, function()
  module("outer", function() return (nightjar.all { function() return require "inner" end }) end)
  module("inner", function() return require "outer" end)
  misuse("circular require of module 'outer': outer -> inner -> outer", require, "outer")
end)

test("three hundred tasks wait for modules in chains, which Lua's own require could not nest", ours, function(t)
  local numbers = {}
  for number = 1, 300 do
    numbers[number] = number
    module("many" .. number, function()
      sleep(0.001)
      return number < 300 and number % 10 ~= 0 and require("many" .. number + 1) + 1 or 1
    end)
  end
  local depths = nightjar.map(numbers, function(number) return require("many" .. number) end, { concurrency = 300 })
  local sum = 0
  for _, depth in ipairs(depths) do sum = sum + depth end
  t:equal(sum, 300 // 10 * 55)
end)

-- The interpreter that runs this script, or nil in a host program.
local interpreter = arg and arg[-1]
local command = { skip = not (is_ours and interpreter) and "the nightjar command does not run this script" }

-- Returns what a script that fails writes to standard error.
local function failure(t, text)
  local result = nightjar.process.run { interpreter, "-e", text }
  t:equal(result.status, 1)
  return result.stderr
end

test("the traceback of an error that passed through a task shows its origin and the caller", command, function(t)
  t:matches(failure(t, [[
local nightjar = require "nightjar"
local function inner() error "lost" end
local task = nightjar.spawn(function() inner() end)
local function outer() task:join() end
outer()]]), "stack traceback:\n.*in upvalue 'inner'.*\nawaited by:\n.*in local 'outer'")
end)

test("the traceback of an error that passed through several tasks shows each wait", command, function(t)
  t:matches(failure(t, [[
local nightjar = require "nightjar"
nightjar.map({1, 2}, function(n) nightjar.timeout(5, function() error("deep " .. n, 0) end) end)]]),
    "^[^\n]*deep 1\nstack traceback:\n.*awaited by:\n.*timeout'.*awaited by:\n.*map'")
end)

test("an error after a caught one has only its own location", command, function(t)
  local text = failure(t, [[
local nightjar = require "nightjar"
local ok, err = pcall(nightjar.all, { function() error("old", 0) end })
error("new", 0)]])
  t:truthy(not text:find "awaited by", text)
end)

assert(testing.run().ok, "a case failed")
