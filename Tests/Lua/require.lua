-- Modules that wait while they are loaded, and errors that cross tasks. Needs no server.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse = check.equal, check.misuse
local spawn, sleep = nightjar.spawn, nightjar.sleep
-- Debian's lua5.4 keeps its own require, where such a module blocks its task and the others run.
local isOurs = debug.getinfo(require, "S").what ~= "C"

local function module(name, f) package.preload[name] = f end
local function forget(...) for _, name in ipairs { ... } do package.loaded[name] = nil end end

-- A module waits while it is loaded, and others run meanwhile.
local beats = 0
local heart = nightjar.every(0.001, function() beats = beats + 1 end)
module("slow", function(name, data)
  sleep(0.02)
  return { name = name, data = data }
end)
local slow, data = require "slow"
equal(slow.name, "slow")
equal(slow.data, ":preload:")
equal(data, ":preload:")
assert(beats > 2, beats)
equal(require "slow", slow)
equal(select("#", require "slow"), 1)

-- In a child task, too, and in a generator.
forget "slow"
equal(spawn(function() return require("slow").name end):join(), "slow")
forget "slow"
equal(coroutine.wrap(function() return require("slow").name end)(), "slow")
heart:cancel()

-- A module without a result is true; one that sets its place itself has that.
module("silent", function() end)
equal(require "silent", true)
module("early", function(name) package.loaded[name] = "itself" end)
equal(require "early", "itself")

-- Two who require each other in the way that Lua's manual shows.
module("left", function(name)
  local left = {}
  package.loaded[name] = left
  sleep(0.001)
  left.right = require "right"
  return left
end)
module("right", function() return { left = require "left" } end)
equal(require("left").right.left, require "left")

-- An error is told to whoever asked, and the next who asks loads it anew.
local tries = 0
module("broken", function()
  tries = tries + 1
  sleep(0.001)
  error("broken " .. tries, 0)
end)
misuse("broken 1", require, "broken")
misuse("broken 2", require, "broken")
equal(package.loaded.broken, nil)

misuse("bad argument #1 to 'require' (string expected, got no value)", require)
local ok, why = pcall(require, "no.such.module")
equal(ok, false)
assert(why:find "module 'no.such.module' not found:\n\tno field package.preload%['no.such.module'%]\n\tno file ", why)

if isOurs then
  -- What another task loads already is waited for, and loaded once.
  local loads = 0
  module("shared", function()
    loads = loads + 1
    sleep(0.005)
    return {}
  end)
  local a, b, c = nightjar.all {
    function() return require "shared" end, function() return require "shared" end, function() return require "shared" end,
  }
  equal(a, b)
  equal(b, c)
  equal(loads, 1)
  -- By who was spawned before it is loaded, too.
  forget "shared"
  local before = spawn(function() return require "shared" end)
  local shared = require "shared"
  equal(before:join(), shared)
  equal(loads, 2)

  -- It is loaded by the next when the first fails or is cancelled.
  loads = 0
  forget "shared"
  local first = spawn(require, "shared")
  local second = spawn(require, "shared")
  sleep(0.001)
  first:cancel()
  equal(type(second:join()), "table")
  equal(loads, 2)

  -- In a circle nobody would ever be loaded.
  module("one", function() sleep(0) return require "two" end)
  module("two", function() return require "three" end)
  module("three", function() sleep(0) return require "one" end)
  misuse("circular require of module 'one': one -> two -> three -> one", require, "one")
  misuse("circular require of module 'two': two -> three -> one -> two", require, "two")
  module("self", function() return require "self" end)
  misuse("circular require of module 'self': self -> self", require, "self")
  -- Also across tasks, and by a child of the task that loads.
  local one = spawn(function() return pcall(require, "one") end)
  local three = spawn(function() return pcall(require, "three") end)
  local isFirst, firstWhy = one:join()
  local isSecond, secondWhy = three:join()
  equal(isFirst or isSecond, false)
  assert((firstWhy .. secondWhy):find "circular require of module ", firstWhy .. "\n" .. secondWhy)
  module("outer", function() return (nightjar.all { function() return require "inner" end }) end)
  module("inner", function() return require "outer" end)
  misuse("circular require of module 'outer': outer -> inner -> outer", require, "outer")

  -- Many that wait at once; Lua's own could not have them within each other.
  for number = 1, 300 do
    module("many" .. number, function()
      sleep(0.001)
      return number < 300 and number % 10 ~= 0 and require("many" .. number + 1) + 1 or 1
    end)
  end
  local sum = 0
  for _, depth in ipairs(nightjar.map((function()
    local list = {}
    for number = 1, 300 do list[number] = number end
    return list
  end)(), function(number) return require("many" .. number) end, { concurrency = 300 })) do sum = sum + depth end
  equal(sum, 300 // 10 * 55)
end

-- --- Errors show where they were made and who asked ---

local interpreter = arg and arg[-1]
if not (isOurs and interpreter) then return end

local function failure(text)
  local result = nightjar.process.run { interpreter, "-e", text }
  equal(result.status, 1)
  return result.stderr
end

local text = failure [[
local nightjar = require "nightjar"
local function inner() error "lost" end
local task = nightjar.spawn(function() inner() end)
local function outer() task:join() end
outer()]]
assert(text:find("stack traceback:\n.*in upvalue 'inner'.*\nawaited by:\n.*in local 'outer'"), text)
text = failure [[
local nightjar = require "nightjar"
nightjar.map({1, 2}, function(n) nightjar.timeout(5, function() error("deep " .. n, 0) end) end)]]
assert(text:find "^[^\n]*deep 1\nstack traceback:\n.*awaited by:\n.*timeout'.*awaited by:\n.*map'", text)
-- An error that was made anew has one place alone.
text = failure [[
local nightjar = require "nightjar"
local ok, err = pcall(nightjar.all, { function() error("old", 0) end })
error("new", 0)]]
assert(not text:find "awaited by", text)
