-- Functions that are called more often than they are to run.
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

-- Debounced: once, when no call has come for so long, with what the last one said.
local f = nightjar.debounce(0.02, keep)
for i = 1, 10 do f("call", i) end
has_run ""
nightjar.sleep(0.04)
has_run "call 10"
nightjar.sleep(0.03)
has_run ""
f "a"
nightjar.sleep(0.012)
f "b" -- puts it off
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

-- All arguments, and as many.
local given
f = nightjar.debounce(0, function(...) given = table.pack(...) end)
f(nil, 2, nil)
nightjar.sleep(0.005)
equal(given.n, 3)
equal(given[2], 2)

-- Throttled: at once, then no more often than once in so long; what came meanwhile comes at the end of that time.
f = nightjar.throttle(0.03, function(text)
  keep(text)
  if text == "3" then f "4" end -- soon after the one at the end
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
f "8" -- a cancel forgets the time, too
nightjar.sleep(0)
has_run "6,8"
f "9"
f:flush():join()
has_run "9"
equal(f:flush(), nil)
f "10"
f:cancel()

-- A run may wait, and calls its function again.
local again
again = nightjar.debounce(0.001, function(left)
  nightjar.sleep(0.001)
  keep(left)
  if left > 0 then again(left - 1) end
end)
again(2)
repeat nightjar.sleep(0.002) until #ran == 3
has_run "2,1,0"

-- What is asked for belongs to the task that has asked last: it is not over before.
f = nightjar.debounce(0.01, keep)
local asker = nightjar.spawn(function() f "from a task" end)
asker:join()
has_run "from a task"

-- One that is cancelled takes along only what nobody else has asked for since.
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

-- An error is that of the task, which is its parent's where nobody has joined it.
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

-- Collected while it waits: what was asked for runs.
nightjar.debounce(0.005, keep) "kept"
collectgarbage()
collectgarbage()
nightjar.sleep(0.02)
has_run "kept"

-- Anything that can be called.
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
