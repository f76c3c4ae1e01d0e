-- Calls every function with every type of value for every argument. The result must be a value or a clear error.
-- Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, fails = testing.test, check.fails

local api <close> = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", timeout = 2 }
local res = api:get "/v1/articles/1"
local _, err = nightjar.try(api.get, api, "/status/404")
local task = nightjar.spawn(function() nightjar.sleep(30) end)
local list = api:paginate "/v1/articles"
local closed = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL" }
closed:close()

local values = {
  true, 0, -1, 0.001, 1e308, math.mininteger, "", "x", "/echo", "\0\xff\r\n", {}, { 1, 2 }, { [1.5] = {} }, { x = {} },
  function() end, function() error "thrown" end, coroutine.create(function() end), io.stdout, nightjar.null, api,
  closed, res, res.headers, err, task, list,
  setmetatable({}, { __index = function() error "index" end, __len = function() return "x" end }),
}
local function pick(place) return values[place] end -- nil after the last

local functions = {
  client = nightjar.client, spawn = function(...) nightjar.spawn(...):cancel() end, all = nightjar.all,
  race = nightjar.race, map = nightjar.map, timeout = nightjar.timeout, try = nightjar.try, array = nightjar.array,
  decode = nightjar.json.decode, encode = nightjar.json.encode,
  sleep = function(seconds, ...)
    if type(seconds) == "number" and seconds > 1 then seconds = 0 end
    nightjar.sleep(seconds, ...)
  end,
  join = function(other, ...) return task.join(other ~= task and other, ...) end,
  cancel = function(other, ...) return task.cancel(other ~= task and other, ...) end,
  chunks = res.chunks, close_response = res.close,
  close = function(other, ...) return api.close(other ~= api and other, ...) end,
  resume = coroutine.resume, wrap = coroutine.wrap,
}
for _, verb in ipairs { "get", "post", "put", "patch", "delete", "head", "request", "batch", "paginate" } do
  functions[verb] = api[verb]
end
for _, method in ipairs { "pages", "take", "collect", "state", "resume", "refresh" } do
  functions[method] = list[method]
end

-- The standard modules, without functions that end the process or write to standard error.
for _, module in ipairs { "args", "base64", "csv", "env", "hash", "json", "log", "time", "url", "uuid" } do
  for name, f in pairs(nightjar[module]) do
    if name ~= "parse" or module ~= "args" then functions[module .. "." .. name] = f end
  end
end
functions["update of hash"] = nightjar.hash.new("sha256").update
functions["finish of hash"] = nightjar.hash.new("sha256").finish

-- Fields and operators of the objects.
for name, object in pairs {
  client = api, response = res, headers = res.headers, error = err, task = task, list = list, null = nightjar.null,
} do
  functions["index of " .. name] = function(key) return object[key] end
  functions["newindex of " .. name] = function(key, value) object[key] = value end
  functions["call of " .. name] = function(...) return object(...) end
  functions["pairs of " .. name] = function() for _ in pairs(object) do end end
  functions["length of " .. name] = function() return #object end
  functions["concat of " .. name] = function(other) return object .. other, other .. object end
  functions["text of " .. name] = function() return tostring(object) end
  functions["compare " .. name] = function(other) return object == other, object < other end
  local meta = debug.getmetatable(object)
  for event, method in pairs(type(meta) == "table" and meta or {}) do
    -- A script can reach the metamethods with debug. __gc and __close would end objects that other calls use.
    if type(method) == "function" and event ~= "__gc" and event ~= "__close" then functions[name .. event] = method end
  end
end

local names = {}
for name in pairs(functions) do names[#names + 1] = name end
table.sort(names)

local calls = 0
local function try(name, ...)
  calls = calls + 1
  local ok, got = pcall(functions[name], ...)
  if ok then return end
  local kind = type(got)
  if kind == "userdata" then
    assert(type(got.kind) == "string" and type(got.message) == "string", name)
  else
    assert(kind == "string", name .. " raised a " .. kind)
  end
end

-- Turns the log off, so that calls of log functions print nothing.
local level = nightjar.log.level()
testing.before(function() nightjar.log.set_level "off" end)
testing.after(function() nightjar.log.set_level(level) end)

test("every function with up to two arguments of every type", { timeout = 240 }, function(t)
  for _, name in ipairs(names) do
    try(name)
    for a = 1, #values + 1 do
      try(name, pick(a))
      for b = 1, #values + 1 do try(name, pick(a), pick(b)) end
    end
  end
  t:truthy(calls > 50000, calls)
end)

for _, name in ipairs { "get", "post", "map", "timeout", "all", "encode" } do
  test(name .. " with two arguments of every type, after a client or with the second in a list", function()
    local self = ({ get = api, post = api })[name]
    for a = 1, #values + 1 do
      for b = 1, #values + 1 do
        if self then try(name, self, pick(a), pick(b)) else try(name, pick(a), { pick(b) }, pick(b)) end
      end
    end
  end)
end

for _, option in ipairs {
  "query", "headers", "json", "form", "body", "expect", "timeout", "idempotency_key", "stream", "method", "retry",
  "coalesce", "auth", "limit_group", "invalidates", "on_retry", "path", "nonsense",
} do
  test(("the option %s of a call with every type of value"):format(option), function()
    for a = 1, #values do
      try("post", api, "/echo", { [option] = pick(a) })
      try("request", api, { path = "/echo", [option] = pick(a) })
    end
  end)
end

for _, option in ipairs {
  "base_url", "headers", "user_agent", "timeout", "max_body", "max_connections_per_host", "idle_connection_lifetime",
  "tls", "auth", "retry", "coalesce", "rate_limit", "concurrency", "circuit_breaker", "max_queued", "limit_groups",
  "nonsense",
} do
  test(("the option %s of a client with every type of value"):format(option), function()
    for a = 1, #values do try("client", { [option] = pick(a) }) end
  end)
end

test("the task that was passed as a value still waits, and can be cancelled", function()
  task:cancel()
  fails("cancelled", "the task was cancelled", task.join, task)
end)

test("the metatables of objects cannot be accessed", function(t)
  for _, object in ipairs { api, res, res.headers, err, task } do t:equal(getmetatable(object), false) end
end)

assert(testing.run().ok, "a case failed")
