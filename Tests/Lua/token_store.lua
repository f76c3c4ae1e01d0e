-- The option token_store: functions that load, save and delete the records of logins. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse

local origin = os.getenv "NIGHTJAR_DEMO_URL"
local plain = nightjar.client { base_url = origin }

-- The counts of the server start at zero in each case.
testing.before(function() plain:post("/__control", { json = { reset = true } }) end)
local function counts() return plain:get("/__stats").json.auth end

-- A store in memory that counts its operations. `change` may replace its functions.
local function new_store(change)
  local store = { records = {}, loads = 0, saves = 0, deletes = 0 }
  store.functions = {
    load = function(key)
      store.loads = store.loads + 1
      return store.records[key]
    end,
    save = function(key, record)
      store.saves = store.saves + 1
      store.records[key] = record
    end,
    delete = function(key)
      store.deletes = store.deletes + 1
      store.records[key] = nil
    end,
  }
  for name, f in pairs(change or {}) do store.functions[name] = f end
  return store
end

local function client(functions, options)
  options = options or {}
  options.base_url, options.token_store, options.proxy = origin, functions, false
  options.auth = {
    type = "login", url = "/v1/auth/login", json = { email = "ada@example.org", password = "moonlight" },
    access_token_pointer = "/access_token", refresh_token_pointer = "/refresh_token", lifetime = "/expires_in",
    refresh = { url = "/v1/auth/refresh" }, store = "host:main",
  }
  return nightjar.client(options)
end

local function me(api, options) return api:get("/v1/me", options).json.handle end

local function failure(api, options)
  local _, err = nightjar.try(api.get, api, "/v1/me", options)
  assert(err, "the call succeeded")
  return err
end

test("a login is kept in the store, and a logout deletes its record", function(t)
  local store = new_store()
  local first = client(store.functions)
  t:equal(me(first), "ada")
  t:truthy(store.loads > 0 and store.saves > 0)
  t:equal(math.type(#store.records.main), "integer")
  first:close()
  local saves = store.saves
  local second <close> = client(store.functions)
  local third <close> = client(store.functions)
  t:equal(me(second), "ada")
  t:equal(me(third), "ada")
  t:equal(store.saves, saves)
  t:equal(counts().logins, 1)
  second:log_out()
  t:equal(store.deletes, 1)
  t:equal(store.records.main, nil)
  t:equal(failure(second).kind, "unauthorized")
  plain:post("/__control", { json = { expire_access_tokens = true } })
  t:equal(failure(third).kind, "unauthorized", "the other client adopts the logout")
end)

test("clients with the same table share each token refresh", function(t)
  local store = new_store()
  store.functions.load = function(key)
    nightjar.sleep(0.005)
    return store.records[key]
  end
  local clients = {}
  for place = 1, 4 do clients[place] = client(store.functions) end
  local function all() return nightjar.map(clients, function(api) return me(api) end, { concurrency = 4 }) end
  local handles = all()
  t:equal(handles, { "ada", "ada", "ada", "ada" })
  t:equal(counts().logins, 1)
  plain:post("/__control", { json = { expire_access_tokens = true } })
  t:equal(all(), handles)
  t:equal(counts().refreshes, 1)
  t:equal(counts().refresh_reuses, 0)
  for _, api in ipairs(clients) do api:close() end
end)

test("the functions may wait and use files and other clients", function(t)
  local folder <close> = nightjar.fs.temp_dir()
  local function path(key) return folder.path .. "/" .. key end
  local functions = {
    load = function(key)
      plain:get "/echo"
      return nightjar.fs.exists(path(key)) and nightjar.fs.read(path(key)) or nil
    end,
    save = function(key, record) return nightjar.fs.write(path(key), record) end,
    delete = function(key) return nightjar.fs.remove(path(key)) end,
  }
  for _ = 1, 2 do
    local api <close> = client(functions)
    t:equal(me(api), "ada")
  end
  t:equal(counts().logins, 1)
  local api <close> = client(functions)
  api:log_out()
  t:equal(nightjar.fs.exists(path "main"), false)
end)

test("errors and invalid results of load fail the call", function(t)
  for message, load in pairs {
    ["the keychain is locked"] = function() return nil, "the keychain is locked" end,
    ["no luck"] = function() error("no luck", 0) end,
    ["token_store.load must return a string, nil, or nil and a message, got table"] = function() return {} end,
    ["the record must have at most 1 MiB, got 1048577 bytes"] = function() return ("x"):rep(1048577) end,
  } do
    local store = new_store { load = load }
    local api <close> = client(store.functions)
    local err = failure(api)
    t:equal(err.kind, "storage", err.message)
    t:truthy(err.message:find('loading the login in the token host store "main" failed: ' .. message, 1, true), err.message)
    t:equal(store.saves, 0)
  end
  local store = new_store { load = function() return "junk" end }
  local api <close> = client(store.functions)
  t:matches(failure(api).message, 'the token host store "main" is not a token store and was not changed')
end)

test("a token that cannot be saved is used, and no token is logged", function(t)
  local lines, saved = {}, nil
  local store = new_store { save = function(_, record)
    saved = record
    return nil, "the disk is full"
  end }
  local api <close> = client(store.functions, { log = { level = "debug", write = function(_, line) lines[#lines + 1] = line end } })
  t:equal(me(api), "ada")
  nightjar.sleep(0.02)
  local text = table.concat(lines, "\n")
  t:truthy(text:find('saving the login in the token host store "main" failed: the disk is full', 1, true), text)
  local token = saved:match '"access_token":"([^"]+)"' or saved:match "at_[%w_]+"
  t:truthy(token == nil or not text:find(token, 1, true))
  for secret in saved:gmatch "[%w_%-%.]+" do
    if #secret >= 16 then t:equal(text:find(secret, 1, true), nil, "the log has a part of the record") end
  end
end)

test("a logout that cannot be saved fails", function(t)
  local store = new_store()
  local api <close> = client(store.functions)
  t:equal(me(api), "ada")
  store.functions.delete = function() return false, "read-only" end
  local _, err = nightjar.try(api.log_out, api)
  t:equal(err.kind, "storage")
  t:matches(err.message, 'deleting the login in the token host store "main" failed: read%-only')
  store.functions.delete = function() return false end
  _, err = nightjar.try(api.log_out, api)
  t:equal(err and err.kind, "storage")
  t:matches(err.message, "the callback reports a failure")
end)

test("the functions cannot use clients of the store", function(t)
  local other
  local kinds = {}
  local store = new_store()
  local load = store.functions.load
  store.functions.load = function(key)
    for _, use in ipairs { function() me(other) end, function() other:set_token { access_token = "a" } end } do
      local _, err = nightjar.try(use)
      kinds[#kinds + 1] = err.kind
      t:equal(err.message, "a function of token_store cannot use a client that waits for it; use another client")
    end
    return load(key)
  end
  other = client(store.functions)
  local api <close> = client(store.functions)
  t:equal(me(api), "ada")
  t:equal(kinds[1], "reentrant")
  t:equal(kinds[2], "reentrant")
  other:close()
end)

test("a call can be cancelled or time out while a function runs", function(t)
  local store = new_store()
  local load, waits = store.functions.load, true
  store.functions.load = function(key)
    if waits then nightjar.sleep(0.15) end
    return load(key)
  end
  local api <close> = client(store.functions)
  local err = failure(api, { timeout = 0.05 })
  t:equal(err.kind, "timeout")
  local task = nightjar.spawn(me, api)
  nightjar.sleep(0.02)
  task:cancel()
  local _, cancelled = nightjar.try(task.join, task)
  t:equal(cancelled.kind, "cancelled")
  waits = false
  t:equal(me(api), "ada")
  t:equal(counts().logins, 1)
end)

test("drain waits for a save, and close does not wait for a function that cannot run", function(t)
  local store = new_store()
  local draining = client(store.functions)
  draining:set_token { access_token = "kept" }
  draining:drain { timeout = 5 }
  t:equal(store.saves, 1)
  t:truthy(store.records.main ~= nil)
  local start = nightjar.time.monotonic()
  store = new_store { load = function() nightjar.sleep(10) end }
  local closing = client(store.functions)
  closing:set_token { access_token = "lost" }
  closing:close()
  closing = client(store.functions)
  local task = nightjar.spawn(failure, closing)
  nightjar.sleep(0.02)
  closing:close()
  t:equal(task:join().kind, "cancelled")
  t:truthy(nightjar.time.monotonic() - start < 5)
  t:equal(store.saves, 0)
end)

test("a save that outlasts its client ends before the next save begins", function(t)
  local store, order, is_slow = new_store(), {}, true
  store.functions.save = function(key, record)
    local mine = is_slow and "first" or "second"
    if is_slow then
      is_slow = false
      order[#order + 1] = "first begins"
      nightjar.sleep(0.1)
    end
    store.records[key] = record
    order[#order + 1] = mine
  end
  local first, second = client(store.functions), client(store.functions)
  first:set_token { access_token = "one" }
  while #order == 0 do nightjar.sleep(0.005) end
  second:set_token { access_token = "two" }
  first:close()
  second:drain { timeout = 5 }
  t:equal(order, { "first begins", "first", "second" })
end)

test("a function may close the client", function(t)
  local store, api = new_store(), nil
  store.functions.load = function() api:close() end
  api = client(store.functions)
  t:equal(failure(api).kind, "cancelled")
end)

test("invalid stores are rejected", function()
  local function f() end
  misuse("client: token_store must be a table of functions, got function", nightjar.client, { token_store = f })
  misuse("client: token_store.load is missing", nightjar.client, { token_store = {} })
  misuse("client: token_store.delete is missing", nightjar.client, { token_store = { load = f, save = f } })
  misuse("client: token_store.save must be a function, got string", nightjar.client,
    { token_store = { load = f, save = "x", delete = f } })
  check.fails("invalid_argument", 'the token host store "main" has no callback; set token_store (nj_config_set_token_store), or '
    .. "use another store", client, nil)
end)

test("clients and stores are collected", function(t)
  local weak = setmetatable({}, { __mode = "k" })
  for _ = 1, 3 do
    local store = new_store()
    local api = client(store.functions)
    t:equal(me(api), "ada")
    weak[store.functions] = true
  end
  for _ = 1, 4 do collectgarbage() end
  t:equal(next(weak), nil)
end)

assert(testing.run().ok, "a case failed")
