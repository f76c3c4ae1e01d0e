-- Lines and JSON values of responses. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails

local api = nightjar.client { base_url = os.getenv "NIGHTJAR_DEMO_URL" }

local function gather(iterator)
  local all = {}
  for record in iterator do all[#all + 1] = record end
  return all
end

-- The values of a header of the request to /echo.
local function server_saw(echoed, name)
  local found = {}
  for _, field in ipairs(echoed.headers) do
    if field[1]:lower() == name then found[#found + 1] = field[2] end
  end
  return table.concat(found, "|")
end

test("lines end with LF, CRLF or CR, wherever the parts of the body end", function(t)
  for _, style in ipairs { "lf", "crlf", "cr", "none" } do
    for _, chunk in ipairs { 1, 2, 3, 100 } do
      local lines = gather(api:lines("/lines/12", { query = { ["end"] = style, chunk = chunk } }))
      t:equal(#lines, 12)
      t:equal(lines[1], "line 1")
      t:equal(lines[12], "line 12")
    end
  end
  t:equal(gather(api:lines "/lines/0"), {})
end)

test("lines arrive while the response is being received", function(t)
  local start, times = nightjar.time.monotonic(), {}
  for _ in api:lines("/lines/3", { query = { delay = 0.1 } }) do times[#times + 1] = nightjar.time.monotonic() - start end
  t:truthy(times[2] - times[1] > 0.05, times[2] - times[1])
end)

test("a loop that ends early closes the connection", function(t)
  local count = 0
  for _ in api:lines("/lines/100000000") do
    count = count + 1
    if count == 3 then break end
  end
  t:equal(count, 3)
  local lines <close> = api:lines("/lines/100000000")
  t:equal(lines(), "line 1")
  lines:close()
  t:equal(lines(), nil)
end)

test("the values of NDJSON and of a JSON sequence are decoded", function(t)
  for _, format in ipairs { "lines", "seq" } do
    local values = gather(api:ndjson("/ndjson/3", { query = { format = format, chunk = 7 } }))
    t:equal(values, { { id = 1, name = "item 1" }, { id = 2, name = "item 2" }, { id = 3, name = "item 3" } })
  end
end)

test("the request asks for JSON values, unless the script sets Accept", function(t)
  local accept = server_saw(gather(api:ndjson "/echo")[1], "accept")
  t:truthy(accept:find("application/x-ndjson", 1, true), accept)
  t:equal(server_saw(gather(api:ndjson("/echo", { headers = { accept = "text/plain" } }))[1], "accept"), "text/plain")
  t:equal(server_saw(gather(api:ndjson("/echo", { headers = { { "X-A", "1" }, { "ACCEPT", "a/b" } } }))[1], "accept"), "a/b")
end)

test("other methods have a body", function(t)
  local values = gather(api:ndjson("/ndjson/1", { method = "POST", json = { model = "x" } }))
  t:equal(values[1].id, 1)
end)

test("a value that is not JSON fails with its number", function(t)
  local seen = 0
  local err = fails("decoding",
    "value 3 of the response is not JSON: expected a value but the text ends at line 1 column 7; 2 values were delivered",
    function() for _ in api:ndjson("/ndjson/5", { query = { bad = 3 } }) do seen = seen + 1 end end)
  t:equal(seen, 2)
  t:equal(err.delivered, 2)
end)

test("a line that is too long fails before it is complete", function(t)
  local err = fails("too_large",
    "line 1 of the response is longer than 100 bytes; set a larger max_line, or read the body in parts; 0 lines were delivered",
    function() gather(api:lines("/lines/1", { query = { width = 10000000 }, max_line = 100 })) end)
  t:equal(err.delivered, 0)
  t:equal(#gather(api:lines("/lines/2", { query = { width = 100 }, max_line = 100 })), 2)
end)

test("a broken stream reports the number of lines", function(t)
  local lines = {}
  local ok, err = pcall(function()
    for line in api:lines("/lines/100", { query = { cut = 50 }, retry = { attempts = 1 } }) do lines[#lines + 1] = line end
  end)
  t:equal(ok, false)
  t:equal(err.kind, "connection_lost")
  t:equal(err.delivered, #lines)
  t:equal(#lines, 7)
  t:truthy(err.message:find("7 lines were delivered", 1, true), err.message)
end)

test("an unexpected status fails before the first line", function()
  local ok, err = pcall(function() return api:lines("/status/404") end)
  if ok or err.kind ~= "not_found" then error(tostring(err)) end
end)

test("a response can be read by lines after the call", function(t)
  local res = api:get("/lines/3", { stream = true })
  t:equal(gather(res:lines()), { "line 1", "line 2", "line 3" })
  local whole = api:get "/lines/3"
  t:equal(gather(whole:lines()), { "line 1", "line 2", "line 3" })
  t:equal(gather(whole:lines()), { "line 1", "line 2", "line 3" })
  t:equal(gather(api:get("/ndjson/2"):ndjson())[2].id, 2)
end)

test("compressed lines arrive as they are sent", function(t)
  t:equal(#gather(api:lines("/lines/1000", { headers = { ["accept-encoding"] = "gzip" } })), 1000)
end)

test("a client with hooks runs them for a stream", function(t)
  local seen
  local hooked = nightjar.client {
    base_url = os.getenv "NIGHTJAR_DEMO_URL",
    before = function(request) request.headers["x-hook"] = "1" end,
    after = function(response) seen = response.status end,
  }
  t:equal(server_saw(gather(hooked:ndjson "/echo")[1], "x-hook"), "1")
  t:equal(seen, 200)
end)

test("wrong arguments are reported", function()
  misuse("lines: path must be a string, got no value", function() api:lines() end)
  misuse("ndjson: options must be a table, got number", function() api:ndjson("/", 1) end)
  misuse("lines: stream is not allowed in the options", function() api:lines("/", { stream = true }) end)
  misuse("lines: max_line must be between 1 and 2147483646 bytes, got 0", function() api:lines("/", { max_line = 0 }) end)
end)

assert(testing.run().ok, "a case failed")
