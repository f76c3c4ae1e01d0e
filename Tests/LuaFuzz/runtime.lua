-- The functions that the programs of generator.lua call. Every call may fail, and no failure ends the program: the goal
-- is to find invalid memory accesses.
local nightjar = require "nightjar"

-- The coroutine functions of the stock interpreter, which run.lua stores before nightjar replaces them.
local stock = STOCK_COROUTINE or coroutine
local runtime = {}

-- The maximum number of calls and finalizers per program, and the maximum call depth.
local FUEL, DEEPEST = 600, 12

-- Returns a runtime for one program, and a function that frees all its objects.
function runtime.new(seed)
  local R, fuel, depth = {}, FUEL, 0
  local pools = {
    task = {}, thread = {}, table = {}, channel = {}, limited = {}, list = {}, response = {}, hash = {}, pipe = {}, value = {},
    client = {}, iterator = {},
  }
  local state = seed

  -- A generator that is separate from math.random, because finalizers use it at any time.
  local function random(n)
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return (state >> 8) % n + 1
  end

  local function put(kind, value)
    local pool = pools[kind]
    if #pool < 20 then pool[#pool + 1] = value else pool[random(20)] = value end
    return value
  end
  local function pick(kind, number)
    local pool = pools[kind]
    if #pool == 0 then return nil end
    return number % 2 == 0 and pool[#pool] or pool[number % #pool + 1]
  end

  -- Runs f unless the program has used its fuel or reached the maximum depth.
  local function limited(f, ...)
    if fuel <= 0 or depth >= DEEPEST then return end
    fuel, depth = fuel - 1, depth + 1
    local results = table.pack(pcall(f, ...))
    depth = depth - 1
    if results[1] then return table.unpack(results, 2, results.n) end
    put("value", results[2])
  end

  -- A wait that cannot yield blocks everything below it on the C stack, so every wait has a timeout.
  local function bounded(f, ...) return nightjar.timeout(0.01, f, ...) end

  local function body(f) return function(...) return limited(f, ...) end end

  local function mutate(t)
    if type(t) ~= "table" then return end
    local how = random(6)
    if how == 1 then
      for key in next, t do rawset(t, key, nil) end
    elseif how == 2 then
      local _, value = next(t)
      for number = 1, 40 do rawset(t, "new" .. number .. "-" .. fuel, value or number) end
    elseif how == 3 then
      for number = 1, 20 do rawset(t, number, "item" .. number) end
    elseif how == 4 then
      local key = next(t)
      if key ~= nil then rawset(t, key, nil) end
      collectgarbage "step"
    elseif how == 5 then
      rawset(t, "x-" .. random(5), { "fresh" .. fuel })
    else
      for key, value in next, t do
        if type(value) == "table" then
          rawset(t, key, tostring(fuel) .. ("v"):rep(random(60)))
          break
        end
      end
    end
  end

  local function finalizer(f)
    if fuel > 0 then
      setmetatable({}, { __gc = function()
        for _, victim in ipairs(pools.table) do
          if random(2) == 1 then pcall(mutate, victim) end
        end
        if f then limited(f) end
      end })
    end
  end

  -- Returns a new string, long or short.
  local function text(number) return "t" .. fuel .. ("x"):rep(number % 70) end

  local function hostile(number, f)
    local t = {}
    for place = 1, number % 7 do t[text(place * 11)] = number % 2 == 0 and text(place * 7) or place end
    if number % 5 == 0 then
      for place = 1, 3 do t[place] = { text(place), text(place + 60) } end
    end
    put("table", t)
    if number % 3 == 0 then
      setmetatable(t, {
        __index = function(_, key)
          mutate(t)
          if f then limited(f, key) end
          if type(key) ~= "number" or key < 6 then return text(number) end
        end,
        __pairs = function() mutate(t) return next, t, nil end,
        __len = function() mutate(t) return 3 end,
        __gc = function() mutate(pick("table", number)) if f then limited(f) end end,
        __tostring = function() mutate(t) return text(number) end,
        __call = function() if f then return limited(f) end end,
      })
    end
    return t
  end

  local function some_table(number) return pick("table", number) or hostile(number) end

  local function api(number)
    local made = pick("client", number)
    if made then return made end
    return put("client", nightjar.client {
      base_url = "http://fuzz.test", retry = false, network = nil,
      mock = {
        { path = "/json", response = { json = { items = { 1, 2, { a = "b" } }, more = false } } },
        { path = "/text", response = { body = ("text "):rep(2000) } },
        { path = "/fail", response = 503 },
        { response = { status = 200, json = {} } },
      },
    })
  end

  local function call_options(number)
    local options = { query = some_table(number), headers = number % 2 == 0 and some_table(number + 1) or nil }
    options.timeout = number % 3 == 0 and { total = 0.05 } or 0.05
    if number % 11 == 0 then options.stream = true end
    if number % 13 == 0 then options.params = some_table(number + 2) end
    if number % 17 == 0 then options.expect = { 200, 503 } end
    put("table", options)
    return options
  end

  local paths = { "/json", "/text", "/fail", "/other" }

  local function define(name, f)
    R[name] = function(...) return limited(f, ...) end
  end

  -- --- Statements with functions ---

  define("spawn", function(n, f)
    put("task", nightjar.spawn(function(...)
      if n % 2 == 0 then put("thread", (coroutine.running())) end
      if n % 5 == 0 then error({ text(n) }, 0) end
      if n % 3 == 0 then nightjar.spawn(nightjar.sleep, 0) end -- the task ends after this child
      return limited(f, ...), text(n), {}, n, text(n + 40), nil
    end, text(3), {}))
    if n % 4 == 0 then nightjar.sleep(0) end
  end)
  -- Resumes or closes the coroutine of a task that runs, waits or has ended.
  define("steal", function(n, f)
    local thread
    local task = put("task", nightjar.spawn(function()
      thread = coroutine.running()
      if n % 3 == 0 then nightjar.spawn(nightjar.sleep, 0.001) end
      limited(f)
      if n % 5 == 0 then error({ text(n) }, 0) end
      return text(1), {}, function() return text(n) end, text(60), n
    end))
    nightjar.sleep(0)
    local first, second = n % 2 == 0 and coroutine or stock, n % 7 < 4 and coroutine or stock
    if thread and n % 11 < 8 then pcall(n % 4 < 2 and first.close or first.resume, thread, put, n, n) end
    if thread and n % 13 < 5 then pcall(n % 4 < 2 and second.resume or second.close, thread) end
    if n % 17 < 4 then collectgarbage() end
    return bounded(task.join, task)
  end)
  -- Runs a group in a coroutine that another task also resumes and closes.
  define("steal_group", function(n, f)
    local thread = coroutine.create(function()
      return nightjar.map({ 1, 2, 3, 4, 5 }, function(item) nightjar.sleep(0) limited(f) return item, {} end,
        { concurrency = n % 3 + 1, collect_errors = n % 2 == 0 })
    end)
    local waiter = put("task", nightjar.spawn(function() return select(2, coroutine.resume(thread)) end))
    put("task", nightjar.spawn(function()
      for turn = 1, 6 do
        pcall(turn % 3 == 2 and stock.resume or coroutine.resume, thread)
        nightjar.sleep(0)
        if turn == n % 7 then waiter:cancel() collectgarbage() end
        if turn == n % 11 then pcall(coroutine.close, thread) end
      end
    end))
    waiter = nil
    if n % 2 == 0 then nightjar.sleep(0) collectgarbage() end
  end)
  define("create", function(_, f) put("thread", coroutine.create(body(f))) end)
  define("wrap", function(_, f) return coroutine.wrap(body(f))() end)
  define("all", function(n, f) return nightjar.all { body(f), n % 2 == 0 and body(f) or nil } end)
  define("race", function(_, f) return nightjar.race { body(f), function() nightjar.sleep(0) return 1, 2, 3 end } end)
  define("map", function(n, f)
    local list = n % 3 == 0 and some_table(n) or { 1, 2, 3, text(n) }
    return nightjar.map(list, body(f), { concurrency = n % 3 + 1, collect_errors = n % 2 == 0 })
  end)
  define("timeout", function(n, f) return nightjar.timeout(n % 3 / 1000, body(f), n) end)
  define("closer", function(_, f)
    local value <close> = setmetatable({}, { __close = body(f) })
    nightjar.sleep(0)
    f()
  end)
  R.to_close = function(_, f) return setmetatable({}, { __close = body(f) }) end
  define("finalizer", function(n, f) for _ = 1, n % 4 + 1 do finalizer(f) end end)
  define("hostile", function(n, f) hostile(n, f) end)
  define("sort", function(_, f)
    local list = { 4, 2, 3, 1 }
    table.sort(list, function(a, b) limited(f) nightjar.sleep(0) return a < b end)
  end)
  define("gsub", function(_, f) return (("abc"):gsub(".", function() limited(f) return "z" end)) end)
  define("try", function(_, f) return nightjar.try(f) end)
  define("debounce", function(_, f) put("limited", nightjar.debounce(0.001, body(f))) end)
  define("throttle", function(_, f) put("limited", nightjar.throttle(0.001, body(f))) end)
  define("after", function(_, f) nightjar.timers.after(0.001, body(f)) end)
  define("hook", function(n, f)
    if not debug then return end
    local thread = pick("thread", n)
    local left = 2
    if thread then
      debug.sethook(thread, function() left = left - 1 if left > 0 then limited(f) end end, "", 7)
    end
  end)
  define("client", function(n, f)
    put("client", nightjar.client {
      base_url = "http://fuzz.test", retry = n % 2 == 0 and { attempts = 2, base = 0.0001 } or false, cache = n % 3 == 0,
      mock = { { response = n % 4 == 0 and body(f) or { json = { n } } } },
      before = n % 2 == 0 and function(request) limited(f, request) mutate(request.headers) end or nil,
      after = n % 3 == 0 and body(f) or nil,
      log = n % 5 == 0 and body(f) or nil,
    })
  end)
  define("route", function(_, f)
    put("client", nightjar.client {
      base_url = "http://fuzz.test", retry = false,
      mock = { { response = function() limited(f) nightjar.sleep(0) return { body = "x" } end } },
    })
  end)
  define("iterator", function(_, f)
    for value in coroutine.wrap(function() coroutine.yield(limited(f) or 1) nightjar.sleep(0) coroutine.yield(2) end) do
      put("value", value)
    end
  end)
  define("close_loop", function(_, f)
    for _ in function(_, last) if not last then return 1 end end, nil, nil, setmetatable({}, { __close = body(f) }) do f() end
  end)

  -- --- Other statements ---

  define("join", function(n) local task = pick("task", n) if task then return bounded(task.join, task) end end)
  define("cancel", function(n) local task = pick("task", n) if task then task:cancel() end end)
  define("running", function() put("thread", (coroutine.running())) end)
  define("resume", function(n, m) local thread = pick("thread", n) if thread then return coroutine.resume(thread, m, {}, nil) end end)
  define("close_thread", function(n) local thread = pick("thread", n) if thread then return coroutine.close(thread) end end)
  -- Uses functions that a script may have stored before nightjar was loaded.
  define("meddle", function(n, m)
    local thread = pick("thread", n)
    if thread then return (m % 2 == 0 and stock.resume or stock.close)(thread, put, m, m) end
  end)
  define("yield", function(n) return coroutine.yield(n, text(n)) end)
  define("sleep", function(n) nightjar.sleep(n % 4 == 0 and 0.001 or 0) end)
  define("collect", function(n) if n % 2 == 0 then collectgarbage() else collectgarbage("step", n % 10) end end)
  define("stress", function(n)
    if n % 3 == 0 then collectgarbage("incremental", 1, 1000, 4)
    elseif n % 3 == 1 then collectgarbage("generational", 5, 50)
    else collectgarbage("incremental", 100, 200, 13) end
  end)
  define("mutate", function(n) mutate(pick("table", n)) end)
  define("encode", function(n) return nightjar.json.encode(some_table(n), { pretty = n % 2 == 0 }) end)
  define("decode", function(n) return put("value", nightjar.json.decode('{"a":[1,2,"' .. text(n) .. '"],"b":{"c":null}}')) end)
  define("send", function(n, m)
    local channel = pick("channel", n) or put("channel", nightjar.channels.channel(n % 2))
    bounded(channel.send, channel, m)
  end)
  define("receive", function(n) local channel = pick("channel", n) if channel then return bounded(channel.receive, channel) end end)
  define("close_channel", function(n) local channel = pick("channel", n) if channel then channel:close() end end)
  define("select", function(n)
    local channel = pick("channel", n)
    if channel then return nightjar.channels.select { { channel }, timeout = 0.001 } end
  end)
  define("call_limited", function(n, m) local f = pick("limited", n) if f then f(m, text(m), {}) end end)
  define("flush_limited", function(n, m)
    local f = pick("limited", n)
    if f and m % 3 == 0 then f:cancel() elseif f then put("task", f:flush()) end
  end)
  define("get", function(n, m) put("response", api(n):get(paths[m % 4 + 1], call_options(m))) end)
  define("post", function(n, m)
    local options = call_options(m)
    local kind = n % 6
    if kind == 0 then options.json = some_table(n)
    elseif kind == 1 then options.form = some_table(n)
    elseif kind == 2 then options.multipart = some_table(n)
    elseif kind == 3 then options.multipart = { { name = text(n), value = text(m), filename = text(3) }, put("table", { name = "a" .. n, bytes = text(m) }) }
    elseif kind == 4 then
      local left = 3
      options.body = function() left = left - 1 if left > 0 then nightjar.sleep(0) return text(m) end end
    else options.body = text(m) end
    put("response", api(n):post(paths[m % 4 + 1], options))
  end)
  define("batch", function(n, m)
    local requests = { "/json", { path = "/text", query = some_table(n) }, { path = "/fail" }, concurrency = 2, collect_errors = m % 2 == 0 }
    put("table", requests)
    return bounded(function() return api(n):batch(requests) end)
  end)
  define("page", function(n, m)
    local options = put("table", { style = "page", items = "/items", max_pages = 3, query = some_table(m) })
    put("list", (api(n):paginate("/json", options)))
  end)
  define("take", function(n, m)
    local list = pick("list", n)
    if not list then return end
    if m % 3 == 0 then return bounded(list.take, list, m % 5) elseif m % 3 == 1 then return bounded(list) end
    bounded(function()
      for page in list:pages() do put("value", page.items) break end
    end)
  end)
  define("close_list", function(n) local list = pick("list", n) if list then list:close() end end)
  define("resume_list", function(n) local list = pick("list", n) if list then list:resume(list:state()) end end)
  define("chunks", function(n, m)
    local response = pick("response", n)
    if not response then return end
    if m % 4 == 0 then return response:close() end
    bounded(function()
      for part in response:chunks() do put("value", part) end
    end)
  end)
  define("close_client", function(n) local client = pick("client", n) if client then client:close() end end)
  -- Creates a client with a token provider for each scheme.
  define("options", function(n, m)
    local schemes = put("table", {})
    for place = 1, n % 5 do
      schemes["scheme" .. place] = put("table", { type = "bearer", provider = function() return text(m) end })
    end
    local options = {
      base_url = "http://fuzz.test", auth = put("table", { schemes = schemes }), retry = false, mock = { { response = 200 } },
    }
    put("table", options)
    local client = put("client", nightjar.client(options))
    if m % 3 == 0 then client:set_token { access_token = text(m), refresh_token = text(n), expires_in = n } end
    if m % 5 == 0 then put("value", client:limits()) end
  end)
  define("login", function(n, m)
    local client = nightjar.client {
      base_url = "http://fuzz.test", retry = false, mock = { { response = 401, times = 1 }, { response = 200 } },
      auth = { type = "bearer", provider = function() if m % 2 == 0 then nightjar.sleep(0) end return text(m), 10 end },
    }
    put("client", client)
    put("response", client:get("/", call_options(n)))
  end)
  define("hash", function(n, m)
    local hash = pick("hash", n) or put("hash", nightjar.hash.new("sha256", m % 2 == 0 and text(m) or nil))
    if m % 3 == 0 then return hash:finish(m % 2 == 0 and "base64" or "hex") end
    hash:update(text(m))
  end)
  local function pipes(n)
    if not nightjar.process then return nil end
    local pipe = pick("pipe", n)
    if pipe or n % 20 ~= 0 then return pipe end
    return put("pipe", nightjar.process.spawn { "cat", stdin = "pipe", stdout = "pipe" })
  end
  define("pipe_write", function(n, m)
    local child = pipes(n)
    if child then bounded(child.stdin.write, child.stdin, text(m)) end
  end)
  define("pipe_read", function(n, m)
    local child = pipes(n)
    if child then return nightjar.timeout(0.002, function() return child.stdout:read(m % 5 + 1) end) end
  end)
  define("pipe_close", function(n) local child = pipes(n) if child then child:close() end end)
  define("describe", function(n)
    for _, kind in ipairs { "task", "client", "list", "limited", "response", "value" } do
      local object = pick(kind, n)
      if object ~= nil then put("value", tostring(object)) end
    end
    local response = pick("response", n)
    if response then
      for name, value in pairs(response.headers) do put("value", name .. value) end
      put("value", response.headers.content_type)
      put("value", response:explain())
      put("value", response.timing)
      put("value", response:curl())
    end
    local value = pick("value", n)
    if type(value) == "userdata" then put("value", value.message) put("value", value.response) put("value", value.earlier) end
  end)
  define("error", function(n) error(n % 3 == 0 and { text(n) } or n % 3 == 1 and text(n) or n, 0) end)
  define("stash", function(n, m) pools.value[n % 20 + 1] = nil pools.table[m % 20 + 1] = nil pools.task[n % 9 + 1] = pools.task[#pools.task] end)
  define("cookies", function(n, m)
    local cookies = api(n).cookies
    if not cookies then return end
    cookies:set("http://fuzz.test/", "a" .. m .. "=b; Path=/")
    put("value", cookies:list())
    cookies:delete { name = "a" .. n }
  end)
  define("file", function(n, m)
    if not nightjar.fs then return end
    local file <close> = nightjar.fs.temp_file()
    nightjar.fs.write(file, text(n), { mode = m % 2 == 0 and 384 or nil })
    for line in nightjar.fs.lines(file) do put("value", line) end
  end)
  define("lines", function() if nightjar.fs then for line in nightjar.fs.lines "/dev/null" do put("value", line) end end end)
  define("build_query", function(n) return nightjar.url.build_query(some_table(n)) end)
  define("csv", function(n) return nightjar.csv.parse(text(n) .. ',"a""b",c\n1,2,3\n') end)
  function R.results(n)
    local list = {}
    for place = 1, n % 6 do list[place] = n % 2 == 0 and {} or text(place) end
    return table.unpack(list)
  end

  -- Releases all objects of the program.
  local function close()
    fuel = 0
    for _, kind in ipairs { "pipe", "list", "client" } do
      for _, object in pairs(pools[kind]) do pcall(function() object:close() end) end
    end
    for kind in pairs(pools) do pools[kind] = {} end
  end
  return R, close
end

return runtime
