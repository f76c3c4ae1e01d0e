-- Paginated lists: api:paginate, by item and by page. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local same = check.equal -- identity; t:equal compares tables by content

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local api = nightjar.client { base_url = origin .. "/v1", retry = false }
local run = nightjar.idempotency_key()

-- A data set of this run: /v1/lists/{set}/{style}, with the identifiers 1000, 2000 and so on.
local sets = 0
local function set(style)
  sets = sets + 1
  return ("/lists/%s-%d/%s"):format(run, sets, style)
end
-- The number of requests that the server has received for the path.
local function requested(path)
  return (api:get(origin .. "/__stats").json.paths["/v1" .. path] or { requests = 0 }).requests
end
-- The identifiers of the items, in thousands.
local function ids(items)
  local list = {}
  for place, item in ipairs(items) do list[place] = item.id // 1000 end
  return table.concat(list, " ")
end
-- The options of a list of 25 items in three pages.
local function three_pages(more)
  local options = { style = "cursor", items = "/results", next = "/next_cursor", query = { count = 25, limit = 10 } }
  for name, value in pairs(more or {}) do options[name] = value end
  return options
end

for _, options in ipairs {
  { style = "page", items = "/results", size_param = "per_page", size = 10, query = {} },
  { style = "offset", items = "/items", query = { limit = 10 } },
  { style = "cursor", items = "/results", next = "/next_cursor", query = { limit = 10 } },
  { style = "link", query = { limit = 10 } },
  { style = "next", items = "/value", next = "/next", query = { limit = 10 } },
  { style = "header", items = "/items", header = "X-Next-Token", request_header = "X-Token", query = { limit = 10 } },
} do
  test(("the style %s returns each item once"):format(options.style), function(t)
    options.query.count = 35
    options.key = "/id"
    -- The path of the demo API for the style header is "token".
    local path, count = set(options.style == "header" and "token" or options.style), 0
    for item in api:paginate(path, options) do
      count = count + 1
      t:equal(item.id, count * 1000)
      t:equal(item.name, "Item " .. count)
    end
    t:equal(count, 35)
    t:truthy(requested(path) >= 4, requested(path))
  end)
end

for style, options in pairs {
  header = { header = "X-Next-Token", items = "", body_param = "/page/token" },
  cursor = { items = "/data", next = "/next", body_param = "/after" },
} do
  test(("the style %s writes the position to the body of a POST"):format(style), function(t)
    local bodies = {}
    local function search(request)
      bodies[#bodies + 1] = request.body
      local number = #bodies
      local position = number < 3 and "p" .. number + 1 or nil
      if style == "header" then return { json = { number }, headers = { ["X-Next-Token"] = position } } end
      return { json = { data = { number }, next = position } }
    end
    local mocked = nightjar.client { base_url = "http://api.test", mock = { { method = "POST", path = "/s", response = search } } }
    options.style, options.method, options.json = style, "POST", { q = 1 }
    t:equal(mocked:paginate("/s", options):collect(), { 1, 2, 3 })
    local place = style == "header" and '"page":{"token":"%s"}' or '"after":"%s"'
    t:equal(#bodies, 3)
    t:equal(bodies[1], '{"q":1}')
    for number = 2, 3 do
      t:truthy(bodies[number]:find('"q":1', 1, true), bodies[number])
      t:truthy(bodies[number]:find(place:format("p" .. number), 1, true), bodies[number])
    end
  end)
end

test("the guessed style is explained", function(t)
  local list = api:paginate(set "cursor", { query = { count = 25, limit = 10 } })
  t:equal(list.explanation, nil)
  t:equal(#list:collect(), 25)
  t:matches(list.explanation, "^guessed: ")
  t:equal(#list:collect(), 0)
  t:equal(list(), nil)
end)

test("take returns items, and pages then returns the remaining items of the current page first", function(t)
  local list = api:paginate(set "cursor", three_pages())
  t:equal(ids(list:take(3)), "1 2 3")
  t:equal(ids(list:take(0)), "")
  t:equal(list().id, 4000)
  local numbers = {}
  for page in list:pages() do
    numbers[#numbers + 1] = ("%d: %s"):format(page.number, ids(page.items))
    t:equal(page.response.status, 200)
  end
  t:equal(table.concat(numbers, "; "), "1: 5 6 7 8 9 10; 2: 11 12 13 14 15 16 17 18 19 20; 3: 21 22 23 24 25")
  t:equal(#list:take(5), 0)
end)

test("after leaving a loop, the list can be continued or restarted", function(t)
  local list = api:paginate(set "cursor", three_pages())
  for item in list do if item.id == 12000 then break end end
  t:equal(list().id, 13000)
  same(list:refresh(), list)
  t:equal(list().id, 1000)
  t:equal(ids(list:collect()), "2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25")
  t:equal(#list:refresh():collect(), 25)
end)

test("a saved position is resumed by another list", function(t)
  local path = set "cursor"
  local list = api:paginate(path, three_pages())
  list:take(13)
  local state = list:state()
  t:truthy(not state:find "[^%w_-]", state)
  local resumed = api:paginate(path, three_pages { resume = state })
  t:equal(ids(resumed:collect()), "14 15 16 17 18 19 20 21 22 23 24 25")
  local other = api:paginate(path, three_pages())
  t:equal(other:take(1)[1].id, 1000)
  same(other:resume(state), other)
  t:equal(other().id, 14000)
  fails("invalid_argument", "the state was not created by a paginator, or it is damaged",
    other.resume, other, "nonsense")
  t:equal(other().id, 15000)
  other:collect()
  t:equal(#api:paginate(path, three_pages { resume = other:state() }):collect(), 0)
end)

test("only the failed page is requested again when the loop continues", function(t)
  local path = set "cursor"
  local query = { count = 25, limit = 10, fail = 2, times = 1 }
  local list = api:paginate(path, three_pages { prefetch = 0, query = query })
  local seen = {}
  local function loop() for item in list do seen[#seen + 1] = item end end
  local err = fails("server", [[GET returned 503 Service Unavailable: "page 2 was configured to fail"]], loop)
  t:equal(err.status, 503)
  t:equal(#seen, 10)
  loop()
  t:equal(#seen, 25)
  t:equal(requested(path), 4)
end)

test("a list with more pages than max_pages raises an error", function()
  fails("too_large", "the list has more than 2 pages (20 items so far); raise max_pages to continue",
    function() api:paginate(set "cursor", { query = { count = 25, limit = 10 }, max_pages = 2 }):collect() end)
end)

test("a next page of another origin raises an error", function()
  fails("protocol", ('the list cannot be followed: its next page is at "http://127.0.0.2:1", not at "%s"; add '
    .. "this origin to allow_origins to follow the list without credentials"):format(origin), function()
    api:paginate(set "next", { query = { count = 25, limit = 10, foreign = "http://127.0.0.2:1" } }):collect()
  end)
end)

-- A list whose next pages the function determines.
local function continued(query, next)
  return api:paginate(set "cursor", { items = "/results", next = next, query = query })
end

test("a next function returns query items, or nil at the end", function(t)
  local list = continued({ count = 25, limit = 10 }, function(page)
    local cursor = page.response.json.next_cursor
    return cursor ~= nightjar.null and { query = { cursor = cursor } } or nil
  end)
  t:equal(#list:collect(), 25)
end)

test("a next function can wait, and return a URL", function(t)
  local list = continued({ count = 25, limit = 10 }, function(page)
    nightjar.sleep(0.001)
    local cursor = page.response.json.next_cursor
    if cursor == nightjar.null then return end
    return "?count=25&limit=10&cursor=" .. cursor:gsub("+", "%%2B"):gsub("=", "%%3D")
  end)
  t:equal(#list:collect(), 25)
end)

test("an error of a next function is raised for each caller", function()
  local list = continued({ count = 3 }, function() error("not now", 0) end)
  misuse("not now", list)
  misuse("not now", list)
end)

test("an invalid result of a next function is an error", function()
  local list = continued({ count = 3 }, function() return 7 end)
  misuse("paginate: next must return nil, a URL or { query = {...} }, got number", list)
  list = continued({ count = 3 }, function() return { qeury = {} } end)
  misuse("paginate: next: unknown option 'qeury'; did you mean 'query'?", list)
end)

test("the page that a next function receives is a copy", function(t)
  local other = api:paginate(set "cursor")
  for _, change in ipairs {
    function(page) page.items = nil end,
    function(page) page.items = "items" end,
    function(page) page.items = other end,
    function(page) page.items[2] = "mine" end,
    function(page) table.remove(page.items) end,
    function(page) page.items = nil setmetatable(page, { __index = function() error "asked" end }) end,
  } do
    local function next(page) change(page) end
    t:equal(ids(continued({ count = 3 }, next):collect()), "1 2 3")
    local list = continued({ count = 3 }, next)
    t:equal(list().id, 1000)
    for page in list:pages() do t:equal(ids(page.items), "2 3") end
  end
end)

-- A next function.
local function cursor(page)
  local cursor = page.response.json.next_cursor
  return cursor ~= nightjar.null and { query = { cursor = cursor, delay = 0 } } or nil
end

test("a next function is called once for each page, regardless of the number of tasks", function(t)
  local calls = {}
  local list = continued({ count = 30, limit = 5 }, function(page)
    calls[#calls + 1] = page.number
    nightjar.sleep(0.005)
    return cursor(page)
  end)
  local given = {}
  nightjar.map({ 1, 2, 3, 4 }, function() for item in list do given[#given + 1] = item end end)
  table.sort(given, function(a, b) return a.id < b.id end)
  t:equal(ids(given), "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30")
  t:equal(table.concat(calls, " "), "1 2 3 4 5 6")
end)

test("the result of a next function has no effect if the function restarts the list", function(t)
  local list
  for _, begin in ipairs { function() list:refresh() end, function(state) list:resume(state) end } do
    local started, start
    list = continued({ count = 12, limit = 5 }, function(page)
      if page.number == 2 and not started then
        started = true
        begin(start)
      end
      return cursor(page)
    end)
    start = list:state()
    t:equal(ids(list:collect()), "1 2 3 4 5 1 2 3 4 5 6 7 8 9 10 11 12")
  end
end)

-- Two tasks wait for the first page, whose next function runs for the first task. It raises an error when `state.ended`
-- is set.
local function two_waiting(t)
  local state = { calls = 0, ended = false }
  state.list = continued({ count = 3 }, function()
    state.calls = state.calls + 1
    if state.calls > 1 then return end
    repeat nightjar.sleep(0.001) until state.ended
    error("not now", 0)
  end)
  state.first = nightjar.spawn(function() return state.list() end)
  repeat nightjar.sleep(0.001) until state.calls == 1
  state.second = nightjar.spawn(function() return state.list() end)
  nightjar.sleep(0.002)
  t:equal(state.calls, 1)
  return state, state.first, state.second
end

test("if a next function is cancelled, the waiting tasks call it again", function(t)
  local state, first, second = two_waiting(t)
  first:cancel()
  t:equal(second:join().id, 1000)
  t:equal(state.calls, 2)
  fails("cancelled", "the task was cancelled", first.join, first)
end)

test("if a next function fails, the waiting tasks call it again", function(t)
  local state, first, second = two_waiting(t)
  state.ended = true
  t:equal(second:join().id, 1000)
  t:equal(state.calls, 2)
  misuse("not now", first.join, first)
end)

test("if the list is closed during a next function, the waiting tasks get an error", function(t)
  local state, first, second = two_waiting(t)
  state.list:close()
  fails("closed", "the list is closed", second.join, second)
  state.ended = true
  misuse("not now", first.join, first)
end)

test("a next function must not take from its own list", function()
  local list
  list = continued({ count = 3 }, function() list() end)
  misuse("paginate: the next function must not take from its own list", list)
end)

test("many tasks take from one list, and each item is returned to one of them", function(t)
  local list = continued({ count = 200, limit = 10, delay = 1 }, "/next_cursor")
  local got, total = {}, 0
  nightjar.map({ 1, 2, 3, 4, 5 }, function()
    for item in list do
      t:truthy(not got[item.id])
      got[item.id], total = true, total + 1
      nightjar.sleep(0.0005)
    end
  end)
  t:equal(total, 200)
end)

test("only one page is loaded in advance", function(t)
  local path = set "cursor"
  local list = api:paginate(path, { items = "/results", next = "/next_cursor", query = { count = 200, limit = 10 } })
  list()
  t:cleanup(list.close, list)
  repeat nightjar.sleep(0.002) until requested(path) == 2
  nightjar.sleep(0.02)
  t:equal(requested(path), 2)
end)

test("a list can be closed twice, and then returns no items", function(t)
  local list = api:paginate(set "cursor", three_pages())
  list()
  list:close()
  list:close()
  fails("closed", "the list is closed", list)
  t:matches(tostring(list), "%(closed%)$")
end)

test("closing a list wakes waiting tasks", function()
  local closing = api:paginate(set "cursor", { query = { count = 30, limit = 10, delay = 3000 } })
  local task = nightjar.spawn(function() return closing() end)
  nightjar.sleep(0.01)
  closing:close()
  fails("closed", "the list is closed", task.join, task)
end)

test("a loop over a list can be left, and can be cancelled", function()
  for _ in api:paginate(set "cursor", { query = { count = 30, limit = 10 } }) do break end
  local task = nightjar.spawn(function()
    for _ in api:paginate(set "cursor", { query = { count = 30, limit = 10, delay = 3000 } }) do error "no" end
  end)
  nightjar.sleep(0.02)
  task:cancel()
  fails("cancelled", "the task was cancelled", task.join, task)
end)

test("a cancelled wait loses no page", function(t)
  local list = continued({ count = 30, limit = 10, delay = 1000 }, cursor)
  fails("timeout", "timeout: the function did not return within 0.01 seconds", nightjar.timeout, 0.01, list)
  t:equal(#list:collect(), 30)
end)

test("the saved position is before a page that has arrived but was not taken", function(t)
  local path = set "cursor"
  local options = { query = { count = 20, limit = 10, delay = 1000 } }
  local list = api:paginate(path, options)
  fails("timeout", "timeout: the function did not return within 0.01 seconds", nightjar.timeout, 0.01, list)
  repeat nightjar.sleep(0.01) until list.explanation
  nightjar.sleep(0.05)
  options.resume = list:state()
  t:equal(api:paginate(path, options)().id, 1000)
  t:equal(list().id, 1000)
end)

test("invalid arguments raise an error", function()
  local list = api:paginate "/list"
  misuse("paginate: path must be a string, got no value", function() api:paginate() end)
  misuse("paginate: options must be a table, got number", function() api:paginate("/", 1) end)
  misuse("paginate: unknown option 'nxt'; did you mean 'next'?", function() api:paginate("/", { nxt = "/x" }) end)
  misuse("paginate: total_timeout must be between 0 and 3153600000 seconds, got -1",
    function() api:paginate("/", { total_timeout = -1 }) end)
  misuse("paginate: total_timeout must be a number of seconds or false, got string",
    function() api:paginate("/", { total_timeout = "x" }) end)
  misuse("paginate: unknown option 'timeuot'; did you mean 'timeout'?",
    function() api:paginate("/", { timeuot = 1 }) end)
  misuse("paginate: option 'on_retry' is not supported for lists",
    function() api:paginate("/", { on_retry = print }) end)
  misuse("paginate: option 'stream' is not supported for lists", function() api:paginate("/", { stream = true }) end)
  misuse("paginate: resume must be a string from list:state(), got number",
    function() api:paginate("/", { resume = 1 }) end)
  misuse("paginate: a next function requires style 'custom'; remove style, or set next to a JSON Pointer",
    function() api:paginate("/", { style = "page", next = print }) end)
  misuse("paginate: query must be a table, got number", function() api:paginate("/", { query = 1 }) end)
  fails("invalid_argument",
    'option "style" is "cursr"; it must be one of "guess", "page", "offset", "cursor", "link", "next", "header", '
      .. '"custom"',
    function() api:paginate("/", { style = "cursr" }) end)
  misuse("a list has no field 'page'; did you mean 'pages'?", function() return list.page end)
  misuse("bad argument #1 to 'take' (a non-negative number of items expected)", function() list:take(-1) end)
end)

-- A client whose mock returns these responses in order.
local function mocked(responses)
  local place = 0
  local function response()
    place = place + 1
    return responses[place]
  end
  return nightjar.client {
    base_url = "http://lists.test", retry = false, mock = nightjar.mock { { path = "/list", response = response } },
  }
end
local function statuses(list)
  local reported = {}
  for page in list:pages() do
    reported[#reported + 1] = ("%d: %d items, %d"):format(page.number, #page.items, page.response.status)
  end
  return table.concat(reported, "; ")
end
local empty_first = {
  { json = { items = nightjar.array(), next_cursor = "a" } }, { json = { items = { 1, 2 }, next_cursor = "" } },
}

test("pages also returns pages without items: an empty first page and a 304", function(t)
  t:equal(statuses(mocked(empty_first):paginate "/list"), "1: 0 items, 200; 2: 2 items, 200")
  t:equal(#mocked(empty_first):paginate("/list"):collect(), 2)
  t:equal(statuses(mocked { { json = nightjar.array() } }:paginate "/list"), "1: 0 items, 200")
  local unchanged = mocked { { status = 304 } }:paginate("/list", { headers = { ["If-None-Match"] = '"a"' } })
  t:equal(statuses(unchanged), "1: 0 items, 304")
end)

test("pages returns the rest of a page whose first item was taken after an empty page", function(t)
  local mixed = mocked(empty_first):paginate "/list"
  t:equal(mixed(), 1)
  t:equal(statuses(mixed), "2: 1 items, 200")
end)

test("each page is returned once, regardless of the number of tasks", function(t)
  local taken = mocked {
    { json = { items = nightjar.array(), next_cursor = "a" } },
    { json = { items = nightjar.array(), next_cursor = "" } },
  }:paginate "/list"
  t:equal(taken:pages()().number, 1)
  t:equal(taken(), nil)
  t:equal(taken:pages()(), nil)
end)

test("a list that would never end raises an error", function()
  local function aged(age) return { json = { chunk = { { id = 1, age = age } }, ["end"] = "t1" } } end
  local list = mocked { aged(1), aged(2), aged(3) }:paginate("/list", { style = "cursor", next = "/end" })
  fails("protocol", "page 2 names itself as the next page, so the list would never end: the server ignores the query "
    .. 'item "cursor" or repeats its cursors; set param to the query item that takes the cursor', list.collect, list)
end)

test("a list whose next page cannot be determined raises an error", function()
  fails("decoding", "the next page cannot be determined, although page 1 says at "
    .. '"/IsTruncated" that more items follow; set style and param',
    function() mocked { { json = { items = { 1 }, IsTruncated = true } } }:paginate("/list"):collect() end)
end)

test("a response header has the URL of the next page", function(t)
  local list = api:paginate(set "link", { next_header = "X-Next-Page", key = "/id",
    query = { count = 25, limit = 10, next_header = "X-Next-Page", links = "query" } })
  t:equal(#list:collect(), 25)
  local foreign = api:paginate(set "link", { next_header = "X-Next-Page",
    query = { count = 25, limit = 10, next_header = "X-Next-Page", foreign = "http://127.0.0.1:1" } })
  local _, err = nightjar.try(foreign.collect, foreign)
  t:equal(err.kind, "protocol")
  t:truthy(err.message:find("add this origin to allow_origins", 1, true), err.message)
  fails("invalid_argument", "only one of next_header and param may be set",
    function() api:paginate("/", { next_header = "X-Next", param = "page" }) end)
end)

test("invalid options of the style header raise an error", function()
  fails("invalid_argument", "style header requires the option header: the name of the field with the next page",
    function() api:paginate("/", { style = "header" }) end)
  fails("invalid_argument", 'request_header must be the name of a header field, got "a b"',
    function() api:paginate("/", { style = "header", header = "X", request_header = "a b" }) end)
end)

test("the example registry.lua accepts a repository whose tags are null", function(t)
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
  t:truthy(ok, why)
  t:equal(printed, "2 repositories, 2 tags; a has 2")
end)

assert(testing.run().ok, "a case failed")
