-- nightjar.uuid. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local uuid = nightjar.uuid

test("each UUID is unique and well-formed", function(t)
  local seen = {}
  for _, make in ipairs { uuid.v4, uuid.v7 } do
    for _ = 1, 5000 do
      local id = make()
      t:truthy(not seen[id], id)
      t:matches(id, "^%x%x%x%x%x%x%x%x%-%x%x%x%x%-[47]%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$")
      seen[id] = true
    end
  end
end)

test("UUIDs with a time sort in the order of their creation, also within a millisecond", function(t)
  local last = ""
  for _ = 1, 20000 do
    local id = uuid.v7()
    t:truthy(id > last, id)
    last = id
  end
  local _, version, moment = uuid.parse(last)
  t:equal(version, 7)
  t:truthy(math.abs(moment - nightjar.time.now()) < 60, moment)
end)

test("a UUID can be created for a given time", function(t)
  t:equal(select(3, uuid.parse(uuid.v7(1709208000.123))), 1709208000.123)
  t:truthy(uuid.v7(1) < uuid.v7(2))
end)

-- Each entry has the section of RFC 9562, the text, and the results of parse.
local parsed = {
  { "appendix A.6", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", 7, 1645557742 },
  { "appendix A.3", "919108f7-52d1-4320-9bac-f847db4148a8", "919108f7-52d1-4320-9bac-f847db4148a8", 4 },
  { "section 5.9", "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000" },
}
for _, row in ipairs(parsed) do
  local section, text = row[1], row[2]
  test(("parse returns the text, the version and the time of %s (RFC 9562 %s)"):format(text, section), function(t)
    local results = table.pack(uuid.parse(text))
    t:equal(results.n, #row - 2)
    for index = 1, results.n do t:equal(results[index], row[index + 2]) end
  end)
end

test("is_valid accepts only the form 8-4-4-4-12", function(t)
  t:equal(uuid.is_valid(uuid.v4()), true)
  for _, text in ipairs {
    "", "x", "919108f752d143209bacf847db4148a8", "919108f7-52d1-4320-9bac-f847db4148a",
    "919108f7-52d1-4320-9bac-f847db4148ag", 1,
  } do
    t:equal(uuid.is_valid(text), false)
  end
end)

test("an invalid text and invalid arguments raise an error", function()
  fails("decoding", "UUID parsing failed: expected 32 hexadecimal digits in the form 8-4-4-4-12", uuid.parse, "x")
  misuse("bad argument #1 to 'parse' (string expected, got no value)", function() uuid.parse() end)
  misuse("bad argument #1 to 'v7' (a time between 1970 and 10889 expected)", function() uuid.v7(-1) end)
  misuse("bad argument #1 to 'v7' (a time between 1970 and 10889 expected)", function() uuid.v7(0 / 0) end)
end)

assert(testing.run().ok, "a case failed")
