local testing = require "nightjar.testing"
testing.before(function(t) t.started = testing.clock() end)
testing.after(function(t) t.started:close() end)
testing.test("sleeps", { timeout = 60 }, function(t)
  t.started:advance(30)
  t:equal(t.started:now(), 30)
end)
local result = testing.run { format = "none" }
print(result.passed, result.failed, result.exit)
-- Prints:
--   1	0	0
