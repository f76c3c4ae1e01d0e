local testing = require "nightjar.testing"
testing.test("checks", function(t)
  t:cleanup(print, "cleaned up")
  t:equal({ 1, { a = 2 } }, { 1, { a = 2 } })
  t:truthy "text"
  t:falsy(nil)
  t:near(0.1 + 0.2, 0.3)
  t:equal(t:matches("id-42", "%d+"), "42")
  t:equal(t:raises("no such thing", function() error "no such thing" end) ~= nil, true)
  t:test("inside", function(inner) inner:skip "not today" end)
end)
testing.test("fails", function(t) t:fail "on purpose" end)
testing.test("replays", function(t)
  t:replay "missing.json"
  t:raises("storage", require("nightjar").client, { base_url = "http://api.example" })
end)
local result = testing.run { format = "none" }
print(result.passed, result.failed, result.skipped)
-- Prints:
--   cleaned up
--   2	1	1
