-- nightjar.testing: assertions, hooks, files, reports. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse = check.misuse

-- The cases of this file register tests and run them with testing.run. The run at the end of this file takes the cases
-- before it starts them, so an inner run has only its own tests. The cases use check.equal, because they test the
-- assertions of nightjar.testing.
local equal = check.equal

-- Runs the tests that `define` registers, and returns their results by name.
local function run(define, options)
  define()
  options = options or {}
  options.format = options.format or "none"
  local summary = testing.run(options)
  local named = {}
  for _, result in ipairs(summary.tests) do named[result.name] = result end
  return named, summary
end
-- The message of a test that runs `f`, without the location; "" if it passes.
local function message(f)
  local named = run(function() testing.test("it", f) end)
  return (named.it.message or ""):gsub("^[^\n]-:%d+: ", "")
end

testing.test("the limit of a test is real time: a clock that the test moves beyond it does not end the test", function()
  local named = run(function()
    testing.test("moves an hour", { timeout = 5 }, function(t)
      local clock <close> = testing.clock()
      local task = nightjar.after(1800, function() return "done" end)
      clock:advance(3600)
      t:equal(task:join(), "done")
    end)
    testing.test("hangs", { timeout = 0.05 }, function() nightjar.sleep(60) end)
  end)
  equal(named["moves an hour"].status, "passed")
  equal(named.hangs.message, "the test exceeded its time limit of 0.05 seconds")
end)

-- --- Assertions ---

testing.test("equal accepts equal values, and tables with equal content", function()
  equal(message(function(t) t:equal(1, 1.0) end), "")
  equal(message(function(t) t:equal({ 1, { a = nightjar.null } }, { 1, { a = nightjar.null } }) end), "")
  equal(message(function(t) local a, b = {}, {}; a.a, b.a = a, b; t:equal(a, b) end), "")
  equal(message(function(t) t:equal(0/0, 0/0) end), "")
end)

testing.test("equal reports the differences with their places", function()
  equal(message(function(t) t:equal("a", "b") end), 'got "a", expected "b"')
  equal(message(function(t) t:equal({ a = { 1, 2 }, b = 1 }, { a = { 1, 3 }, c = 2 }) end),
    "at .a[2]: got 2, expected 3\nat .b: got 1, expected nothing\nat .c: got nothing, expected 2")
  equal(message(function(t) t:equal({}, 1, "the list") end), "the list: got {}, expected 1")
end)

testing.test("further results of a compared call are not notes", function()
  equal(message(function(t) t:equal("a", ("abc"):gsub("c", "")) end), 'got "a", expected "ab"')
  equal(message(function(t) t:falsy(("abc"):find "c") end), "got 3, expected nil or false")
  equal(message(function(t) t:matches("abc", ("d"):gsub("%%", "")) end), 'got "abc", expected a string matching "d"')
end)

testing.test("truthy and falsy report the value", function()
  equal(message(function(t) t:truthy(nil) end), "got nil, expected a true value")
  equal(message(function(t) t:falsy(1) end), "got 1, expected nil or false")
end)

testing.test("matches returns the captures, or reports the text and the pattern", function()
  equal(message(function(t) equal(t:matches("a-12", "%a%-(%d+)"), "12") end), "")
  equal(message(function(t) t:matches("abc", "%d") end), 'got "abc", expected a string matching "%d"')
end)

testing.test("near has a tolerance", function()
  equal(message(function(t) t:near(0.1 + 0.2, 0.3) end), "")
  equal(message(function(t) t:near(1, 2, 0.5) end), "got 1, expected 2 within a tolerance of 0.5")
end)

testing.test("raises compares an error by a pattern of its message", function()
  equal(message(function(t) t:raises("boom", error, "big boom") end), "")
  equal(message(function(t) t:raises("boom", error, "bang") end), 'got the error "bang", expected "boom"')
  equal(message(function(t) t:raises("boom", function() end) end), 'no error was raised, expected "boom"')
end)

testing.test("raises compares an error by its kind or its fields, and returns it", function()
  equal(message(function(t)
    local err = t:raises("invalid_url", function() nightjar.client():get "/" end)
    equal(err.kind, "invalid_url")
    t:raises({ kind = "invalid_url" }, function() nightjar.client():get "/" end)
  end), "")
end)

testing.test("raises compares a field that is false", function()
  equal(message(function(t) t:raises({ retryable = false }, error, { retryable = false }) end), "")
  local failure = message(function(t) t:raises({ retryable = false }, error, { retryable = true }) end)
  equal(failure:match "retryable: got true, expected false$" ~= nil, true)
  failure = message(function(t) t:raises({ retryable = false }, error, {}) end)
  equal(failure:match "retryable: got nil, expected false$" ~= nil, true)
end)

testing.test("fail fails with the message", function()
  equal(message(function(t) t:fail "enough" end), "enough")
end)

testing.test("an unknown assertion raises an error", function()
  local named = run(function() testing.test("it", function(t) t:eqal(1, 1) end) end)
  misuse('a test has no "eqal"; it has equal, truthy, falsy, raises, matches, near, fail, skip, test, cleanup, '
    .. "replay and name", error, named.it.message, 0)
end)

-- --- Results ---

testing.test("hooks and cleanups run around a test", function()
  local order = {}
  local named = run(function()
    testing.before(function(t) order[#order + 1] = "before " .. t.name end)
    testing.after(function() order[#order + 1] = "after" end)
    testing.test("passes", function(t) t:cleanup(function() order[#order + 1] = "cleanup" end) end)
  end)
  equal(named.passes.status, "passed")
  equal(table.concat(order, ", "), "before passes, cleanup, after")
end)

testing.test("a test that raises an error fails with its message, its traceback and its line", function()
  local named = run(function()
    testing.test("raises", function() local x = nil; return x.y end)
  end)
  equal(named.raises.status, "failed")
  equal(named.raises.message:match "index a nil value" ~= nil, true)
  equal(named.raises.traceback:match "testing.lua:%d+" ~= nil, true)
  equal(math.type(named.raises.line), "integer")
end)

testing.test("a test can be skipped by itself or by its options", function()
  local named = run(function()
    testing.test("skips", function(t) t:skip "not today" end)
    testing.test("is skipped", { skip = "never" }, function() error "no" end)
  end)
  equal(named.skips.status .. " " .. named.skips.reason, "skipped not today")
  equal(named["is skipped"].reason, "never")
end)

testing.test("a test fails if a nested test fails", function()
  local named = run(function()
    testing.test("has others", function(t)
      equal(t:test("good", function() end), true)
      equal(t:test("bad", function(t) t:equal(1, 2) end), false)
    end)
  end)
  equal(named["has others"].message, "nested tests failed: 1")
  equal(named["has others > good"].status, "passed")
  equal(named["has others > bad"].status, "failed")
end)

testing.test("a test can wait", function()
  local named = run(function() testing.test("waits", function() nightjar.sleep(0.01) end) end)
  equal(named.waits.status, "passed")
end)

testing.test("a test that exceeds its time limit fails, and its cleanups run", function()
  local cleaned
  local named = run(function()
    testing.test("is late", { timeout = 0.02 }, function(t)
      t:cleanup(function() cleaned = true end)
      nightjar.sleep(60)
    end)
  end)
  equal(named["is late"].message, "the test exceeded its time limit of 0.02 seconds")
  equal(cleaned, true)
end)

testing.test("a test that leaves a task fails", function()
  local named = run(function() testing.test("leaves a task", function() nightjar.spawn(nightjar.sleep, 60) end) end)
  equal(named["leaves a task"].message, "1 task was still running at the end of the test; join or cancel spawned tasks")
end)

testing.test("an error of a cleanup fails the test", function()
  local named = run(function() testing.test("fails in cleanup", function(t) t:cleanup(error, "dirty") end) end)
  equal(named["fails in cleanup"].message, "dirty")
end)

testing.test("a run counts the results, and its exit status is 1 if a test failed", function()
  local _, summary = run(function()
    testing.before(function() end)
    testing.after(function() end)
    testing.test("passes", function(t) t:cleanup(function() end) end)
    testing.test("raises", function() local x = nil; return x.y end)
    testing.test("skips", function(t) t:skip "not today" end)
    testing.test("is skipped", { skip = "never" }, function() error "no" end)
    testing.test("has others", function(t)
      t:test("good", function() end)
      t:test("bad", function(t) t:equal(1, 2) end)
    end)
    testing.test("waits", function() nightjar.sleep(0.01) end)
    testing.test("is late", { timeout = 0.02 }, function() nightjar.sleep(60) end)
    testing.test("leaves a task", function() nightjar.spawn(nightjar.sleep, 60) end)
    testing.test("fails in cleanup", function(t) t:cleanup(error, "dirty") end)
  end)
  equal(summary.passed, 3)
  equal(summary.failed, 6)
  equal(summary.skipped, 2)
  equal(summary.exit, 1)
  equal(summary.ok, false)
end)

-- --- Files ---

local folder
testing.before(function() folder = nightjar.fs.temp_dir() end)
testing.after(function() folder:remove() end)

-- Writes a file to the folder of the case, and returns its path.
local function write(name, text)
  local path = folder.path .. "/" .. name
  nightjar.fs.write(path, text)
  return path
end
local function write_one()
  return write("one.lua", [[
    shared = "one"
    test("sees its own", function(t) t:equal(shared, "one") end)
    test("uses the module", function(t) t:truthy(nightjar.json) end)
  ]])
end
local function write_two()
  return write("two.lua", [[
    local testing = require "nightjar.testing"
    testing.test("sees nothing of the other", function(t) t:equal(shared, nil) end)
  ]])
end
local function write_broken() return write("broken.lua", "test('x', function() end") end
-- Runs the files, and returns the summary and the report.
local function run_files(files, options)
  local output = {}
  options.files, options.write = files, function(text) output[#output + 1] = text end
  local _, summary = run(function() end, options)
  return summary, table.concat(output)
end

testing.test("each file has its own globals, and a file that cannot be loaded fails", function()
  local files = {
    write_one(), write_two(), write_broken(), write("loose.lua", "error 'at the top'"), write("empty.lua", ""),
  }
  local summary, output = run_files(files, { format = "tap" })
  equal(summary.passed, 3)
  equal(summary.failed, 2)
  equal(summary.skipped, 1)
  equal(rawget(_G, "shared"), nil)
  equal(output:match "^TAP version 14\n" ~= nil, true)
  equal(output:match "ok 1 %- [^\n]*sees its own" ~= nil, true)
  equal(output:match "not ok 4 %- [^\n]*load\n  %-%-%-\n  message: |\n" ~= nil, true)
  equal(output:match "ok 6 %- [^\n]*# SKIP it contains no tests" ~= nil, true)
  equal(output:match "\n1%.%.6\n$" ~= nil, true)
end)

testing.test("a filter selects tests by name, and the readable report has one line for each", function()
  local summary, output = run_files({ write_one(), write_two() }, { filter = "its own", format = "readable" })
  equal(summary.passed, 1)
  equal(summary.exit, 0)
  equal(output:match "ok +[^\n]*: sees its own" ~= nil, true)
  equal(output:match "1 passed, 0 failed, 0 skipped" ~= nil, true)
end)

testing.test("the exit status is 1 if no test was run", function()
  equal(run_files({ write_one() }, { filter = "no such" }).exit, 1)
end)

testing.test("fail_fast stops at the first failure", function()
  equal(#run_files({ write_broken(), write_one() }, { fail_fast = true }).tests, 1)
end)

-- --- Cassettes instead of the network ---

local function cassette(name, path, title)
  return write(name, nightjar.json.encode {
    format = "nightjar-cassette", version = 1,
    exchanges = nightjar.array { {
      request = {
        method = "GET", url = "http://127.0.0.1:1" .. path, headers = { Authorization = "Bearer scrubbed-1" },
      },
      response = { status = 200, headers = { ["Content-Type"] = "application/json" }, json = { title = title } },
    } },
  })
end

-- Options that use other storage are ignored.
testing.test("with replay, each client has the next cassette, until the end of the test", function()
  cassette("first.json", "/a", "one")
  cassette("second.json", "/a", "two")
  local replaying = write("replaying.lua", [[
    test("replays", function(t)
      t:replay("first.json", "second.json")
      local options = {
        base_url = "http://127.0.0.1:1",
        cache = { disk = "1MB", path = "/nowhere" }, cookies = { file = "/nowhere/cookies" },
        auth = { type = "oauth2", token_url = "/token", client_id = "x", store = "file:/nowhere/tokens" },
      }
      local one, two = nightjar.client(options), nightjar.client(options)
      local mocked = nightjar.client {
        base_url = "http://mock.test", mock = { { path = "/", response = { json = { title = "mock" } } } },
      }
      t:equal(two:get("/a").json.title, "two")
      t:equal(one:get("/a").json.title, "one")
      t:equal(mocked:get("/").json.title, "mock")
      t:equal(options.cassette, nil)
      t:matches(t:raises("invalid_request", one.get, one, "/b").message, "has no exchange for GET")
      nightjar.client()
    end)
    test("has the network again", function(t)
      t:raises("connect", function() nightjar.client({ retry = { attempts = 1 } }):get "http://127.0.0.1:1/a" end)
    end)
  ]])
  local named, summary = run(function() end, { files = { replaying } })
  equal(summary.passed, 1)
  equal(named.replays.message:match "client 3 has no cassette; replay has only 2$" ~= nil, true)
end)

testing.test("invalid arguments raise an error", function()
  equal(message(function(t) t:replay(1) end), "replay: a path expected, got number")
  misuse("test: a function expected, got no value", testing.test, "x")
  misuse("test: a name expected, got number", testing.test, 1, function() end)
  misuse('run: format must be "readable", "tap" or "none", got "xml"', testing.run, { format = "xml" })
end)

assert(testing.run().ok, "a case failed")
