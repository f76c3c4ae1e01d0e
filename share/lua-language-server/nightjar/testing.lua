---@meta nightjar.testing
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Tests of scripts. In files that run loads, test, before and after are globals.
---@class nightjar.testing
local testing = {}

---Registers a test. timeout: 60 seconds by default. skip: true, or the reason.
---@param name string
---@param options { timeout?: number, skip?: boolean|string }
---@param f fun(t: nightjar.test)
---@overload fun(name: string, f: fun(t: nightjar.test))
function testing.test(name, options, f) end

---Registers a function that is called before each test.
---@param f fun(t: nightjar.test)
function testing.before(f) end

---Registers a function that is called after each test, the last one first.
---@param f fun(t: nightjar.test)
function testing.after(f) end

---Replaces the time of sleeps, timeouts and timers: local clock <close> = nightjar.testing.clock(). auto: moves to the next deadline whenever all tasks wait.
---@param options? { auto?: boolean }
---@return nightjar.clock
function testing.clock(options) end

---Runs the tests of files, or those registered so far. Returns ok, exit (0 or 1), passed, failed, skipped, duration and tests.
---@param options? nightjar.testing_options
---@return table
function testing.run(options) end

return testing
