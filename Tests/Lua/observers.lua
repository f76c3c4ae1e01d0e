-- Observers: the steps of calls. Needs the demo API. Starts a TLS server with openssl.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse
local url = os.getenv "NIGHTJAR_DEMO_URL"

-- Returns a client and the list of its steps.
local function open(options)
  local steps = {}
  options.base_url, options.proxy = options.base_url or url, false
  options.observer = function(step) steps[#steps + 1] = step end
  return nightjar.client(options), steps
end

-- Returns the names of the steps and removes the steps from the list.
local function names(steps)
  local words = {}
  for index, step in ipairs(steps) do words[index], steps[index] = step.step, nil end
  return table.concat(words, " ")
end

-- Returns how many calls have ended, by the names of the steps.
local function ended_calls(words)
  local count = 0
  for _, word in ipairs(words) do if word == "ended" then count = count + 1 end end
  return count
end

-- The fields that each step has in addition to step, call_id, time, attempt and dropped. An optional field ends in "?".
local fields = {
  started = { "method", "url" }, resolved = { "host", "duration" }, connected = { "address", "duration" },
  secured = { "duration" }, sent = { "address", "http_version", "reused" }, first_byte = { "status" },
  redirected = { "status", "url" }, retried = { "error", "duration" }, cache_hit = { "source", "duration" },
  ended = { "status?", "source?", "error?" },
}
local types = {
  step = "string", call_id = "integer", time = "float", attempt = "integer", dropped = "integer", method = "string", url = "string",
  host = "string", address = "string", http_version = "string", reused = "boolean", duration = "float", status = "integer",
  source = "string", error = "string",
}

-- Checks that the step has the fields of its kind and no others.
local function check_fields(t, step)
  local known = { step = true, call_id = true, time = true, attempt = true, dropped = true }
  for _, name in ipairs(fields[step.step]) do
    local is_optional = name:sub(-1) == "?"
    known[name:gsub("%?$", "")] = true
    if not is_optional then t:truthy(step[name] ~= nil, step.step .. "." .. name) end
  end
  for name, value in pairs(step) do
    t:truthy(known[name], step.step .. "." .. name)
    t:equal(math.type(value) or type(value), types[name], name)
  end
end

test("the steps of a call arrive in order and before its response", function(t)
  local api <close>, steps = open {}
  local res = api:get "/v1/articles/1"
  t:equal(#steps, 5)
  for index, step in ipairs(steps) do
    check_fields(t, step)
    t:equal(step.call_id, res.call_id)
    t:equal(step.attempt, index == 1 and 0 or 1)
    t:equal(step.dropped, 0)
    t:truthy(step.time >= (index == 1 and 0 or steps[index - 1].time))
  end
  local started, connected, sent, first_byte, ended = table.unpack(steps)
  t:equal({ started.method, started.url }, { "GET", url .. "/v1/articles/1" })
  t:equal("http://" .. connected.address, url)
  t:equal(sent.address, connected.address)
  t:equal(sent.http_version, check.http_version)
  t:equal(sent.reused, false)
  t:equal(first_byte.status, 200)
  t:equal({ ended.status, ended.source, ended.error }, { 200, "network", nil })
  t:equal(names(steps), "started connected sent first_byte ended")
  api:get "/v1/articles/2"
  t:equal(steps[2].reused, true)
  t:equal(names(steps), "started sent first_byte ended")
end)

test("redirects are steps, and secrets in URLs are masked", function(t)
  local api <close>, steps = open {}
  api:get("/redirect/1", { query = { token = "hunter2" } })
  for _, step in ipairs(steps) do
    check_fields(t, step)
    for _, value in pairs(step) do t:falsy(tostring(value):find "hunter2") end
  end
  t:equal(steps[1].url, url .. "/redirect/1?token=***")
  t:equal(steps[5].status, 302)
  t:matches(steps[5].url, "^" .. url:gsub("%p", "%%%0") .. "/")
  t:equal(names(steps), "started connected sent first_byte redirected sent first_byte ended")
end)

test("a retry has the kind of the error and the wait", function(t)
  local api <close>, steps = open { retry = { attempts = 2, base = 0.001 } }
  local _, err = nightjar.try(api.get, api, "/status/503")
  for _, step in ipairs(steps) do check_fields(t, step) end
  local retried, again, ended = steps[5], steps[6], steps[8]
  t:equal(retried.error, "server")
  t:truthy(retried.duration <= 0.01)
  t:equal({ retried.attempt, again.attempt }, { 1, 2 })
  t:equal({ ended.error, ended.status, ended.source }, { err.kind, 503, nil })
  t:equal(names(steps), "started connected sent first_byte retried sent first_byte ended")
end)

test("responses of the cache are steps", function(t)
  local api <close>, steps = open { cache = true }
  local path = "/cache/steps?control=max-age%3D1000"
  api:get(path)
  names(steps)
  t:equal(api:get(path).source, "cache")
  local hit, ended = steps[2], steps[3]
  check_fields(t, hit)
  t:equal(hit.source, "cache")
  t:truthy(hit.duration >= 0)
  t:equal(ended.source, "cache")
  t:equal(names(steps), "started cache_hit ended")
  api:get "/v1/articles/2"
  names(steps)
  api:get "/v1/articles/2"
  t:equal(steps[4].source, "revalidated")
  t:equal(names(steps), "started sent first_byte cache_hit ended")
end)

test("name resolution is a step", function(t)
  local api <close>, steps = open { base_url = url:gsub("127%.0%.0%.1", "localhost") }
  api:get "/v1/articles/1"
  check_fields(t, steps[2])
  t:equal(steps[2].host, "localhost")
  t:equal(names(steps), "started resolved connected sent first_byte ended")
end)

test("the TLS handshake is a step", function(t)
  local folder <close> = nightjar.fs.temp_dir()
  nightjar.fs.write(folder.path .. "/page", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
  check.certificate(folder, "server", "subjectAltName=DNS:localhost")
  local server <close>, origin = check.s_server(folder, "-HTTP")
  local api <close>, steps = open { base_url = origin, tls = { ca_file = folder.path .. "/server.pem" } }
  t:equal(api:get("/page").text, "ok")
  check_fields(t, steps[4])
  t:equal(names(steps), "started resolved connected secured sent first_byte ended")
end)

test("a failure is the last step", function(t)
  local api <close>, steps = open { base_url = "http://127.0.0.1:1", retry = false }
  local _, err = nightjar.try(api.get, api, "/")
  local ended = steps[#steps]
  check_fields(t, ended)
  t:equal({ ended.error, ended.status, ended.call_id }, { err.kind, nil, err.call_id })
  t:equal(names(steps), "started ended")
end)

test("the observer of a client receives only the steps of this client", function(t)
  local one <close>, steps = open {}
  local other <close>, others = open {}
  local none <close> = nightjar.client { base_url = url }
  nightjar.all {
    function() one:get "/v1/articles/1" end, function() other:get "/v1/articles/2" end, function() none:get "/v1/articles/3" end,
  }
  t:equal(steps[1].url, url .. "/v1/articles/1")
  t:equal(others[1].url, url .. "/v1/articles/2")
  t:equal(names(steps), names(others))
end)

test("concurrent calls have their own numbers", function(t)
  local api <close>, steps = open {}
  local numbers = nightjar.map({ 1, 2, 3 }, function(id) return api:get("/v1/articles/" .. id).call_id end)
  for _, number in ipairs(numbers) do
    local words = {}
    for _, step in ipairs(steps) do
      if step.call_id == number then words[#words + 1] = step.step end
    end
    t:equal(words[1], "started")
    t:equal(words[#words], "ended")
  end
end)

test("an observer can wait and use its own client: its steps stay in order", function(t)
  local words, status, api = {}, nil, nil
  api = nightjar.client { base_url = url, observer = function(step)
    if #words == 0 then
      words[1] = step.step
      nightjar.sleep(0.001)
      status = api:get("/v1/articles/1").status
    else
      words[#words + 1] = step.step
    end
  end }
  t:equal(api:get("/v1/articles/2").status, 200)
  -- The second call opens a connection of its own if the first call still uses the connection.
  while ended_calls(words) < 2 do nightjar.sleep(0.001) end
  t:equal(status, 200)
  t:equal(words[1], "started")
  t:equal(words[#words], "ended")
  api:close()
end)

test("an observer runs once at a time, also if it spawns tasks", function(t)
  local words, overlaps, is_running = {}, 0, false
  local api <close> = nightjar.client { base_url = url, observer = function(step)
    if is_running then overlaps = overlaps + 1 end
    is_running = true
    words[#words + 1] = step.step
    if step.step == "ended" then nightjar.spawn(function() nightjar.sleep(0.02) end) end
    nightjar.sleep(0.005)
    is_running = false
  end }
  for _ = 1, 6 do
    t:equal(api:get("/v1/articles/2").status, 200)
    nightjar.sleep(0.01)
  end
  while ended_calls(words) < 6 do nightjar.sleep(0.001) end
  t:equal(overlaps, 0)
end)

test("errors of an observer affect neither the call nor the following steps", function(t)
  local count = 0
  local api <close> = nightjar.client { base_url = url, observer = function()
    count = count + 1
    error(count == 1 and { "no text" } or "no space left")
  end }
  t:equal(api:get("/v1/articles/1").status, 200)
  t:equal(count, 5)
end)

test("if an observer is slow, old steps are dropped, and the ends of calls last", function(t)
  local ends, dropped, is_open = 0, 0, false
  local api <close> = nightjar.client { base_url = url, observer = function(step)
    while not is_open do nightjar.sleep(0.01) end
    dropped = dropped + step.dropped
    if step.step == "ended" then ends = ends + 1 end
  end }
  for _ = 1, 1100 do api:get "/v1/articles/1" end
  t:equal(ends, 0)
  is_open = true
  while ends < 1100 do nightjar.sleep(0.01) end
  t:truthy(dropped > 0 and dropped < 4096, dropped)
end)

test("a client that its own observer references can be collected", function(t)
  local gone = setmetatable({}, { __mode = "k" })
  do
    local api
    api = nightjar.client { base_url = url, observer = function() return api end }
    gone[api] = true
    api:get "/v1/articles/1"
  end
  collectgarbage()
  collectgarbage()
  t:equal(next(gone), nil)
end)

test("an observer must be a function", function()
  misuse("client: observer must be a function, got string", nightjar.client, { observer = "f" })
  misuse("client: observer must be a function, got boolean", nightjar.client, { observer = true })
end)

assert(testing.run().ok, "a case failed")
