-- Runs the cases of a script of Tests/Lua in the main chunk: INTERPRETER Tests/Command/main_chunk.lua SCRIPT
--
-- nightjar.testing runs each test in a task, which can yield. The main chunk of a stock interpreter cannot yield: its waits
-- block, and run the other tasks meanwhile. This file replaces the functions of nightjar.testing that the script uses. It
-- has no time limits and does not detect unfinished tasks. It cannot run Tests/Lua/testing.lua, which tests
-- nightjar.testing itself.
local testing = require "nightjar.testing"

-- The class of test objects, and the metatable of the error that t:skip raises.
local Test, Skip
testing.test("", function(t)
  Test = getmetatable(t)
  Skip = getmetatable(select(2, pcall(t.skip, t)))
end)
testing.run { format = "none" }

local cases, before, after = {}, {}, {}

function testing.test(name, options, f)
  if f == nil then options, f = {}, options end
  cases[#cases + 1] = { name = name, f = f, skip = options.skip }
end

function testing.before(f) before[#before + 1] = f end

function testing.after(f) table.insert(after, 1, f) end

-- Returns whether the case succeeds, and its error.
local function run(case)
  local t = setmetatable({ name = case.name, cleanups = {}, results = {}, failures = 0, result = {} }, Test)
  local ok, err = pcall(function()
    for _, hook in ipairs(before) do hook(t) end
    case.f(t)
    assert(t.failures == 0, "a nested test failed")
  end)
  for index = #t.cleanups, 1, -1 do
    local cleanup = t.cleanups[index]
    local cleaned, why = pcall(table.unpack(cleanup, 1, cleanup.n))
    if not cleaned then ok, err = false, why end
  end
  for _, hook in ipairs(after) do hook(t) end
  return ok or getmetatable(err) == Skip, err
end

function testing.run()
  local ok = true
  for _, case in ipairs(cases) do
    if not case.skip then
      local passed, err = run(case)
      print(passed and "ok    " .. case.name or "FAIL  " .. case.name .. "\n      " .. tostring(err))
      ok = ok and passed
    end
  end
  return { ok = ok }
end

io.stdout:setvbuf "line"
arg[0] = table.remove(arg, 1)
dofile(arg[0])
