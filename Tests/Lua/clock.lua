-- The test clock and the functions that use it. One case needs the demo API, and is skipped without it.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse, fails = check.misuse, check.fails
local spawn, sleep = nightjar.spawn, nightjar.sleep

local began = os.time()
local trace = {}
local function note(word) trace[#trace + 1] = word end
-- Compares the noted words since the last call, or since the start of the test.
local function happened(t, expected)
  t:equal(table.concat(trace, " "), expected)
  trace = {}
end
testing.before(function() trace = {} end)

-- --- Manual ---

testing.test("a sleep ends when the clock has been advanced to its end", function(t)
  local clock <close> = testing.clock()
  t:equal(clock:now(), 0)
  for _, seconds in ipairs { 300, 100, 200 } do
    spawn(function()
      sleep(seconds)
      note(seconds)
    end)
  end
  clock:advance(99)
  happened(t, "")
  clock:advance(1)
  happened(t, "100")
  t:equal(clock:now(), 100)
  clock:advance(1000)
  happened(t, "200 300")
  t:equal(clock:now(), 1100)
  t:matches(tostring(clock), "^nightjar.clock: 1100")
end)

testing.test("timers that become due during advance run at their time, and before advance returns", function(t)
  local clock <close> = testing.clock()
  spawn(function()
    for _ = 1, 3 do
      sleep(10)
      note(clock:now())
    end
  end)
  clock:advance(25)
  happened(t, "10.0 20.0")
  clock:advance(5)
  happened(t, "30.0")
end)

testing.test("a timeout of a function follows the clock", function(t)
  local clock <close> = testing.clock()
  local limited = spawn(function() return nightjar.timeout(60, sleep, 3600) end)
  clock:advance(59.5)
  t:equal(limited.done, false)
  clock:advance(0.5)
  fails("timeout", "timeout: the function did not return within 60.0 seconds", limited.join, limited)
end)

testing.test("debounce and throttle follow the clock", function(t)
  local clock <close> = testing.clock()
  local save = nightjar.debounce(2, note)
  save "a"
  clock:advance(1)
  save "b"
  clock:advance(1.5)
  happened(t, "")
  clock:advance(0.5)
  happened(t, "b")
  local scroll = nightjar.throttle(10, note)
  scroll(1)
  scroll(2)
  scroll(3)
  clock:advance(0)
  happened(t, "1")
  clock:advance(10)
  happened(t, "3")
end)

testing.test("after calls its function once, unless it is cancelled", function(t)
  local clock <close> = testing.clock()
  local once = nightjar.after(5, function(...) note "after" return ... end, "x", "y")
  clock:advance(4.999)
  happened(t, "")
  clock:advance(0.001)
  happened(t, "after")
  t:equal(table.concat({ once:join() }, " "), "x y")
  local cancelled = nightjar.after(5, note, "never")
  cancelled:cancel()
  clock:advance(10)
  happened(t, "")
end)

testing.test("every calls its function at each interval, until it is cancelled", function(t)
  local clock <close> = testing.clock()
  local ticks = 0
  local ticker = nightjar.every(0.1, function() ticks = ticks + 1 end)
  clock:advance(1000)
  t:equal(ticks, 10000)
  ticker:cancel()
  clock:advance(1)
  t:equal(ticks, 10000)
end)

testing.test("runs of every do not overlap: missed runs are skipped, and the interval stays the same", function(t)
  local clock <close> = testing.clock()
  local slow
  slow = nightjar.every(1, function(step)
    note(("%.1f"):format(clock:now()))
    sleep(step)
  end, 2.5)
  clock:advance(7)
  slow:cancel()
  pcall(slow.join, slow)
  happened(t, "1.0 4.0 7.0")
end)

testing.test("every ends when its function returns false or fails", function(t)
  local clock <close> = testing.clock()
  local count = 0
  local limited_ticks = nightjar.every(1, function()
    count = count + 1
    if count == 3 then return false end
  end)
  clock:advance(10)
  t:equal(limited_ticks.done, true)
  t:equal(count, 3)
  local failing = nightjar.every(1, error, "from every", 0)
  clock:advance(1)
  misuse("from every", failing.join, failing)
end)

testing.test("there can be only one open clock, and its arguments are checked", function()
  local clock <close> = testing.clock()
  misuse("testing.clock: a clock already exists; close it first", testing.clock)
  misuse("bad argument #1 to 'advance' (seconds from 0 to 1e9 expected)", function() clock:advance(-1) end)
  misuse("a clock has no field 'advanc'; did you mean 'advance'?", function() return clock.advanc end)
  misuse("testing.clock: unknown option 'automatic'", testing.clock, { automatic = true })
end)

testing.test("after the clock is closed, waiting tasks wait the remaining time in real time", function(t)
  local clock = testing.clock()
  local left = spawn(function()
    sleep(1000.01)
    note "left"
  end)
  local others = {}
  for index = 1, 20 do others[index] = spawn(function() sleep(1000 + index / 1000) end) end
  clock:advance(1000)
  clock:close()
  clock:close()
  left:join()
  happened(t, "left")
  misuse("the clock is closed", clock.now, clock)
  for _, task in ipairs(others) do task:join() end
end)

-- --- Automatic ---

testing.test("an automatic clock moves to the next deadline whenever all tasks wait", function(t)
  local auto <close> = testing.clock { auto = true }
  sleep(86400)
  t:equal(auto:now(), 86400)
  local results = nightjar.map({ 3, 1, 2 }, function(hours)
    sleep(hours * 3600)
    note(hours)
    return hours
  end)
  happened(t, "1 2 3")
  t:equal(table.concat(results, " "), "3 1 2")
  t:equal(auto:now(), 86400 + 3 * 3600)
  -- Advancing an automatic clock by an hour moves it by exactly an hour.
  auto:advance(3600)
  t:equal(auto:now(), 86400 + 4 * 3600)
end)

local url = os.getenv "NIGHTJAR_DEMO_URL"
local no_api = not url and "it needs the demo API"

testing.test("calls take real time, during which the clock stops", { skip = no_api }, function(t)
  local auto <close> = testing.clock { auto = true }
  local api = nightjar.client { base_url = url }
  local reply = nightjar.timeout(1, function() return api:get "/delay/0.05" end)
  t:equal(reply.status, 200)
  t:equal(auto:now(), 0)
end)

testing.test("the tests above took less than a minute of real time", function(t)
  t:truthy(os.time() - began < 60, "no day has passed")
end)

-- --- Misuse of timers ---

testing.test("after and every report invalid arguments", function()
  misuse("after: seconds from 0 to 1e9 expected, got -1", nightjar.after, -1, note)
  misuse("after: seconds from 0 to 1e9 expected, got string", nightjar.after, "1", note)
  misuse("after: a function expected, got nil", nightjar.after, 1)
  misuse("every: seconds from 0.001 to 1e9 expected, got 0", nightjar.every, 0, note)
end)

assert(testing.run().ok, "a case failed")
