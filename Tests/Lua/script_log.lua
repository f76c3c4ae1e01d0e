-- nightjar.log: its levels, and invalid use. Needs no server.
-- Tests/NightjarLuaTests and Tests/Command check its output.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse = testing.test, check.misuse
local log = nightjar.log

local level = log.level()
testing.after(function() log.set_level(level) end)

test("set_level sets the level, and accepts warning for warn", function(t)
  log.set_level "off"
  t:equal(log.level(), "off")
  log.set_level "warning"
  t:equal(log.level(), "warn")
  log.set_level "error"
  t:equal(log.level(), "error")
end)

test("a message below the level is not written", function()
  log.set_level "off"
  log.error("not seen", { a = {} })
  log.with({ request = 1 }).with({ more = true }).info "not seen"
  log.set_level "warning"
  log.info "not seen"
end)

test("the fields of a message below the level are not read", function()
  log.set_level "error"
  log.debug("not seen", setmetatable({}, { __pairs = error, __index = error }))
end)

test("invalid arguments raise an error", function()
  misuse('log.set_level: the level must be "debug", "info", "warn", "error" or "off", got "wran"; did you mean "warn"?',
    function() log.set_level "wran" end)
  misuse('log.set_level: the level must be "debug", "info", "warn", "error" or "off", got nil',
    function() log.set_level() end)
  misuse("log.error: a message expected, got no value", function() log.error() end)
  misuse("log.error: the fields must be a table, got string", function() log.error("x", "y") end)
  misuse("log: the name of a field must be a string, got number", function() log.error("x", { "y" }) end)
  misuse("log.with: a table expected, got no value", function() log.with() end)
end)

assert(testing.run().ok, "a case failed")
