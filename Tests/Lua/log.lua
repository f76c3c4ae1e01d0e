-- The log of a client: who gets which lines, and what a log function may do.
local nightjar = require "nightjar"
local check = require "check"
local url = os.getenv "NIGHTJAR_DEMO_URL"

local function open(log) return nightjar.client { base_url = url, log = log, retry = false } end

-- A function gets a line for each call, secrets removed.
do
  local lines = {}
  local api <close> = open(function(level, line) lines[#lines + 1] = level .. ": " .. line end)
  api:get("/v1/articles", { query = { access_token = "hunter2", page = 1 } })
  check.equal(#lines, 1)
  assert(lines[1]:find "^info: GET http://[%d.:]+/v1/articles%?access_token=%*%*%*&page=1 200 in [%d.]+ ms, %d+ bytes$", lines[1])
  pcall(api.get, api, "/status/503")
  assert(lines[2]:find "^warning: GET .* failed: server: ", lines[2])
end

-- The level decides; each client has its own.
do
  local debug, errors = {}, {}
  local talkative <close> = open { level = "debug", write = function(level) debug[#debug + 1] = level end }
  local quiet <close> = open { level = "warning", write = function(level) errors[#errors + 1] = level end }
  nightjar.all { function() talkative:get "/v1/articles" end, function() quiet:get "/v1/articles" end }
  pcall(quiet.get, quiet, "/status/500")
  check.equal(table.concat(debug, " "), "debug info")
  check.equal(table.concat(errors, " "), "warning")
end

-- The function may use the client that it belongs to. While it waits the other tasks go on, and their lines come after.
do
  local lines, api = 0, nil
  api = open(function()
    lines = lines + 1
    if lines == 1 then check.equal(api:get("/v1/articles/1").status, 200) end
  end)
  api:get "/v1/articles"
  api:get "/v1/articles"
  while lines < 3 do nightjar.sleep(0.001) end
  nightjar.sleep(0.01)
  check.equal(lines, 3)
  api:close()
end

-- What it raises does not touch the call.
do
  local api <close> = open(function() error "no space left" end)
  check.equal(api:get("/v1/articles").status, 200)
end

-- A client that is mentioned by its own log function is collected.
do
  local gone = setmetatable({}, { __mode = "k" })
  do
    local api
    api = open(function() return api end)
    gone[api] = true
    api:get "/v1/articles"
  end
  collectgarbage()
  collectgarbage()
  check.equal(next(gone), nil)
end

check.misuse("client: log must be a function or { level = ..., write = FUNCTION }, got string", open, "info")
check.misuse("client: log must be a function or { level = ..., write = FUNCTION }, got nil", open, { level = "info" })
check.misuse("client: log.level must be \"error\", \"warning\", \"info\" or \"debug\", got loud", open, { level = "loud" })
check.misuse("client: unknown option 'log.levle'; did you mean 'log.level'?", open, { levle = "info" })
