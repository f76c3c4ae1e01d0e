-- api:resource: loading, changes, reloads, writes and mutations. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse

-- Returns a client whose server has the value `n` of /value: GET returns it, PUT sets it.
local function server(options)
  local state = { n = 1, gets = 0 }
  options = options or {}
  options.base_url, options.retry = "http://api.test", false
  options.mock = nightjar.mock {
    { path = "/value", method = "GET",
      response = function()
        state.gets = state.gets + 1
        if state.delay then nightjar.sleep(state.delay) end
        if state.failing then return { status = 500 } end
        return { json = { n = state.n } }
      end },
    { path = "/value", method = "PUT",
      response = function(request)
        if state.rejecting then return { status = 422 } end
        state.n = request.json.n
        return { json = { n = state.n } }
      end },
    { path = "/value", method = "DELETE", response = function() return { status = 204 } end },
    { path = "/value/child", method = "POST", response = function() return { status = 201 } end },
    { path = "/other", method = "GET", response = function() return { json = { n = 100 } } end },
    { path = "/text", method = "GET", response = function() return { body = "plain" } end },
  }
  return nightjar.client(options), state
end

test("a resource is idle until it is observed", function(t)
  local api, state = server()
  local res = api:resource("/value")
  t:equal(res.snapshot.phase, "idle")
  t:equal(res.snapshot.data, nil)
  t:equal(state.gets, 0)
  for snapshot in res:changes() do
    if snapshot.phase == "loaded" then
      t:equal(snapshot.data, { n = 1 })
      t:equal(snapshot.response.status, 200)
      t:truthy(snapshot.updated_at > 1e9)
      break
    end
  end
  t:equal(state.gets, 1)
  t:equal(res.snapshot.data.n, 1)
end)

test("get returns the data, loaded once", function(t)
  local api, state = server()
  local res = api:resource("/value")
  t:equal(res:get(), { n = 1 })
  state.n = 2
  t:equal(res:get(), { n = 1 })
  t:equal(res:reload(), { n = 2 })
  t:equal(state.gets, 2)
  t:equal(api:resource("/text"):get(), "plain")
end)

test("resources that load at the same time share one request", function(t)
  local api, state = server()
  state.delay = 0.1
  local one, two = api:resource("/value"), api:resource("/value")
  local results = { nightjar.all { function() return one:get().n end, function() return two:get().n end } }
  t:equal(results, { 1, 1 })
  t:equal(state.gets, 1)
end)

test("an error keeps the data", function(t)
  local api, state = server()
  local res = api:resource("/value")
  res:get()
  state.failing = true
  local _, err = nightjar.try(res.reload, res)
  t:equal({ err.kind, err.status }, { "server", 500 })
  local snapshot = res.snapshot
  t:equal({ snapshot.phase, snapshot.data.n, snapshot.stale, snapshot.error.status }, { "failed", 1, true, 500 })
  state.failing = false
  t:equal(res:reload().n, 1)
  t:equal({ res.snapshot.phase, res.snapshot.stale, res.snapshot.error }, { "loaded", false })
end)

test("a write of the client reloads what is observed", function(t)
  local api = server()
  local res = api:resource("/value?part=1")
  local seen = {}
  for snapshot in res:changes() do
    if snapshot.phase == "loaded" then
      seen[#seen + 1] = snapshot.data.n
      if #seen == 2 then break end
      api:put("/value", { json = { n = 5 } })
    end
  end
  t:equal(seen, { 1, 5 })
end)

test("a write invalidates the resources with its tags", function(t)
  local api, state = server()
  local one, two = api:resource("/value", { tags = { "values", "all" } }), api:resource("/other", { tags = { "others" } })
  local function stale() return one.snapshot.stale, two.snapshot.stale end
  one:get()
  two:get()
  api:post("/value/child", { invalidates = {} })
  t:equal({ stale() }, { false, false })
  state.rejecting = true
  nightjar.try(api.put, api, "/value", { json = {}, invalidates = { "values", "others" } })
  api:get("/text", { invalidates = { "values", "others" } })
  t:equal({ stale() }, { false, false })
  api:post("/value/child", { invalidates = { "nothing", "all" } })
  t:equal({ stale() }, { true, false })
  for snapshot in one:changes() do
    if snapshot.phase == "loaded" and not snapshot.stale then break end
  end
  api:request { method = "DELETE", path = "/value", invalidates = { "others" } }
  t:equal({ stale() }, { true, true })
end)

test("a write below the path reloads by option, a tag by name", function(t)
  local api, state = server()
  local res = api:resource("/value", { reload_on = { "children" }, tags = { "values" } })
  for snapshot in res:changes() do
    if snapshot.phase == "loaded" then
      state.n = state.n + 1
      if state.n == 2 then api:post("/value/child")
      elseif state.n == 3 then api:invalidate("values")
      else break end
    end
  end
  t:equal(state.gets, 3)
end)

test("an interval reloads", function(t)
  local api, state = server()
  for snapshot in api:resource("/value", { reload_on = { 0.1 } }):changes() do
    if state.gets == 3 and snapshot.phase == "loaded" then break end
  end
  t:equal(state.gets, 3)
end)

test("the return of the network reloads", function(t)
  local api, state = server { allow_constrained = false }
  nightjar.network.set_constrained(true)
  for snapshot in api:resource("/value"):changes() do
    if snapshot.phase == "failed" then
      t:equal(snapshot.error.kind, "offline")
      nightjar.network.set_constrained(false)
    elseif snapshot.phase == "loaded" then break end
  end
  t:equal(state.gets, 1)
end)

test("a mutation shows its optimistic value", function(t)
  local api = server()
  local res = api:resource("/value")
  local seen = {}
  local watcher = nightjar.spawn(function()
    for snapshot in res:changes() do
      seen[#seen + 1] = snapshot.data and snapshot.data.n
      if snapshot.mutation then t:equal(snapshot.mutation, "saving") end
      if snapshot.phase == "loaded" and not snapshot.mutation and snapshot.data.n == 8 then break end
    end
  end)
  res:get()
  local response = res:mutate { json = { n = 8 }, optimistic = { n = 7 } }
  t:equal(response.json, { n = 8 })
  watcher:join()
  t:equal(seen[#seen], 8)
  t:truthy(table.concat(seen, ","):find("7", 1, true))
end)

test("a failed mutation restores the data", function(t)
  local api, state = server()
  local res = api:resource("/value")
  res:get()
  state.rejecting = true
  local _, err = nightjar.try(res.mutate, res, { json = { n = 8 }, optimistic = { n = 7 } })
  t:equal(err.status, 422)
  t:equal({ res.snapshot.data.n, res.snapshot.mutation, res.snapshot.error }, { 1 })
end)

test("a deleted resource has no data", function(t)
  local api = server()
  local res = api:resource("/value")
  res:get()
  t:equal(res:mutate({ method = "DELETE" }).status, 204)
  t:equal({ res.snapshot.phase, res.snapshot.data }, { "idle" })
end)

test("a new path replaces the data, or keeps it as stale", function(t)
  local api = server()
  local res = api:resource("/value", { keep_previous = true })
  res:get()
  res:set_path("/other", { query = { q = "x" } })
  t:equal(res:get(), { n = 100 })
  t:matches(res.snapshot.response.url, "/other%?q=x$")
end)

test("a burst of changes loads once", function(t)
  local api, state = server()
  local res = api:resource("/other", { debounce = 0.05 })
  local loads = 0
  for snapshot in res:changes() do
    if snapshot.phase == "loaded" then
      loads = loads + 1
      if loads == 2 then break end
      for i = 1, 5 do res:set_path("/value?i=" .. i) end
    end
  end
  t:equal(state.gets, 1)
  t:matches(res.snapshot.response.url, "i=5$")
end)

test("hooks run for each load", function(t)
  local paths = {}
  local api, state = server { before = function(request) paths[#paths + 1] = request.method .. " " .. request.path end }
  local res = api:resource("/value")
  res:get()
  res:reload()
  res:mutate { json = { n = 3 } }
  t:equal(paths, { "GET /value", "GET /value", "PUT /value" })
  t:equal(state.gets, 2)
end)

test("a hook cannot wait for the resource whose request it was called for", function(t)
  local res
  local api = server { before = function() res:get() end }
  res = api:resource("/value")
  t:matches(tostring(select(2, pcall(res.get, res))), "get: not available in a hook of a request of this resource")
end)

test("the error of a hook is raised", function(t)
  local api = server { before = function() error({ mine = true }) end }
  local ok, err = pcall(function() api:resource("/value"):get() end)
  t:equal({ ok, err.mine }, { false, true })
end)

test("closing ends the changes and the waits", function(t)
  local api = server()
  local res = api:resource("/value")
  local watcher = nightjar.spawn(function()
    local count = 0
    for _ in res:changes() do count = count + 1 end
    return count
  end)
  res:get()
  res:close()
  t:equal(math.type(watcher:join()), "integer")
  local _, err = nightjar.try(res.get, res)
  t:equal(err.kind, "closed")
  t:equal(res.snapshot.data.n, 1)
  local other = api:resource("/value")
  local waiting = nightjar.spawn(function() for _ in other:changes() do end end)
  other:get()
  api:close()
  waiting:join()
end)

test("a cancelled task stops its wait", function(t)
  local api = server()
  local res = api:resource("/value", { debounce = 60 })
  res:get()
  local watcher = nightjar.spawn(function() for _ in res:changes() do end end)
  nightjar.sleep(0.01)
  watcher:cancel()
  t:equal(pcall(watcher.join, watcher), false)
  t:equal(res:reload().n, 1)
end)

test("a function that cannot yield waits, too", function(t)
  local api, state = server()
  local res = api:resource("/value")
  local seen = {}
  string.gsub("x", "x", function()
    seen[1] = res:get().n
    state.n = 2
    seen[2] = res:reload().n
    seen[3] = res:mutate({ json = { n = 3 } }).json.n
    for snapshot in res:changes() do
      if snapshot.phase == "loaded" then seen[4] = snapshot.data.n break end
    end
  end)
  t:equal(seen, { 1, 2, 3, 3 })
end)

test("misuse has messages", function(t)
  local api = server()
  local res = api:resource("/value")
  local function refused(pattern, f, ...) t:matches(tostring(select(2, pcall(f, ...))), pattern) end
  misuse("resource: path must be a string, got number", function() api:resource(5) end)
  check.fails("invalid_argument", "option \"invalidates\" must be a list of strings, found a string",
    function() api:post("/value/child", { invalidates = "values" }) end)
  misuse("invalidate: tag must be a string, got number", function() api:invalidate(1) end)
  misuse("set_path: options must be a table, got number", function() res:set_path("/other", 1) end)
  misuse("mutate: stream is not supported", function() res:mutate { stream = true } end)
  refused("unknown option 'tagz'", function() api:resource("/value", { tagz = {} }) end)
  refused("debounce must be between 0 and 60 seconds, got 61", function() api:resource("/value", { debounce = 61 }) end)
  refused("at least 0.1 seconds, got 0", function() api:resource("/value", { reload_on = { 0 } }) end)
  refused('must be one of "network", "children"', function() api:resource("/value", { reload_on = { "always" } }) end)
  refused("must be safe and without a body, such as GET; got POST", function()
    api:resource("/value", { method = "POST" })
  end)
  refused("http or https", function() res:set_path("ftp://host/") end)
  refused("did you mean 'snapshot'", function() return res.snapshots end)
  t:equal(res:get().n, 1)
end)

assert(testing.run().ok, "a case failed")
