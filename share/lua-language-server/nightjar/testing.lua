---@meta nightjar.testing
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Tests of scripts. In the files of run, test, before and after are globals.
---@class nightjar.testing
local testing = {}

---Registers a test, which may take 60 seconds unless it says otherwise; the options may be left out.
---@param name string
---@param options { timeout?: number, skip?: boolean|string }
---@param f fun(t: nightjar.test)
---@overload fun(name: string, f: fun(t: nightjar.test))
function testing.test(name, options, f) end

---Called with each test before it.
---@param f fun(t: nightjar.test)
function testing.before(f) end

---Called with each test after it, the last one first.
---@param f fun(t: nightjar.test)
function testing.after(f) end

---A time that moves when it is told to, for sleeps, timeouts and timers: local clock <close> = nightjar.testing.clock(). With auto it moves to the next deadline whenever all tasks wait.
---@param options? { auto?: boolean }
---@return nightjar.clock
function testing.clock(options) end

---Runs the tests, those of files or those registered so far, and tells what came of it: ok, exit (0 or 1), passed, failed, skipped, duration, tests.
---@param options? nightjar.testing_options
---@return table
function testing.run(options) end

return testing
