-- Paginated lists: api:paginate, by item and by page. Needs the demo API.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse, fails = check.equal, check.misuse, check.fails

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin .. "/v1", retry = false }
local run = nightjar.idempotency_key()

-- A data set of this run: /v1/lists/{set}/{style}, with the identifiers 1000, 2000 and so on.
local sets = 0
local function set(style)
  sets = sets + 1
  return ("/lists/%s-%d/%s"):format(run, sets, style)
end
local function requested(path) return (api:get(origin .. "/__stats").json.paths["/v1" .. path] or { requests = 0 }).requests end
local function ids(items)
  local list = {}
  for place, item in ipairs(items) do list[place] = item.id // 1000 end
  return table.concat(list, " ")
end

-- Every style in a loop. Each item is returned once.
local styles = {
  page = { style = "page", items = "/results", size_param = "per_page", size = 10 },
  offset = { style = "offset", items = "/items", query = { limit = 10 } },
  cursor = { style = "cursor", items = "/results", next = "/next_cursor", query = { limit = 10 } },
  link = { style = "link", query = { limit = 10 } },
  next = { style = "next", items = "/value", next = "/next", query = { limit = 10 } },
  token = { style = "header", items = "/items", header = "X-Next-Token", request_header = "X-Token", query = { limit = 10 } },
}
for style, options in pairs(styles) do
  options.query = options.query or {}
  options.query.count = 35
  options.key = "/id"
  local path, count = set(style), 0
  for item in api:paginate(path, options) do
    count = count + 1
    equal(item.id, count * 1000)
    equal(item.name, "Item " .. count)
  end
  equal(count, 35)
  assert(requested(path) >= 4, style)
end

-- The guessed style and its explanation.
local list = api:paginate(set "cursor", { query = { count = 25, limit = 10 } })
equal(list.explanation, nil)
equal(#list:collect(), 25)
assert(list.explanation:find "^guessed: ", list.explanation)
equal(#list:collect(), 0)
equal(list(), nil)

-- take and the remaining items; pages; a page whose items were partly taken.
local options = { style = "cursor", items = "/results", next = "/next_cursor", query = { count = 25, limit = 10 } }
list = api:paginate(set "cursor", options)
equal(ids(list:take(3)), "1 2 3")
equal(ids(list:take(0)), "")
equal(list().id, 4000)
local numbers = {}
for page in list:pages() do
  numbers[#numbers + 1] = ("%d: %s"):format(page.number, ids(page.items))
  equal(page.response.status, 200)
end
equal(table.concat(numbers, "; "), "1: 5 6 7 8 9 10; 2: 11 12 13 14 15 16 17 18 19 20; 3: 21 22 23 24 25")
equal(#list:take(5), 0)

-- After leaving a loop, the list can be continued or restarted.
list = api:paginate(set "cursor", options)
for item in list do if item.id == 12000 then break end end
equal(list().id, 13000)
equal(list:refresh(), list)
equal(list().id, 1000)
equal(ids(list:collect()), "2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25")
equal(#list:refresh():collect(), 25)

-- A saved position is resumed by another list.
local path = set "cursor"
list = api:paginate(path, options)
list:take(13)
local state = list:state()
assert(not state:find "[^%w_-]", state)
options.resume = state
equal(ids(api:paginate(path, options):collect()), "14 15 16 17 18 19 20 21 22 23 24 25")
options.resume = nil
local other = api:paginate(path, options)
equal(other:take(1)[1].id, 1000)
equal(other:resume(state), other)
equal(other().id, 14000)
fails("invalid_argument", "the state was not created by a paginator, or it is damaged", other.resume, other, "nonsense")
equal(other().id, 15000)
other:collect()
equal(#api:paginate(path, { style = "cursor", items = "/results", next = "/next_cursor", query = { count = 25, limit = 10 },
  resume = other:state() }):collect(), 0)

-- Only the failed page is requested again when the loop continues.
path = set "cursor"
list = api:paginate(path, { style = "cursor", items = "/results", next = "/next_cursor", prefetch = 0,
  query = { count = 25, limit = 10, fail = 2, times = 1 } })
local seen = {}
local function loop() for item in list do seen[#seen + 1] = item end end
local err = fails("server", [[GET returned 503 Service Unavailable: "page 2 was configured to fail"]], loop)
equal(err.status, 503)
equal(#seen, 10)
loop()
equal(#seen, 25)
equal(requested(path), 4)

-- A list never ends silently.
fails("too_large", "the list has more than 2 pages (20 items so far); raise max_pages to continue",
  function() api:paginate(set "cursor", { query = { count = 25, limit = 10 }, max_pages = 2 }):collect() end)
fails("protocol", ('the list cannot be followed: its next page is at "http://127.0.0.2:1", not at "%s"; add it to allow_origins '
  .. "to follow it without credentials"):format(origin), function()
  api:paginate(set "next", { query = { count = 25, limit = 10, foreign = "http://127.0.0.2:1" } }):collect()
end)

-- A continuation function: it returns query items, a URL or the end. It can wait.
local ways = {
  function(page) return page.response.json.next_cursor ~= nightjar.null and { query = { cursor = page.response.json.next_cursor } } or nil end,
  function(page)
    nightjar.sleep(0.001)
    local cursor = page.response.json.next_cursor
    if cursor == nightjar.null then return end
    return "?count=25&limit=10&cursor=" .. cursor:gsub("+", "%%2B"):gsub("=", "%%3D")
  end,
}
for _, way in ipairs(ways) do
  list = api:paginate(set "cursor", { items = "/results", next = way, query = { count = 25, limit = 10 } })
  equal(#list:collect(), 25)
end
list = api:paginate(set "cursor", { items = "/results", next = function() error("not now", 0) end, query = { count = 3 } })
misuse("not now", list)
misuse("not now", list)
list = api:paginate(set "cursor", { items = "/results", next = function() return 7 end, query = { count = 3 } })
misuse("paginate: next must return nil, a URL or { query = {...} }, got number", list)
list = api:paginate(set "cursor", { items = "/results", next = function() return { qeury = {} } end, query = { count = 3 } })
misuse("paginate: next: unknown option 'qeury'; did you mean 'query'?", list)
-- The page that it receives is a copy. Changes to it have no effect.
for _, change in ipairs {
  function(page) page.items = nil end,
  function(page) page.items = "items" end,
  function(page) page.items = list end,
  function(page) page.items[2] = "mine" end,
  function(page) table.remove(page.items) end,
  function(page) page.items = nil setmetatable(page, { __index = function() error "asked" end }) end,
} do
  local options = { items = "/results", query = { count = 3 }, next = function(page) change(page) end }
  equal(ids(api:paginate(set "cursor", options):collect()), "1 2 3")
  list = api:paginate(set "cursor", options)
  equal(list().id, 1000)
  for page in list:pages() do equal(ids(page.items), "2 3") end
end
local function cursor(page)
  local cursor = page.response.json.next_cursor
  return cursor ~= nightjar.null and { query = { cursor = cursor, delay = 0 } } or nil
end
-- It is called once for each page, regardless of the number of tasks.
local asks = {}
list = api:paginate(set "cursor", { items = "/results", query = { count = 30, limit = 5 }, next = function(page)
  asks[#asks + 1] = page.number
  nightjar.sleep(0.005)
  return cursor(page)
end })
local given = {}
nightjar.map({ 1, 2, 3, 4 }, function() for item in list do given[#given + 1] = item end end)
table.sort(given, function(a, b) return a.id < b.id end)
equal(ids(given), "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30")
equal(table.concat(asks, " "), "1 2 3 4 5 6")
-- Its result applies only to its own page. It has no effect if the function restarts the list.
for _, begin in ipairs { function() list:refresh() end, function(state) list:resume(state) end } do
  local started, start
  list = api:paginate(set "cursor", { items = "/results", query = { count = 12, limit = 5 }, next = function(page)
    if page.number == 2 and not started then
      started = true
      begin(start)
    end
    return cursor(page)
  end })
  start = list:state()
  equal(ids(list:collect()), "1 2 3 4 5 1 2 3 4 5 6 7 8 9 10 11 12")
end
-- If it is cancelled or fails, the waiting tasks call it again. If the list is closed, they get an error.
for _, leave in ipairs { "cancel", "error", "close" } do
  local calls, go_on = 0, false
  list = api:paginate(set "cursor", { items = "/results", query = { count = 3 }, next = function()
    calls = calls + 1
    if calls > 1 then return end
    repeat nightjar.sleep(0.001) until go_on
    error("not now", 0)
  end })
  local first = nightjar.spawn(function() return list() end)
  repeat nightjar.sleep(0.001) until calls == 1
  local second = nightjar.spawn(function() return list() end)
  nightjar.sleep(0.002)
  equal(calls, 1)
  if leave == "cancel" then first:cancel() elseif leave == "close" then list:close() else go_on = true end
  if leave == "close" then
    fails("closed", "the list is closed", second.join, second)
    go_on = true
  else
    equal(second:join().id, 1000)
    equal(calls, 2)
  end
  if leave == "cancel" then fails("cancelled", "the task was cancelled", first.join, first)
  else misuse("not now", first.join, first) end
end
list = api:paginate(set "cursor", { items = "/results", query = { count = 3 }, next = function() list() end })
misuse("paginate: the next function must not take from its own list", list)

-- Many tasks take from one list. Each item is returned to one of them.
list = api:paginate(set "cursor", { items = "/results", next = "/next_cursor", query = { count = 200, limit = 10, delay = 1 } })
local got, total = {}, 0
nightjar.map({ 1, 2, 3, 4, 5 }, function()
  for item in list do
    assert(not got[item.id])
    got[item.id], total = true, total + 1
    nightjar.sleep(0.0005)
  end
end)
equal(total, 200)

-- Only one page is loaded in advance.
path = set "cursor"
list = api:paginate(path, { items = "/results", next = "/next_cursor", query = { count = 200, limit = 10 } })
list()
repeat nightjar.sleep(0.002) until requested(path) == 2
nightjar.sleep(0.02)
equal(requested(path), 2)
list:close()
list:close()
fails("closed", "the list is closed", list)
assert(tostring(list):find "%(closed%)$")

-- Leaving a loop closes its list, and wakes waiting tasks.
do
  local closing = api:paginate(set "cursor", { query = { count = 30, limit = 10, delay = 3000 } })
  local task = nightjar.spawn(function() return closing() end)
  nightjar.sleep(0.01)
  closing:close()
  fails("closed", "the list is closed", task.join, task)
end
for item in api:paginate(set "cursor", { query = { count = 30, limit = 10 } }) do break end
local task = nightjar.spawn(function()
  for item in api:paginate(set "cursor", { query = { count = 30, limit = 10, delay = 3000 } }) do error "no" end
end)
nightjar.sleep(0.02)
task:cancel()
fails("cancelled", "the task was cancelled", task.join, task)
-- A cancelled wait loses no page. The saved position is before a page that has arrived but was not taken.
list = api:paginate(set "cursor", { items = "/results", query = { count = 30, limit = 10, delay = 1000 }, next = cursor })
fails("timeout", "timeout: the function did not return within 0.01 seconds", nightjar.timeout, 0.01, list)
equal(#list:collect(), 30)
path = set "cursor"
options = { query = { count = 20, limit = 10, delay = 1000 } }
list = api:paginate(path, options)
fails("timeout", "timeout: the function did not return within 0.01 seconds", nightjar.timeout, 0.01, list)
repeat nightjar.sleep(0.01) until list.explanation
nightjar.sleep(0.05)
options.resume = list:state()
equal(api:paginate(path, options)().id, 1000)
equal(list().id, 1000)

-- Misuse.
misuse("paginate: path must be a string, got no value", function() api:paginate() end)
misuse("paginate: options must be a table, got number", function() api:paginate("/", 1) end)
misuse("paginate: unknown option 'nxt'; did you mean 'next'?", function() api:paginate("/", { nxt = "/x" }) end)
misuse("paginate: total_timeout must be between 0 and 3153600000 seconds, got -1", function() api:paginate("/", { total_timeout = -1 }) end)
misuse("paginate: total_timeout must be a number of seconds or false, got string", function() api:paginate("/", { total_timeout = "x" }) end)
misuse("paginate: unknown option 'timeuot'; did you mean 'timeout'?", function() api:paginate("/", { timeuot = 1 }) end)
misuse("paginate: option 'on_retry' is not supported for lists", function() api:paginate("/", { on_retry = print }) end)
misuse("paginate: option 'stream' is not supported for lists", function() api:paginate("/", { stream = true }) end)
misuse("paginate: resume must be a string from list:state(), got number", function() api:paginate("/", { resume = 1 }) end)
misuse("paginate: a next function requires style 'custom'; remove style, or set next to a JSON Pointer",
  function() api:paginate("/", { style = "page", next = print }) end)
misuse("paginate: query must be a table, got number", function() api:paginate("/", { query = 1 }) end)
fails("invalid_argument",
  'option "style" is "cursr"; it must be one of "guess", "page", "offset", "cursor", "link", "next", "header", "custom"',
  function() api:paginate("/", { style = "cursr" }) end)
misuse("a list has no field 'page'; did you mean 'pages'?", function() return list.page end)
misuse("bad argument #1 to 'take' (a non-negative number of items expected)", function() list:take(-1) end)

-- pages() also returns pages without items, so the response of an empty first page and a 304 are visible.
local function mocked(responses)
  local place = 0
  return nightjar.client { base_url = "http://lists.test", retry = false, mock = nightjar.mock { { path = "/list",
    response = function()
      place = place + 1
      return responses[place]
    end } } }
end
local function statuses(list)
  local reported = {}
  for page in list:pages() do reported[#reported + 1] = ("%d: %d items, %d"):format(page.number, #page.items, page.response.status) end
  return table.concat(reported, "; ")
end
local empty_first = { { json = { items = nightjar.array(), next_cursor = "a" } }, { json = { items = { 1, 2 }, next_cursor = "" } } }
equal(statuses(mocked(empty_first):paginate "/list"), "1: 0 items, 200; 2: 2 items, 200")
equal(#mocked(empty_first):paginate("/list"):collect(), 2)
equal(statuses(mocked { { json = nightjar.array() } }:paginate "/list"), "1: 0 items, 200")
equal(statuses(mocked { { status = 304 } }:paginate("/list", { headers = { ["If-None-Match"] = '"a"' } })), "1: 0 items, 304")
local mixed = mocked(empty_first):paginate "/list"
equal(mixed(), 1)
equal(statuses(mixed), "2: 1 items, 200")
-- Each page is returned once, regardless of the number of tasks.
local taken = mocked { { json = { items = nightjar.array(), next_cursor = "a" } }, { json = { items = nightjar.array(), next_cursor = "" } } }
  :paginate "/list"
equal(taken:pages()().number, 1)
equal(taken(), nil)
equal(taken:pages()(), nil)

-- A list never ends silently, and never loops forever.
local function aged(age) return { json = { chunk = { { id = 1, age = age } }, ["end"] = "t1" } } end
fails("protocol", "page 2 names itself as the next page, so the list would never end: the server ignores the query item "
  .. '"cursor" or repeats its cursors; set param to the query item that takes the cursor',
  function() mocked { aged(1), aged(2), aged(3) }:paginate("/list", { style = "cursor", next = "/end" }):collect() end)
fails("decoding", "the next page cannot be determined, although page 1 says that more items follow at \"/IsTruncated\"; set style and param",
  function() mocked { { json = { items = { 1 }, IsTruncated = true } } }:paginate("/list"):collect() end)
fails("invalid_argument", "style header requires the option header: the response field that names the next page",
  function() api:paginate("/", { style = "header" }) end)
fails("invalid_argument", 'request_header must be the name of a header field, got "a b"',
  function() api:paginate("/", { style = "header", header = "X", request_header = "a b" }) end)

-- scripts/examples/lua/registry.lua: the tags of a repository can be null.
local responses = {
  ["/v2/a/tags/list"] = { name = "a", tags = { "1", "2" } },
  ["/v2/b/tags/list"] = { name = "b", tags = nightjar.null },
}
local registry = {
  paginate = function() return { collect = function() return { "a", "b" } end } end,
  get = function(_, path) return { json = responses[path] } end,
}
local root = debug.getinfo(1, "S").source:match "^@(.-)Tests/Lua/[^/]*$"
local printed
package.loaded.nightjar = setmetatable({ client = function() return registry end }, { __index = nightjar })
local ok, why = pcall(assert(loadfile(root .. "scripts/examples/lua/registry.lua", "t",
  setmetatable({ print = function(text) printed = text end }, { __index = _G }))), "http://127.0.0.1")
package.loaded.nightjar = nightjar
assert(ok, why)
equal(printed, "2 repositories, 2 tags; a has 2")
