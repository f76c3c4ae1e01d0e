-- nightjar.network: the status, changes, and calls that wait. Needs no server. Tests/Network tests real changes.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse
local network = nightjar.network

local function client(responses, options)
  options = options or {}
  options.base_url, options.retry = "http://api.test", false
  options.mock = nightjar.mock { { path = "/a", responses = responses } }
  return nightjar.client(options)
end

test("the status has flags", function(t)
  local status = network.status()
  t:equal(type(status.online), "boolean")
  t:equal(status.constrained, false)
  t:truthy(status.metered == nil or type(status.metered) == "boolean")
  t:truthy(status.captive == nil or type(status.captive) == "boolean")
  t:truthy(status.interface == nil or #status.interface > 0)
end)

test("changes begin with the current status", function(t)
  local seen = {}
  for status in network.changes() do
    seen[#seen + 1] = status.constrained
    if #seen == 3 then break end
    network.set_constrained(#seen == 1)
  end
  t:equal(seen, { false, true, false })
end)

test("other tasks run while a task waits for a change", function(t)
  local changes = network.changes()
  t:equal(changes().constrained, false)
  local task = nightjar.spawn(function() return changes().constrained end)
  nightjar.sleep(0.01)
  t:truthy(not task.done)
  local ok, err = pcall(changes)
  t:equal(ok, false)
  t:equal(err.kind, "invalid_argument")
  network.set_constrained(true)
  t:equal(task:join(), true)
  network.set_constrained(false)
end)

test("a cancelled wait and a closed iterator end", function(t)
  local changes = network.changes()
  changes()
  local task = nightjar.spawn(function() changes() end)
  nightjar.sleep(0.01)
  task:cancel()
  t:equal(pcall(task.join, task), false)
  local waiting = nightjar.spawn(function() return changes() end)
  nightjar.sleep(0.01)
  changes:close()
  t:equal(waiting:join(), nil)
  t:equal(changes(), nil)
  changes:close()
end)

test("a constrained network is refused and awaited", function(t)
  local api = client({ { status = 200 } }, { allow_constrained = false })
  network.set_constrained(true)
  local _, err = nightjar.try(api.get, api, "/a")
  t:equal({ err.kind, err.reason, err.attempts, err.phase }, { "offline", "constrained", 0, "connect" })
  t:equal(api:get("/a", { allow_constrained = true }).status, 200)
  local reasons = {}
  local task = nightjar.spawn(function()
    nightjar.sleep(0.02)
    network.set_constrained(false)
  end)
  local res = api:get("/a", { wait_for_connectivity = 10, on_waiting = function(reason) reasons[#reasons + 1] = reason end })
  t:equal(res.status, 200)
  task:join()
  t:equal(reasons, { "constrained" })
  t:matches(tostring(res:explain()), "for the network")
end)

test("a call that fails with offline is sent again after a change", function(t)
  local api = client({ { fault = "offline" }, { fault = "offline" }, { body = "here" } }, { wait_for_connectivity = 10 })
  local task = nightjar.spawn(function()
    nightjar.sleep(0.05)
    network.set_constrained(true)
  end)
  local start = nightjar.time.now()
  t:equal(api:get("/a").body, "here")
  t:truthy(nightjar.time.now() - start >= 0.04)
  task:join()
  network.set_constrained(false)
end)

test("the wait ends", function(t)
  local api = client({ { fault = "offline" } }, { wait_for_connectivity = 60, allow_constrained = false })
  network.set_constrained(true)
  local _, err = nightjar.try(api.get, api, "/a", { wait_for_connectivity = 0.05 })
  t:equal({ err.kind, err.reason, #err.earlier }, { "offline", "constrained", 1 })
  _, err = nightjar.try(api.get, api, "/a", { timeout = 0.05 })
  t:equal({ err.kind, err.earlier[1].reason }, { "timeout", "constrained" })
  _, err = nightjar.try(api.get, api, "/a", { wait_for_connectivity = false })
  t:equal({ err.kind, #err.earlier }, { "offline", 0 })
  network.set_constrained(false)
end)

test("an error of on_waiting ends the call", function(t)
  local api = client({ { fault = "offline" } }, { wait_for_connectivity = 60, allow_constrained = false })
  network.set_constrained(true)
  local ok, err = pcall(api.get, api, "/a", { on_waiting = function() error("stop", 0) end })
  network.set_constrained(false)
  t:equal({ ok, err }, { false, "stop" })
end)

test("options are checked", function(t)
  misuse("get: on_waiting must be a function, got number", function() client({ {} }):get("/a", { on_waiting = 1 }) end)
  t:matches(select(2, pcall(network.set_constrained, nil)), "boolean expected, got nil")
end)

assert(testing.run().ok, "a case failed")
