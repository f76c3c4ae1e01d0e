-- Functions that are called more often than they should run.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

local ran = {}
local function keep(...)
  ran[#ran + 1] = table.concat({ ... }, " ")
end
local function has_run(text)
  equal(table.concat(ran, ","), text)
  ran = {}
end

-- debounce: runs once, when no call has come for the given time, with the arguments of the last call.
local f = nightjar.debounce(0.02, keep)
for i = 1, 10 do f("call", i) end
has_run ""
nightjar.sleep(0.04)
has_run "call 10"
nightjar.sleep(0.03)
has_run ""
f "a"
nightjar.sleep(0.012)
f "b" -- delays it
nightjar.sleep(0.012)
has_run ""
nightjar.sleep(0.03)
has_run "b"
f()
nightjar.sleep(0.04)
has_run ""
f(nil, nil)
f "last"
f:cancel()
f:cancel()
nightjar.sleep(0.03)
has_run ""
equal(f:flush(), nil)
f "now"
f:flush():join()
has_run "now"
nightjar.sleep(0.03)
has_run ""

-- All arguments with their number.
local given
f = nightjar.debounce(0, function(...) given = table.pack(...) end)
f(nil, 2, nil)
nightjar.sleep(0.005)
equal(given.n, 3)
equal(given[2], 2)

-- throttle: runs immediately, then at most once per interval. Calls during the interval run at its end.
f = nightjar.throttle(0.03, function(text)
  keep(text)
  if text == "3" then f "4" end -- soon after the run at the end of the interval
end)
f "1"
f "2"
f "3"
nightjar.sleep(0)
has_run "1"
nightjar.sleep(0.035)
has_run "3"
nightjar.sleep(0.035)
has_run "4"
nightjar.sleep(0.035)
f "5"
nightjar.sleep(0)
has_run "5"
f = nightjar.throttle(60, keep)
f "6"
f "7"
f:cancel()
f "8" -- a cancel also resets the interval
nightjar.sleep(0)
has_run "6,8"
f "9"
f:flush():join()
has_run "9"
equal(f:flush(), nil)
f "10"
f:cancel()

-- A run can wait, and can call its own function again.
local again
again = nightjar.debounce(0.001, function(left)
  nightjar.sleep(0.001)
  keep(left)
  if left > 0 then again(left - 1) end
end)
again(2)
repeat nightjar.sleep(0.002) until #ran == 3
has_run "2,1,0"

-- A pending run belongs to the task of the last call, which does not end before it.
f = nightjar.debounce(0.01, keep)
local requester = nightjar.spawn(function() f "from a task" end)
requester:join()
has_run "from a task"

-- Cancelling this task drops only the calls since the last call of another task.
local stopped = nightjar.spawn(function()
  f "its own"
  nightjar.sleep(1)
end)
nightjar.sleep(0.002)
stopped:cancel()
pcall(stopped.join, stopped)
nightjar.sleep(0.02)
has_run ""
stopped = nightjar.spawn(function()
  f "its own"
  nightjar.sleep(1)
end)
nightjar.sleep(0.002)
f "another's"
stopped:cancel()
pcall(stopped.join, stopped)
nightjar.sleep(0.02)
has_run "another's"

-- An error is raised in the task, and in its parent if the task is not joined.
f = nightjar.debounce(0.001, function() error("lost", 0) end)
local failing = nightjar.spawn(function()
  f()
  nightjar.sleep(0.02)
end)
misuse("lost", failing.join, failing)
f()
local flushed = f:flush()
misuse("lost", flushed.join, flushed)
f = nightjar.throttle(1, function() error("lost at once", 0) end)
failing = nightjar.spawn(function() f() end)
misuse("lost at once", failing.join, failing)

-- A pending run is executed even if the function is garbage collected.
nightjar.debounce(0.005, keep) "kept"
collectgarbage()
collectgarbage()
nightjar.sleep(0.02)
has_run "kept"

-- Any callable value.
f = nightjar.debounce(0, setmetatable({}, { __call = function(_, ...) keep(...) end }))
f "callable"
nightjar.sleep(0.005)
has_run "callable"

assert(tostring(f):find "^nightjar%.debounced: ")
equal(getmetatable(f), false)
misuse("bad argument #1 to 'nightjar.debounce' (seconds from 0 to 1e9 expected)", nightjar.debounce, -1, keep)
misuse("bad argument #1 to 'nightjar.debounce' (number expected, got string)", nightjar.debounce, "x", keep)
misuse("bad argument #2 to 'nightjar.throttle' (function expected, got nil)", nightjar.throttle, 1, nil)
misuse("a debounced function has no field 'flsh'; did you mean 'flush'?", function() return f.flsh end)
misuse("debounced function expected, got no value; call it with a colon", f.cancel)
