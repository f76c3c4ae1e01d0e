-- nightjar.log: its levels, and invalid use. Tests/NightjarLuaTests and Tests/Command check its output.
local nightjar = require "nightjar"
local check = require "check"
local log, equal = nightjar.log, check.equal

local before = log.level()
log.set_level "off"
equal(log.level(), "off")
log.error("not seen", { a = {} })
log.with({ request = 1 }).with({ more = true }).info "not seen"
log.set_level "warning"
equal(log.level(), "warn")
log.info "not seen"
log.set_level "error"
equal(log.level(), "error")

-- A message below the level costs nothing: its fields are not read.
log.debug("not seen", setmetatable({}, { __pairs = error, __index = error }))
log.set_level(before)

check.misuse('log.set_level: the level must be "debug", "info", "warn", "error" or "off", got "wran"; did you mean "warn"?', function() log.set_level "wran" end)
check.misuse('log.set_level: the level must be "debug", "info", "warn", "error" or "off", got nil', function() log.set_level() end)
check.misuse("log.error: a message expected, got no value", function() log.error() end)
check.misuse("log.error: the fields must be a table, got string", function() log.error("x", "y") end)
check.misuse("log: the name of a field must be a string, got number", function() log.error("x", { "y" }) end)
check.misuse("log.with: a table expected, got no value", function() log.with() end)
