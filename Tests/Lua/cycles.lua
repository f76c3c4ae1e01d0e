-- Deadlocks between hooks and the tasks that wait for them are reported, in either order of waiting. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

local origin = DEMO or os.getenv "NIGHTJAR_DEMO_URL"
local run = nightjar.idempotency_key()
local function hooked(before, after)
  return nightjar.client { base_url = origin, retry = false, before = before, after = after }
end
local lists = 0
local function paginator_of(api, options)
  lists = lists + 1
  options = options or {}
  options.style, options.items, options.next, options.query = "cursor", "/results", "/next_cursor", { count = 3 }
  return api:paginate(("/v1/lists/%s-%d/cursor"):format(run, lists), options)
end

local through_a_task =
  "deadlock: a before or after hook waits for a task, which waits for the page or document that the hook was called for"

-- The task waits for the page, then its hook waits for the task.
local task, list
for _, place in ipairs { "before", "after" } do
  local function join() task:join() end
  list = paginator_of(hooked(place == "before" and join or nil, place == "after" and join or nil))
  task = nightjar.spawn(function() return list() end)
  misuse(through_a_task, task.join, task)
end

-- The reverse order, while other tasks run.
list = paginator_of(hooked(function() task:join() end))
task = nightjar.spawn(function()
  nightjar.sleep(0.01)
  return list()
end)
local ticker = nightjar.every(0.01, function() end)
misuse(through_a_task, list)
misuse(through_a_task, task.join, task)
ticker:cancel()

-- If the hook catches the error, it continues, and the page arrives.
local refused = false
list = paginator_of(hooked(function()
  local ok, why = pcall(task.join, task)
  refused = not ok and why:find "deadlock" ~= nil
end))
task = nightjar.spawn(function() return list() end)
equal(task:join().id, 1000)
equal(refused, true)

-- Through nested tasks, and through tasks of nightjar.all in the hook.
list = paginator_of(hooked(function() task:join() end))
task = nightjar.spawn(function() return nightjar.all { function() return list() end, function() nightjar.sleep(0.01) end } end)
misuse("deadlock: a before or after hook waits for a task, which waits for a child task, which waits for the page or document "
  .. "that the hook was called for", task.join, task)
list = paginator_of(hooked(function()
  nightjar.all { function() task:join() end, function() nightjar.sleep(0.01) end }
end))
task = nightjar.spawn(function() nightjar.spawn(function() return list() end) end)
misuse("deadlock: a before or after hook waits for a child task, which waits for a task, which waits for a child task, which "
  .. "waits for the page or document that the hook was called for", task.join, task)

-- Through the pages of another list.
local first, second, takes_first, takes_second
first = paginator_of(hooked(function() takes_second:join() end))
second = paginator_of(hooked(function() takes_first:join() end))
takes_first = nightjar.spawn(function() return first() end)
takes_second = nightjar.spawn(function() return second() end)
local through_two = "deadlock: a before or after hook waits for a task, which waits for a page or document, whose before or after hook "
  .. "waits for a task, which waits for the page or document that the hook was called for"
misuse(through_two, takes_first.join, takes_first)
misuse(through_two, takes_second.join, takes_second)

-- Through a channel, when no task that could send remains.
local channel = nightjar.channel(0)
list = paginator_of(hooked(function() channel:receive() end))
task = nightjar.spawn(function()
  list()
  channel:send(1)
end)
misuse("deadlock: a before or after hook waits for another task, and no task can continue", task.join, task)

-- Through a cycle of other tasks.
local one, other
list = paginator_of(hooked(function() one:join() end))
one = nightjar.spawn(function()
  nightjar.sleep(0)
  other:join()
end)
other = nightjar.spawn(function() one:join() end)
misuse("deadlock: a before or after hook waits for tasks that wait for each other", list)
one:cancel()
pcall(one.join, one)
pcall(other.join, other)

-- Loading of documents.
local loader
loader = hooked(function() task:join() end)
task = nightjar.spawn(function() return loader:load_openapi "url:/openapi.json" end)
misuse(through_a_task, task.join, task)

-- In a coroutine of the hook, and where it cannot yield.
list = paginator_of(hooked(function() coroutine.wrap(function() task:join() end)() end))
task = nightjar.spawn(function() return list() end)
misuse(through_a_task, function()
  local ok, why = pcall(task.join, task)
  assert(not ok)
  error(why:gsub("^.*(deadlock: )", "%1"), 0)
end)
list = paginator_of(hooked(function() ("x"):gsub("x", function() task:join() end) end))
task = nightjar.spawn(function() return list() end)
misuse(through_a_task, task.join, task)

-- Waits that can still end are allowed: for a message, for a page of another list, with a timeout.
list = paginator_of(hooked(function() equal(channel:receive(), "go on") end))
local sender = nightjar.after(0.02, function() channel:send "go on" end)
equal(#list:collect(), 3)
sender:join()
local plain = paginator_of(hooked(function() nightjar.sleep(0.01) end))
list = paginator_of(hooked(function() equal(nightjar.spawn(function() return plain:collect() end):join()[1].id, 1000) end))
equal(#list:collect(), 3)
list = paginator_of(hooked(function() pcall(task.join, task) end))
task = nightjar.spawn(function() return nightjar.timeout(0.02, function() return list() end) end)
fails("timeout", "timeout: the function did not return within 0.02 seconds", task.join, task)
equal(list().id, 1000)
