-- The log of a client: its lines, and what a log function can do. Needs the demo API.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse
local url = os.getenv "NIGHTJAR_DEMO_URL"

local function open(log) return nightjar.client { base_url = url, log = log, retry = false } end

test("a log function receives one line for each call, without secrets", function(t)
  local lines = {}
  local api <close> = open(function(level, line) lines[#lines + 1] = level .. ": " .. line end)
  api:get("/v1/articles", { query = { access_token = "hunter2", page = 1 } })
  t:equal(#lines, 1)
  t:matches(lines[1], "^info: GET http://[%d.:]+/v1/articles%?access_token=%*%*%*&page=1 200 in [%d.]+ ms, %d+ bytes$")
  pcall(api.get, api, "/status/503")
  t:matches(lines[2], "^warning: GET .* failed: server: ")
end)

test("each client has its own log level", function(t)
  local debug, errors = {}, {}
  local talkative <close> = open { level = "debug", write = function(level) debug[#debug + 1] = level end }
  local quiet <close> = open { level = "warning", write = function(level) errors[#errors + 1] = level end }
  nightjar.all { function() talkative:get "/v1/articles" end, function() quiet:get "/v1/articles" end }
  pcall(quiet.get, quiet, "/status/500")
  t:equal(table.concat(debug, " "), "debug info")
  t:equal(table.concat(errors, " "), "warning")
end)

test("the level off disables the log", function(t)
  local lines = 0
  local silent <close> = open { level = "off", write = function() lines = lines + 1 end }
  pcall(silent.get, silent, "/status/500")
  t:equal(lines, 0)
end)

test("a log function can use its own client: while it waits, other tasks run, and their lines follow", function(t)
  local lines, status, api = 0, nil, nil
  api = open(function()
    lines = lines + 1
    if lines == 1 then status = api:get("/v1/articles/1").status end
  end)
  api:get "/v1/articles"
  api:get "/v1/articles"
  while lines < 3 do nightjar.sleep(0.001) end
  nightjar.sleep(0.01)
  t:equal(lines, 3)
  t:equal(status, 200)
  api:close()
end)

test("errors of a log function do not affect the call", function(t)
  local api <close> = open(function() error "no space left" end)
  t:equal(api:get("/v1/articles").status, 200)
end)

test("a client that its own log function references can be collected", function(t)
  local gone = setmetatable({}, { __mode = "k" })
  do
    local api
    api = open(function() return api end)
    gone[api] = true
    api:get "/v1/articles"
  end
  collectgarbage()
  collectgarbage()
  t:equal(next(gone), nil)
end)

test("invalid log options raise an error", function()
  misuse("client: log must be a function or { level = ..., write = FUNCTION }, got string", open, "info")
  misuse("client: log must be a function or { level = ..., write = FUNCTION }, got nil", open, { level = "info" })
  misuse("client: log.level must be \"error\", \"warning\", \"info\" or \"debug\", got loud", open, { level = "loud" })
  misuse("client: unknown option 'log.levle'; did you mean 'log.level'?", open, { levle = "info" })
end)

assert(testing.run().ok, "a case failed")
