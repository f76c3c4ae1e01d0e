-- nightjar.testing: a test framework for scripts.
--
--   local testing = require "nightjar.testing"
--   testing.test("lists articles", function(t)
--     local mock = nightjar.mock { { path = "/articles", response = { json = { results = { 1, 2 } } } } }
--     local api = nightjar.client { base_url = "http://api.test", mock = mock }
--     t:equal(api:get("/articles").json, { results = { 1, 2 } })
--     mock:verify()
--   end)
--   os.exit(testing.run().exit)
--
-- In files run by testing.run{ files = {...} }, test, before and after are globals. Other globals and required modules
-- of a file are removed before the next file runs.
local nightjar, native = ...
local misuse, check_options, unended = native.misuse, native.options, native.unended
local replayed, reports = native.replayed, native.reports
local fail, Failure, Skip = native.assertions.fail, native.assertions.Failure, native.assertions.Skip
local spawn, timeout = nightjar.spawn, nightjar.timeout
local type, tostring, tonumber, pairs, ipairs = type, tostring, tonumber, pairs, ipairs
local pcall, xpcall, setmetatable, getmetatable = pcall, xpcall, setmetatable, getmetatable
local find, format, gsub, match, sub = string.find, string.format, string.gsub, string.match, string.sub
local insert, remove, pack, unpack = table.insert, table.remove, table.pack, table.unpack
local traceback = debug and debug.traceback or function(message) return message end
local loadfile, stdout = loadfile, io and io.stdout
local loaded = package and package.loaded
local globals = _G

local testing = { clock = native.clock }

-- The default time limit of a test, in seconds.
local LIMIT = 60

local function now() return nightjar.time and nightjar.time.monotonic and nightjar.time.monotonic() or os.clock() end

-- --- The test object ---

local Test = native.assertions.methods
Test.__index = function(_, name)
  if Test[name] ~= nil then return Test[name] end
  misuse(format("a test has no %q; it has equal, truthy, falsy, raises, matches, near, fail, skip, test, cleanup, "
    .. "replay and name", tostring(name)))
end

-- t:cleanup(f, ...): f is called when the test has ended, with any result. Cleanups run in reverse order.
function Test.cleanup(t, f, ...)
  if type(f) ~= "function" then misuse(format("cleanup: a function expected, got %s", type(f))) end
  insert(t.cleanups, pack(f, ...))
end

-- t:replay(file, ...): clients created from now until the end of the test replay these cassettes, one each, in this
-- order, except clients with the option mock or cassette. Paths are relative to the test file.
function Test.replay(t, ...)
  local files, made = pack(...), 0
  local folder = t.result.file and match(t.result.file, "^.*/") or ""
  for index = 1, files.n do
    if type(files[index]) ~= "string" then misuse(format("replay: a path expected, got %s", type(files[index]))) end
    if sub(files[index], 1, 1) ~= "/" then files[index] = folder .. files[index] end
  end
  local make = nightjar.client
  nightjar.client = function(options)
    if options == nil then options = {} end
    -- These options are invalid, or already replace the network.
    if type(options) ~= "table" or options.mock ~= nil or options.cassette ~= nil then return make(options) end
    made = made + 1
    if made > files.n then
      fail(format("client %d has no cassette; replay has only %d", made, files.n))
    end
    return make(replayed(options, files[made]))
  end
  t:cleanup(function() nightjar.client = make end)
end

-- --- Running a test ---

local run_body

-- t:test(name, f) runs a nested test. If the nested test fails, `t` fails, too.
function Test.test(t, name, f)
  if type(name) ~= "string" then misuse(format("test: a name expected, got %s", type(name))) end
  if type(f) ~= "function" then misuse(format("test: a function expected, got %s", type(f))) end
  local result = { name = t.name .. " > " .. name, file = t.result.file }
  local began = now()
  local child = run_body(result, f)
  result.duration = now() - began
  insert(t.results, result)
  for _, other in ipairs(child.results) do insert(t.results, other) end
  if result.status == "failed" then t.failures = t.failures + 1 end
  return result.status ~= "failed"
end

local function note_failure(result, err)
  if getmetatable(err) == Skip then
    if result.status == nil then result.status, result.reason = "skipped", err.reason end
    return
  end
  local message = tostring(err)
  if result.status == "failed" then
    result.message = result.message .. "\n" .. message
    return
  end
  result.status, result.message = "failed", message
  result.line = type(err) == "table" and err.line or tonumber(match(message, "^[^\n]-:(%d+): "))
end

-- Calls f and records its error. The traceback is taken where the error is raised.
local function guarded(result, f, ...)
  local function handler(err)
    if getmetatable(err) ~= Skip and getmetatable(err) ~= Failure and not result.traceback then
      -- Removes the levels below the test.
      result.traceback = gsub(gsub(traceback("", 2), "^%s+", ""), "\n%s*nightjar%.testing[:.].*$", "")
    end
    return err
  end
  local ok, err = xpcall(f, handler, ...)
  if not ok then note_failure(result, err) end
  return ok
end

function run_body(result, f)
  local t = setmetatable({ name = result.name, cleanups = {}, results = {}, failures = 0, result = result }, Test)
  do
    -- Cleanups also run if the test is stopped and its coroutine closed.
    local cleaner <close> = setmetatable({}, {
      __close = function()
        while #t.cleanups > 0 do
          local cleanup = remove(t.cleanups)
          guarded(result, unpack(cleanup, 1, cleanup.n))
        end
      end,
    })
    guarded(result, f, t)
  end
  if t.failures > 0 then
    note_failure(result, format("nested tests failed: %d", t.failures))
  end
  result.status = result.status or "passed"
  return t
end

-- Runs the test in its own task, which can be stopped. The test fails if tasks that it spawned are still running at its
-- end.
local function run_test(suite, entry, limit, results)
  local result = { name = entry.name, file = suite.file, line = nil }
  insert(results, result)
  local began, is_over, t = now(), false, nil
  local task
  task = spawn(function()
    t = run_body(result, function(t)
      for _, hook in ipairs(suite.before) do hook(t) end
      -- Cleanups run in reverse order, so the after functions run after the cleanups of the test.
      for index = 1, #suite.after do t:cleanup(suite.after[index], t) end
      entry.f(t)
    end)
    is_over = true
    local left = unended and unended() or 0
    if left > 0 then
      note_failure(result, format("%d %s still running at the end of the test; join or cancel spawned tasks",
        left, left == 1 and "task was" or "tasks were"))
      task:cancel()
    end
  end)
  -- The limit is real time, but timeouts follow a virtual clock that the test may create. A timeout that expires early
  -- is therefore started again.
  local wait, ok, err = limit, nil, nil
  repeat
    ok, err = pcall(timeout, wait, function() task:join() end)
    wait = wait * 2
    local has_expired = not ok and not is_over and type(err) == "userdata" and err.kind == "timeout"
  until not has_expired or now() - began >= limit
  if not ok and not is_over then
    task:cancel()
    pcall(task.join, task)
    result.status = nil
    local is_late = type(err) == "userdata" and err.kind == "timeout"
    note_failure(result, is_late and format("the test exceeded its time limit of %g seconds", limit) or tostring(err))
  end
  result.duration = now() - began
  for _, other in ipairs(t and t.results or {}) do insert(results, other) end
  return result.status
end

-- --- Registration ---

local function new_suite(file) return { file = file, tests = {}, before = {}, after = {} } end

local current = new_suite()

-- test(name[, { timeout = seconds, skip = reason }], f)
function testing.test(name, options, f)
  if f == nil then options, f = {}, options end
  if type(name) ~= "string" then misuse(format("test: a name expected, got %s", type(name))) end
  if type(options) ~= "table" then misuse(format("test: options must be a table, got %s", type(options))) end
  if type(f) ~= "function" then
    misuse(format("test: a function expected, got %s", f == nil and "no value" or type(f)))
  end
  check_options("test", options, { timeout = "number", skip = "string or boolean" })
  insert(current.tests, { name = name, f = f, timeout = options.timeout, skip = options.skip })
end

-- before(f): f is called before each test, except nested tests and tests skipped by their option, in the order of
-- registration.
function testing.before(f)
  if type(f) ~= "function" then misuse(format("before: a function expected, got %s", type(f))) end
  insert(current.before, f)
end

-- after(f): f is called after each test, except nested and skipped tests, and after the test's cleanups, in reverse
-- order. f is not called if a before function has failed.
function testing.after(f)
  if type(f) ~= "function" then misuse(format("after: a function expected, got %s", type(f))) end
  insert(current.after, f)
end

-- --- Running all tests ---

-- Returns the suite of a file, which runs with its own globals; or nil and a failed result.
local function load_suite(file)
  local suite = new_suite(file)
  local result = { name = "load", file = file }
  local environment = setmetatable(
    { testing = testing, test = testing.test, before = testing.before, after = testing.after, nightjar = nightjar },
    { __index = globals })
  environment._G = environment
  local chunk, message = loadfile(file, "t", environment)
  if not chunk then
    note_failure(result, message)
    return nil, result
  end
  local outer = current
  current = suite
  local began = now()
  local ok = guarded(result, chunk)
  result.duration = now() - began
  current = outer
  if not ok then return nil, result end
  if #suite.tests == 0 then
    result.status, result.reason = "skipped", "it contains no tests"
    return nil, result
  end
  return suite
end

local function run_suite(suite, options, add)
  for _, entry in ipairs(suite.tests) do
    local name = suite.file and suite.file .. ": " .. entry.name or entry.name
    if not options.filter or find(name, options.filter, 1, true) then
      local results = {}
      if entry.skip then
        insert(results, {
          name = entry.name, file = suite.file, status = "skipped", duration = 0,
          reason = type(entry.skip) == "string" and entry.skip or nil,
        })
      else
        run_test(suite, entry, entry.timeout or options.timeout or LIMIT, results)
      end
      local failed = false
      for _, result in ipairs(results) do
        add(result)
        failed = failed or result.status == "failed"
      end
      if failed and options.fail_fast then return false end
    end
  end
  return true
end

-- Returns the names of the loaded modules. restore() removes other modules, so that the next file loads them again.
local function snapshot()
  local known = {}
  for name in pairs(loaded or {}) do known[name] = true end
  return known
end

local function restore(known)
  local added = {}
  for name in pairs(loaded or {}) do
    if not known[name] and not find(name, "^nightjar") then added[#added + 1] = name end
  end
  for _, name in ipairs(added) do loaded[name] = nil end
end

local OPTIONS = {
  files = "table", filter = "string", format = "string", timeout = "number", write = "function", fail_fast = "boolean",
}

-- run{ files =, filter =, format = "readable" | "tap" | "none", timeout =, write =, fail_fast = } -> the results: ok,
-- exit (0 or 1), passed, failed, skipped, duration and tests, each with name, file, status, message, line, traceback,
-- reason and duration. Without files, runs the tests registered so far. `filter` is a substring of the test's file and
-- name.
function testing.run(options)
  options = options or {}
  if type(options) ~= "table" then misuse(format("run: options must be a table, got %s", type(options))) end
  check_options("run", options, OPTIONS)
  local kind = options.format or "readable"
  if not reports[kind] then misuse(format("run: format must be \"readable\", \"tap\" or \"none\", got %q", kind)) end
  local write = options.write or stdout and function(text) stdout:write(text) end or function() end
  local report = reports[kind](write)
  local summary = { passed = 0, failed = 0, skipped = 0, tests = {} }
  local function add(result)
    insert(summary.tests, result)
    summary[result.status] = summary[result.status] + 1
    report.result(result)
  end
  local began = now()
  if options.files then
    for _, file in ipairs(options.files) do
      local known = snapshot()
      local suite, result = load_suite(file)
      if result then add(result) end
      local continues = not (result and result.status == "failed" and options.fail_fast)
      if suite then continues = run_suite(suite, options, add) end
      restore(known)
      if not continues then break end
    end
  else
    local suite = current
    current = new_suite()
    run_suite(suite, options, add)
  end
  summary.duration = now() - began
  summary.ok = summary.failed == 0 and summary.passed + summary.skipped > 0
  summary.exit = summary.ok and 0 or 1
  report.finish(summary)
  return summary
end

return testing
