-- The clock for tests, and what goes by it. Needs no server.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails
local spawn, sleep = nightjar.spawn, nightjar.sleep

local trace = {}
local function note(word) trace[#trace + 1] = word end
local function happened(expected)
  equal(table.concat(trace, " "), expected)
  trace = {}
end

-- --- Moved by hand ---

local began = os.time()
local clock = nightjar.testing.clock()
equal(clock:now(), 0)
for _, seconds in ipairs { 300, 100, 200 } do
  spawn(function()
    sleep(seconds)
    note(seconds)
  end)
end
clock:advance(99)
happened ""
clock:advance(1)
happened "100"
equal(clock:now(), 100)
clock:advance(1000)
happened "200 300"
equal(clock:now(), 1100)
assert(tostring(clock):find "^nightjar.clock: 1100", tostring(clock))

-- What becomes due on the way happens at its time, and all of it before advance returns.
spawn(function()
  for _ = 1, 3 do
    sleep(10)
    note(clock:now() - 1100)
  end
end)
clock:advance(25)
happened "10.0 20.0"
clock:advance(5)
happened "30.0"

-- timeout
local limited = spawn(function() return nightjar.timeout(60, sleep, 3600) end)
clock:advance(59.5)
equal(limited.done, false)
clock:advance(0.5)
fails("timeout", "timeout: the function did not return within 60.0 seconds", limited.join, limited)

-- debounce and throttle
local save = nightjar.debounce(2, note)
save "a"
clock:advance(1)
save "b"
clock:advance(1.5)
happened ""
clock:advance(0.5)
happened "b"
local scroll = nightjar.throttle(10, note)
scroll(1)
scroll(2)
scroll(3)
clock:advance(0)
happened "1"
clock:advance(10)
happened "3"

-- after and every
local once = nightjar.after(5, function(...) note "after" return ... end, "x", "y")
clock:advance(4.999)
happened ""
clock:advance(0.001)
happened "after"
equal(table.concat({ once:join() }, " "), "x y")
local cancelled = nightjar.after(5, note, "never")
cancelled:cancel()
clock:advance(10)
happened ""

local origin = clock:now()
local ticks = 0
local ticker = nightjar.every(0.1, function() ticks = ticks + 1 end)
clock:advance(1000)
equal(ticks, 10000)
ticker:cancel()
clock:advance(1)
equal(ticks, 10000)

-- No run overtakes another; what is missed is left out, and the rhythm stays.
origin = clock:now()
local slow
slow = nightjar.every(1, function(step)
  note(("%.1f"):format(clock:now() - origin))
  sleep(step)
end, 2.5)
clock:advance(7)
slow:cancel()
happened "1.0 4.0 7.0"
local count = 0
local limited_ticks = nightjar.every(1, function()
  count = count + 1
  if count == 3 then return false end
end)
clock:advance(10)
equal(limited_ticks.done, true)
equal(count, 3)
local failing = nightjar.every(1, error, "from every", 0)
clock:advance(1)
misuse("from every", failing.join, failing)

-- One at a time, and only while it is open.
misuse("testing.clock: a clock already exists; close it first", nightjar.testing.clock)
misuse("bad argument #1 to 'advance' (seconds from 0 to 1e9 expected)", function() clock:advance(-1) end)
misuse("a clock has no field 'advanc'; did you mean 'advance'?", function() return clock.advanc end)
misuse("testing.clock: unknown option 'automatic'", nightjar.testing.clock, { automatic = true })

-- Closing gives who waits real time: as long as they had left.
local left = spawn(function()
  sleep(1000.01)
  note "left"
end)
for index = 1, 20 do spawn(function() sleep(1000 + index / 1000) end) end
clock:advance(1000)
clock:close()
clock:close()
left:join()
happened "left"
misuse("the clock is closed", clock.now, clock)

-- --- By itself ---

do
  local auto <close> = nightjar.testing.clock { auto = true }
  sleep(86400)
  equal(auto:now(), 86400)
  local results = nightjar.map({ 3, 1, 2 }, function(hours)
    sleep(hours * 3600)
    note(hours)
    return hours
  end)
  happened "1 2 3"
  equal(table.concat(results, " "), "3 1 2")
  equal(auto:now(), 86400 + 3 * 3600)
  -- An hour by hand is an hour, also then.
  auto:advance(3600)
  equal(auto:now(), 86400 + 4 * 3600)
end

-- Calls take their time, during which the clock stands.
local url = os.getenv "NIGHTJAR_DEMO_URL"
if url then
  local auto <close> = nightjar.testing.clock { auto = true }
  local api = nightjar.client { base_url = url }
  local reply = nightjar.timeout(1, function() return api:get "/delay/0.05" end)
  equal(reply.status, 200)
  equal(auto:now(), 0)
end

assert(os.time() - began < 60, "no day has passed")

-- --- Misuse of timers ---

misuse("after: seconds from 0 to 1e9 expected, got -1", nightjar.after, -1, note)
misuse("after: seconds from 0 to 1e9 expected, got string", nightjar.after, "1", note)
misuse("after: a function expected, got nil", nightjar.after, 1)
misuse("every: seconds from 0.001 to 1e9 expected, got 0", nightjar.every, 0, note)
