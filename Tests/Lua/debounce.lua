-- nightjar.debounce and nightjar.throttle: functions that are called more often than they should run. Needs no server, and
-- takes no real time: the clock is a test clock.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse = check.misuse

local ran = {}
local function keep(...)
  ran[#ran + 1] = table.concat({ ... }, " ")
end
-- Compares the runs since the last call, or since the start of the test.
local function has_run(t, text)
  t:equal(table.concat(ran, ","), text)
  ran = {}
end
testing.before(function(t)
  ran = {}
  local clock = testing.clock { auto = true }
  t:cleanup(clock.close, clock)
end)

testing.test("debounce runs once, when there was no call for the given time, with the last arguments", function(t)
  local f = nightjar.debounce(20, keep)
  for i = 1, 10 do f("call", i) end
  has_run(t, "")
  nightjar.sleep(40)
  has_run(t, "call 10")
  nightjar.sleep(30)
  has_run(t, "")
  f "a"
  nightjar.sleep(12)
  f "b" -- delays the run
  nightjar.sleep(12)
  has_run(t, "")
  nightjar.sleep(30)
  has_run(t, "b")
  f()
  nightjar.sleep(40)
  has_run(t, "")
end)

testing.test("cancel drops a pending run, and flush starts it", function(t)
  local f = nightjar.debounce(20, keep)
  f(nil, nil)
  f "last"
  f:cancel()
  f:cancel()
  nightjar.sleep(30)
  has_run(t, "")
  t:equal(f:flush(), nil)
  f "now"
  f:flush():join()
  has_run(t, "now")
  nightjar.sleep(30)
  has_run(t, "")
end)

testing.test("all arguments are passed, with their number", function(t)
  local given
  local f = nightjar.debounce(0, function(...) given = table.pack(...) end)
  f(nil, 2, nil)
  nightjar.sleep(5)
  t:equal(given.n, 3)
  t:equal(given[2], 2)
end)

testing.test("throttle runs immediately, then at most once per interval, at its end", function(t)
  local f
  f = nightjar.throttle(30, function(text)
    keep(text)
    if text == "3" then f "4" end -- soon after the run at the end of the interval
  end)
  f "1"
  f "2"
  f "3"
  nightjar.sleep(0)
  has_run(t, "1")
  nightjar.sleep(35)
  has_run(t, "3")
  nightjar.sleep(35)
  has_run(t, "4")
  nightjar.sleep(35)
  f "5"
  nightjar.sleep(0)
  has_run(t, "5")
end)

testing.test("cancel of a throttled function also resets its interval, and flush does not wait for it", function(t)
  local f = nightjar.throttle(1000, keep)
  f "6"
  f "7"
  f:cancel()
  f "8"
  nightjar.sleep(0)
  has_run(t, "6,8")
  f "9"
  f:flush():join()
  has_run(t, "9")
  t:equal(f:flush(), nil)
  f "10"
  f:cancel()
  nightjar.sleep(0)
end)

testing.test("a run can wait, and can call its own function again", function(t)
  local again
  again = nightjar.debounce(1, function(left)
    nightjar.sleep(1)
    keep(left)
    if left > 0 then again(left - 1) end
  end)
  again(2)
  nightjar.sleep(20)
  has_run(t, "2,1,0")
end)

testing.test("a pending run belongs to the task of the last call, which does not end before it", function(t)
  local f = nightjar.debounce(10, keep)
  local requester = nightjar.spawn(function() f "from a task" end)
  requester:join()
  has_run(t, "from a task")
end)

testing.test("cancelling a task drops only the calls since the last call of another task", function(t)
  local f = nightjar.debounce(10, keep)
  local stopped = nightjar.spawn(function()
    f "its own"
    nightjar.sleep(1000)
  end)
  nightjar.sleep(2)
  stopped:cancel()
  pcall(stopped.join, stopped)
  nightjar.sleep(20)
  has_run(t, "")
  stopped = nightjar.spawn(function()
    f "its own"
    nightjar.sleep(1000)
  end)
  nightjar.sleep(2)
  f "another's"
  stopped:cancel()
  pcall(stopped.join, stopped)
  nightjar.sleep(20)
  has_run(t, "another's")
end)

testing.test("an error of a run is raised in the task of the call, or where the run is joined", function()
  local f = nightjar.debounce(1, function() error("lost", 0) end)
  local failing = nightjar.spawn(function()
    f()
    nightjar.sleep(20)
  end)
  misuse("lost", failing.join, failing)
  f()
  local flushed = f:flush()
  misuse("lost", flushed.join, flushed)
  f = nightjar.throttle(1, function() error("lost at once", 0) end)
  failing = nightjar.spawn(function() f() end)
  misuse("lost at once", failing.join, failing)
end)

testing.test("a pending run is executed even if the function is garbage collected", function(t)
  nightjar.debounce(5, keep) "kept"
  collectgarbage()
  collectgarbage()
  nightjar.sleep(20)
  has_run(t, "kept")
end)

testing.test("any callable value can be debounced", function(t)
  local f = nightjar.debounce(0, setmetatable({}, { __call = function(_, ...) keep(...) end }))
  f "callable"
  nightjar.sleep(5)
  has_run(t, "callable")
end)

testing.test("a debounced function has a name, and reports invalid arguments", function(t)
  local f = nightjar.debounce(0, keep)
  t:matches(tostring(f), "^nightjar%.debounced: ")
  t:equal(getmetatable(f), false)
  misuse("bad argument #1 to 'nightjar.debounce' (seconds from 0 to 1e9 expected)", nightjar.debounce, -1, keep)
  misuse("bad argument #1 to 'nightjar.debounce' (number expected, got string)", nightjar.debounce, "x", keep)
  misuse("bad argument #2 to 'nightjar.throttle' (function expected, got nil)", nightjar.throttle, 1, nil)
  misuse("a debounced function has no field 'flsh'; did you mean 'flush'?", function() return f.flsh end)
  misuse("debounced function expected, got no value; call methods with a colon, as in f:cancel()", f.cancel)
end)

assert(testing.run().ok, "a case failed")
