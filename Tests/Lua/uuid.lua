-- nightjar.uuid
local nightjar = require "nightjar"
local check = require "check"
local uuid, equal = nightjar.uuid, check.equal

-- Each is another, and well formed.
local seen = {}
for _, make in ipairs { uuid.v4, uuid.v7 } do
  for _ = 1, 5000 do
    local id = make()
    assert(not seen[id], id)
    assert(id:find "^%x%x%x%x%x%x%x%x%-%x%x%x%x%-[47]%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$", id)
    seen[id] = true
  end
end

-- Those with a time sort in the order in which they were made, also within a millisecond.
do
  local last = ""
  for _ = 1, 20000 do
    local id = uuid.v7()
    assert(id > last, id)
    last = id
  end
  local _, version, moment = uuid.parse(last)
  equal(version, 7)
  assert(math.abs(moment - nightjar.time.now()) < 60, moment)
end
equal(select(3, uuid.parse(uuid.v7(1709208000.123))), 1709208000.123)
assert(uuid.v7(1) < uuid.v7(2))

-- Reading. The example is that of RFC 9562 appendix A.6.
do
  local text, version, moment = uuid.parse "017F22E2-79B0-7CC3-98C4-DC0C0C07398F"
  equal(text, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
  equal(version, 7)
  equal(moment, 1645557742)
  equal(select("#", uuid.parse "919108f7-52d1-4320-9bac-f847db4148a8"), 2)
  equal(select("#", uuid.parse "00000000-0000-0000-0000-000000000000"), 1)
end
equal(uuid.is_valid(uuid.v4()), true)
for _, text in ipairs { "", "x", "919108f752d143209bacf847db4148a8", "919108f7-52d1-4320-9bac-f847db4148a", "919108f7-52d1-4320-9bac-f847db4148ag", 1 } do
  equal(uuid.is_valid(text), false)
end
check.fails("decoding", "UUID parsing failed: expected 32 hexadecimal digits in the form 8-4-4-4-12", uuid.parse, "x")
check.misuse("bad argument #1 to 'parse' (string expected, got no value)", function() uuid.parse() end)
check.misuse("bad argument #1 to 'v7' (a time between 1970 and 10889 expected)", function() uuid.v7(-1) end)
check.misuse("bad argument #1 to 'v7' (a time between 1970 and 10889 expected)", function() uuid.v7(0 / 0) end)
