-- Finalizers run at any allocation, even while a call reads a table. A call must see the table as it was at one moment, and
-- must not access values that a finalizer has freed. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"

-- Calls f many times, with a finalizer that runs `change` at almost every allocation.
local function with_finalizers(change, f)
  local runs = true
  local function again()
    setmetatable({}, { __gc = function()
      if not runs then return end
      change()
      again()
    end })
  end
  -- Restores the collector even if f fails.
  local restorer <close> = setmetatable({}, { __close = function()
    runs = false
    collectgarbage("incremental", 200, 100, 13)
    collectgarbage()
  end })
  collectgarbage("incremental", 1, 1000, 4)
  collectgarbage() -- The next cycle begins immediately, and not when the memory has doubled.
  for _ = 1, 4 do again() end
  for round = 1, 16 do f(round) end
end

local function text(prefix, number) return prefix .. ("%03d"):format(number) .. ("x"):rep(number % 60) end

testing.test("the tables of a request can be changed while they are read", { timeout = 300 }, function(t)
  local seen
  local api = nightjar.client {
    base_url = "http://fuzz.test", retry = false,
    mock = { { response = function(request) seen = request return { status = 204 } end } },
  }
  local tables = {}
  local function change()
    for _, each in ipairs(tables) do
      for key in next, each do each[key] = nil end
      for number = 1, 30 do each[text("n", number)] = number % 2 == 0 and number or text("v", number) end
    end
  end
  local function fresh(prefix)
    local new = {}
    for number = 1, 9 do new[text(prefix, number)] = number % 3 == 0 and number or text("v", number) end
    tables[#tables + 1] = new
    return new
  end
  with_finalizers(change, function(round)
    tables = {}
    local options = { query = fresh "q", headers = fresh "h" }
    if round % 4 == 0 then options.form = fresh "f"
    elseif round % 4 == 1 then options.multipart = fresh "m"
    elseif round % 4 == 2 then options.json = fresh "j"
    else options.multipart = { fresh "p" } options.multipart[1].name = nil end
    local ok, err = pcall(api.post, api, "/" .. round, options)
    if not ok then
      t:truthy(type(err) == "userdata" or type(err) == "string")
      return
    end
    for name, value in pairs(seen.query) do
      t:matches(name, "^[qn]%d%d%dx*$")
      t:truthy(tostring(value):find "^v?%d+x*$", value)
    end
  end)
  api:close()
end)

testing.test("schemes can be added while a client is created", { timeout = 300 }, function()
  local schemes = {}
  local function provider() return "token" end
  local function change()
    for number = 1, 40 do schemes[text("late", number)] = { type = "bearer", provider = provider } end
  end
  with_finalizers(change, function()
    schemes = { one = { type = "bearer", provider = provider }, two = { type = "bearer", provider = provider } }
    local ok, client = pcall(nightjar.client,
      { base_url = "http://x.test", mock = { { response = 200 } }, auth = { schemes = schemes } })
    if ok then client:close() end
  end)
end)

testing.test("clients and lists can be closed while they are used", function(t)
  local client, list
  local function change()
    if client then client:close() end
    if list then list:close() end
  end
  with_finalizers(change, function(round)
    client = nil
    client = nightjar.client {
      base_url = "http://x.test", retry = false, cache = true, mock = { { response = { json = { items = {} } } } },
    }
    local mine = client
    local made, found = pcall(mine.paginate, mine, "/list", { style = "page", items = "/items" })
    list = made and found or nil
    for _, call in ipairs {
      function() return mine:limits() end,
      function() return mine.cookies:list() end,
      function() return mine.cache:delete "/x" end,
      function() return mine:log_out() end,
      function() return mine:set_token { access_token = text("t", round) } end,
      function() return mine.endpoints end,
      function() return mine:get "/" end,
      function() return found:state() end,
      function() return found:refresh() end,
      function() return found.explanation end,
    } do
      local ok, err = pcall(call)
      t:truthy(ok or err ~= nil)
    end
  end)
end)

testing.test("json.encode reports its errors while finalizers encode", function(t)
  with_finalizers(function() nightjar.json.encode { a = { { b = 1 } } } end, function(round)
    local value = { deep = { { [text("name", round)] = { 1, 2, { f = print } } } } }
    local ok, err = pcall(nightjar.json.encode, value)
    t:equal(ok, false)
    local name = text("name", round)
    local place = #name <= 40 and "." .. name or '["' .. name:sub(1, 40) .. '..."]'
    t:equal(err.message, ("value.deep[1]%s[3].f: a function cannot be represented in JSON"):format(place))
  end)
end)

testing.test("a finalizer can finish a hash first", function()
  local hash
  with_finalizers(function() if hash then pcall(hash.update, hash, "x") pcall(hash.finish, hash) end end, function()
    hash = nightjar.hash.new "sha256"
    pcall(hash.update, hash, "abc")
    pcall(hash.finish, hash)
  end)
end)

assert(testing.run().ok, "a case failed")
