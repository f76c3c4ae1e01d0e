-- Event streams. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails

local api = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL", retry = { attempts = 1 } }
local quick = { reconnection_time = 0.1 }

local function gather(path, query, options)
  local all = {}
  local given = { query = query }
  for name, value in pairs(options or quick) do given[name] = value end
  for event in api:events(path, given) do all[#all + 1] = event end
  return all
end

-- Reads on until the history has the text. Returns the history.
local function history_until(events, text)
  local reading = nightjar.spawn(function() return events() end)
  nightjar.timeout(20, function()
    while not events:explain():find(text, 1, true) do nightjar.sleep(0.01) end
  end)
  reading:cancel()
  pcall(reading.join, reading)
  return events:explain()
end

test("events have a type, an id, data and json", function(t)
  local events = gather("/events", { count = 3 })
  t:equal(#events, 3)
  t:equal(events[2].type, "tick")
  t:equal(events[2].id, "2")
  t:equal(events[2].json.n, 2)
  t:equal(events[2].data, '{"n":2,"padding":""}')
end)

test("the stream resumes after each loss, without losing or repeating an event", function(t)
  for seed = 1, 3 do
    local events = gather("/events", { count = 100, drop = 1500, replay = 3, seed = seed, retry = 0 })
    t:equal(#events, 100)
    for index, event in ipairs(events) do t:equal(event.id, tostring(index)) end
  end
end)

test("a stream begins at a saved id", function(t)
  local events <close> = api:events("/events", { query = { count = 10 }, last_event_id = "7" })
  t:equal(events.last_event_id, "7")
  t:equal(events().id, "8")
  t:equal(events.last_event_id, "8")
  t:equal(events.state, "open")
end)

test("the history names each change", function(t)
  local events <close> = api:events("/events", { query = { count = 2, ["end"] = "close", retry = 0 }, reconnection_time = 0.1 })
  t:equal(events.response, nil)
  events() events()
  t:equal(events.response.status, 200)
  t:equal(events.response.headers["content-type"], "text/event-stream")
  t:equal(events.response.body, "")
  local history = history_until(events, "waiting:")
  t:truthy(history:find("connecting\nat [%d.]+ s: open: the server sent 200\nat [%d.]+ s: waiting: the server ended the response"),
    history)
end)

test("status 429 and 503 are temporary for later connections, but not for the first", function(t)
  fails("server", "GET returned 503 Service Unavailable", function()
    gather("/events", { count = 1, status = 503, key = nightjar.uuid.v4(), times = 1 })
  end)
end)

test("a later connection is repeated after 503, but not if Retry-After exceeds 300 seconds", function(t)
  local one = { status = 200, headers = { ["Content-Type"] = "text/event-stream" }, body = "id: 1\ndata: x\n\n" }
  local function unavailable(seconds) return { status = 503, headers = { ["Retry-After"] = tostring(seconds) }, body = "" } end
  local function stream(...)
    local mock = nightjar.mock { { path = "/feed", responses = { ... } } }
    local mocked = nightjar.client { base_url = "http://api.test", mock = mock, retry = { attempts = 1 } }
    return mocked:events("/feed", { reconnection_time = 0.1 })
  end
  local count, temporary = 0, stream(one, unavailable(0), { status = 204 })
  for _ in temporary do count = count + 1 end
  t:equal(count, 1)
  t:truthy(temporary:explain():find("waiting: GET returned 503", 1, true), temporary:explain())
  local final = stream(one, unavailable(301))
  t:equal(final().id, "1")
  local ok, err = pcall(final)
  t:equal(ok, false)
  t:equal(err.kind, "server")
  t:equal(err.delivered, 1)
  t:equal(final.state, "closed")
end)

test("a cancelled read loses the connection, and the next read connects again", function(t)
  local connections = 0
  local counted = nightjar.client {
    base_url = os.getenv "NIGHTJAR_DEMO_URL", retry = { attempts = 1 },
    before = function() connections = connections + 1 end,
  }
  local events <close> = counted:events("/events", { query = { count = 1, ["end"] = "hold" }, reconnection_time = 0.1 })
  t:equal(events().id, "1")
  local ok, err = pcall(nightjar.timeout, 0.1, events)
  t:equal(ok, false)
  t:equal(err.kind, "timeout")
  local reading = nightjar.spawn(function() return events() end)
  nightjar.timeout(20, function()
    while connections < 2 do nightjar.sleep(0.01) end
  end)
  reading:cancel()
  pcall(reading.join, reading)
  t:equal(events.last_event_id, "1")
end)

test("very small parts of a long event and a long line are joined", function(t)
  local events = gather("/events", { count = 1, size = 20000, chunk = 1 })
  t:equal(#events[1].json.padding, 20000)
  local lines = 0
  for line in api:lines("/lines/1", { query = { width = 20000, chunk = 1 } }) do
    lines = lines + 1
    t:equal(#line, 20000)
  end
  t:equal(lines, 1)
end)

test("another media type is an error", function()
  fails("decoding", 'the response is not an event stream: its Content-Type is "text/plain", not text/event-stream',
    function() gather("/lines/1") end)
end)

test("silence ends the connection", function(t)
  local events <close> = api:events("/events", { query = { count = 1, ["end"] = "hold" }, idle_timeout = 0.2, reconnection_time = 0.1 })
  t:equal(events().id, "1")
  local history = history_until(events, "waiting:")
  t:truthy(history:find("waiting: %g.-idle"), history)
end)

test("an event that is too large is an error", function(t)
  local err = fails("too_large", "an event of the stream is longer than 100 bytes; set a larger max_event; 0 events were delivered",
    function() gather("/events", { count = 1, size = 1000 }, { max_event = 100 }) end)
  t:equal(err.delivered, 0)
end)

test("a POST is not sent again", function(t)
  local count = 0
  local ok, err = pcall(function()
    for _ in api:events("/events", { method = "POST", json = { prompt = "x" }, query = { count = 50, cut = 300 } }) do
      count = count + 1
    end
  end)
  t:equal(ok, false)
  t:equal(err.kind, "connection_lost")
  t:equal(err.delivered, count)
  t:equal(err.may_have_been_processed, true)
  local events = {}
  for event in api:events("/events", { method = "POST", json = {}, query = { count = 3, ["end"] = "close" } }) do
    events[#events + 1] = event
  end
  t:equal(#events, 3)
end)

test("hooks run for each connection", function(t)
  local calls = 0
  local hooked = nightjar.client {
    base_url = os.getenv "NIGHTJAR_DEMO_URL", retry = { attempts = 1 },
    before = function(request) calls = calls + 1 end,
  }
  local count = 0
  for _ in hooked:events("/events", { query = { count = 4, cut = 120 }, reconnection_time = 0.1 }) do count = count + 1 end
  t:equal(count, 4)
  t:truthy(calls > 1, calls)
end)

test("a finalizer can close a stream while its events are read", function(t)
  local events = api:events("/events", { query = { count = 2000, size = 200 } })
  local count, is_armed = 0, true
  local function arm()
    setmetatable({}, { __gc = function()
      if count > 1000 then events:close() elseif is_armed then arm() end
    end })
  end
  arm()
  for event in events do
    count = count + 1
    assert(event.id == tostring(count) and event.type == "tick" and event.json.n == count)
    local _ = ("x"):rep(1000) .. count
  end
  is_armed = false
  t:truthy(count > 1000 and count <= 2000, count)
end)

test("the events of a response are read once", function(t)
  local res = api:post("/events", { json = { prompt = "x" }, query = { count = 3, ["end"] = "close", retry = 2500 }, stream = true })
  local events = res:events()
  t:equal(events.last_event_id, "")
  t:equal(events.reconnection_time, 1)
  local ids = {}
  for event in events do
    ids[#ids + 1] = event.id
    t:equal(events.last_event_id, event.id)
    t:equal(event.json.n, #ids)
  end
  t:equal(table.concat(ids, " "), "1 2 3")
  t:equal(events.state, "closed")
  t:equal(events.reconnection_time, 2.5)
  t:equal(events.last_event_id, "3")
  local whole = api:get("/events", { query = { count = 2, ["end"] = "close" } })
  local count = 0
  for _ in whole:events { max_event = 100 } do count = count + 1 end
  t:equal(count, 2)
end)

test("a response that breaks off continues with a GET", function(t)
  local res = api:post("/events", { json = {}, query = { count = 5, cut = 100 }, stream = true })
  local events, ids = res:events(), {}
  local _, err = nightjar.try(function() for event in events do ids[#ids + 1] = event.id end end)
  t:equal(err.kind, "connection_lost")
  t:equal(err.delivered, #ids)
  t:truthy(#ids > 0 and #ids < 5)
  for event in api:events("/events", { query = { count = 5 }, last_event_id = events.last_event_id }) do ids[#ids + 1] = event.id end
  t:equal(table.concat(ids, " "), "1 2 3 4 5")
end)

test("an id without data is the last event id", function(t)
  local mock = nightjar.mock { {
    path = "/feed",
    response = { headers = { ["Content-Type"] = "text/event-stream" }, body = "id: 1\ndata: a\n\nid: 2\n\nid: 3\n" },
  } }
  local mocked = nightjar.client { base_url = "http://api.test", mock = mock }
  local events = mocked:events("/feed", { reconnect = false })
  t:equal(events().id, "1")
  t:equal(events.last_event_id, "1")
  t:equal(events(), nil)
  t:equal(events.last_event_id, "2")
end)

test("a response of another type has no events", function(t)
  fails("decoding", 'the response is not an event stream: its Content-Type is "application/json", not text/event-stream', function()
    for _ in api:get("/echo", { stream = true }):events() do end
  end)
  misuse("events: options must be a table, got number", function() api:get("/echo"):events(1) end)
  misuse("events: unknown option 'max_evnt'; did you mean 'max_event'?", function() api:get("/echo"):events { max_evnt = 1 } end)
  fails("invalid_argument", 'option "max_event" must be between 1 and 1073741824, got 0', function()
    api:get("/echo"):events { max_event = 0 }
  end)
  fails("too_large", "an event of the stream is longer than 100 bytes; set a larger max_event; 0 events were delivered", function()
    for _ in api:get("/events", { query = { count = 1, size = 500 }, stream = true }):events { max_event = 100 } do end
  end)
end)

test("closing ends the stream", function(t)
  local events = api:events("/events", { query = { count = 5, ["end"] = "hold" } })
  events()
  events:close()
  events:close()
  t:equal(events(), nil)
  t:equal(events.state, "closed")
  t:equal(events.last_event_id, "1")       -- still available, to be saved
  t:truthy(events:explain():find("closed: the stream was closed", 1, true), events:explain())
end)

test("wrong options are reported", function()
  misuse("events: path must be a string, got no value", function() api:events() end)
  fails("invalid_argument", "reconnection_time must be between 0.1 and 300 seconds, got 0.01",
    function() api:events("/events", { reconnection_time = 0.01 }) end)
  fails("invalid_argument", "last_event_id must not contain a line end or another control character",
    function() api:events("/events", { last_event_id = "a\nb" }) end)
end)

assert(testing.run().ok, "a case failed")
