-- Deadlocks between hooks and the tasks that wait for them. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse, fails = check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local run = nightjar.idempotency_key()
local function hooked(before, after)
  return nightjar.client { base_url = origin, retry = false, before = before, after = after }
end
local claims = {}
local function case(name, f)
  claims[#claims + 1] = f
  testing.test(name, f)
end

local lists = 0
-- A paginator of a new list with three items. The hook is called for its page.
local function paginator_of(api, options)
  lists = lists + 1
  options = options or {}
  options.style, options.items, options.next, options.query = "cursor", "/results", "/next_cursor", { count = 3 }
  return api:paginate(("/v1/lists/%s-%d/cursor"):format(run, lists), options)
end

local through_a_task =
  "deadlock: a before or after hook waits for a task, which waits for the page or document that the hook was called for"

case("a deadlock is reported if the task waits for the page, then its hook waits for the task", function()
  for _, place in ipairs { "before", "after" } do
    local task
    local function join() task:join() end
    local list = paginator_of(hooked(place == "before" and join or nil, place == "after" and join or nil))
    task = nightjar.spawn(function() return list() end)
    misuse(through_a_task, task.join, task)
  end
end)

case("a deadlock is reported in the reverse order of waiting, while other tasks run", function()
  local task
  local list = paginator_of(hooked(function() task:join() end))
  task = nightjar.spawn(function()
    nightjar.sleep(0.01)
    return list()
  end)
  local ticker = nightjar.every(0.01, function() end)
  misuse(through_a_task, list)
  misuse(through_a_task, task.join, task)
  ticker:cancel()
  pcall(ticker.join, ticker)
end)

case("if the hook catches the error, it continues, and the page arrives", function(t)
  local task
  local refused = false
  local list = paginator_of(hooked(function()
    local ok, why = pcall(task.join, task)
    refused = not ok and why:find "deadlock" ~= nil
  end))
  task = nightjar.spawn(function() return list() end)
  t:equal(task:join().id, 1000)
  t:equal(refused, true)
end)

case("a deadlock is reported through nested tasks", function()
  local task
  local list = paginator_of(hooked(function() task:join() end))
  task = nightjar.spawn(function()
    return nightjar.all { function() return list() end, function() nightjar.sleep(0.01) end }
  end)
  misuse("deadlock: a before or after hook waits for a task, which waits for a child task, which waits for the page or "
    .. "document that the hook was called for", task.join, task)
end)

case("a deadlock is reported through tasks of nightjar.all in the hook", function()
  local task
  local list = paginator_of(hooked(function()
    nightjar.all { function() task:join() end, function() nightjar.sleep(0.01) end }
  end))
  task = nightjar.spawn(function() nightjar.spawn(function() return list() end) end)
  misuse("deadlock: a before or after hook waits for a child task, which waits for a task, which waits for a child "
    .. "task, which waits for the page or document that the hook was called for", task.join, task)
end)

case("a deadlock is reported through the pages of another list", function()
  local first, second, takes_first, takes_second
  first = paginator_of(hooked(function() takes_second:join() end))
  second = paginator_of(hooked(function() takes_first:join() end))
  takes_first = nightjar.spawn(function() return first() end)
  takes_second = nightjar.spawn(function() return second() end)
  local through_two = "deadlock: a before or after hook waits for a task, which waits for a page or document, "
    .. "whose before or after hook waits for a task, which waits for the page or document that the hook was called for"
  misuse(through_two, takes_first.join, takes_first)
  misuse(through_two, takes_second.join, takes_second)
end)

case("a deadlock is reported through a cycle of other tasks", function()
  local one, other
  local list = paginator_of(hooked(function() one:join() end))
  one = nightjar.spawn(function()
    nightjar.sleep(0)
    other:join()
  end)
  other = nightjar.spawn(function() one:join() end)
  misuse("deadlock: a before or after hook waits for tasks that wait for each other", list)
  one:cancel()
  pcall(one.join, one)
  pcall(other.join, other)
end)

case("a deadlock is reported for the loading of a document", function()
  local loader, task
  loader = hooked(function() task:join() end)
  task = nightjar.spawn(function() return loader:load_openapi "url:/openapi.json" end)
  misuse(through_a_task, task.join, task)
end)

case("a deadlock is reported in a coroutine of the hook", function(t)
  local task
  local list = paginator_of(hooked(function() coroutine.wrap(function() task:join() end)() end))
  task = nightjar.spawn(function() return list() end)
  misuse(through_a_task, function()
    local ok, why = pcall(task.join, task)
    t:equal(ok, false)
    error(why:gsub("^.*(deadlock: )", "%1"), 0)
  end)
end)

case("a deadlock is reported where the hook cannot yield", function()
  local task
  local list = paginator_of(hooked(function() ("x"):gsub("x", function() task:join() end) end))
  task = nightjar.spawn(function() return list() end)
  misuse(through_a_task, task.join, task)
end)

case("a hook can wait for a message", function(t)
  local channel = nightjar.channel(0)
  local list = paginator_of(hooked(function() t:equal(channel:receive(), "go on") end))
  local sender = nightjar.after(0.02, function() channel:send "go on" end)
  t:equal(#list:collect(), 3)
  sender:join()
end)

case("a hook can wait for a page of another list", function(t)
  local plain = paginator_of(hooked(function() nightjar.sleep(0.01) end))
  local list = paginator_of(hooked(function()
    t:equal(nightjar.spawn(function() return plain:collect() end):join()[1].id, 1000)
  end))
  t:equal(#list:collect(), 3)
end)

case("a hook can wait for the task if the task has a timeout", function(t)
  local task
  local list = paginator_of(hooked(function() pcall(task.join, task) end))
  task = nightjar.spawn(function() return nightjar.timeout(0.02, function() return list() end) end)
  fails("timeout", "timeout: the function did not return within 0.02 seconds", task.join, task)
  t:equal(list().id, 1000)
end)

assert(testing.run().ok, "a case failed")

-- A test has a time limit, whose timer can always expire, so this deadlock is detected only outside of tests: the hook
-- waits for a channel, and no task that could send remains.
do
  local channel = nightjar.channel(0)
  local list = paginator_of(hooked(function() channel:receive() end))
  local task = nightjar.spawn(function()
    list()
    channel:send(1)
  end)
  misuse("deadlock: a before or after hook waits for another task, and no task can continue", task.join, task)
end

-- Tests run in tasks. The claims must also hold on the main chunk, which cannot yield in stock Lua: each wait blocks.
local on_main_chunk = { equal = function(_, got, expected) check.equal(got, expected) end }
for _, claim in ipairs(claims) do claim(on_main_chunk) end
