-- nightjar.json, nightjar.null, nightjar.array
local nightjar = require "nightjar"
local check = require "check"
local encode, decode, equal = nightjar.json.encode, nightjar.json.decode, check.equal

-- Values come back as they were.
for _, text in ipairs {
  "{}", "[]", "null", "true", "false", '""', "[[],{},[{}]]", '{"a":{"b":[null]}}', "[1,2,null]",
  "9223372036854775807", "-9223372036854775808", "0.1", "1e+300", "-1.5", '"\\u0000\\u001f\\"\\\\"', '"é😀"',
  ("["):rep(1024) .. ("]"):rep(1024), ('{"a":'):rep(1023) .. "{}" .. ("}"):rep(1023),
  ("["):rep(1024) .. "1" .. ("]"):rep(1024), ('{"a":'):rep(1024) .. "1" .. ("}"):rep(1024),
} do
  equal(encode(decode(text)), text)
end

-- Integers keep their 64 bits; what does not fit becomes a float.
equal(decode "9223372036854775807", math.maxinteger)
equal(math.type(decode "1"), "integer")
equal(math.type(decode "1.0"), "float")
equal(decode "18446744073709551616", 2.0 ^ 64)
equal(encode(10 / 2), "5")
equal(encode(2 ^ 53), "9007199254740992")

-- Null is a value; nothing is not.
equal(decode "null", nightjar.null)
equal(tostring(nightjar.null), "null")
equal(encode(nil), "null")
equal(encode {a = nightjar.null}, '{"a":null}')
equal(decode('{"a":null}').a, nightjar.null)

-- A table without a mark is an object when it is empty.
equal(encode {}, "{}")
equal(encode(nightjar.array {}), "[]")
equal(encode(nightjar.array()), "[]")
local list = decode "[1]"
list[1] = nil
equal(encode(list), "[]")

-- Of a name that repeats, the last counts. A byte order mark is skipped.
equal(decode('{"a":1,"a":2}').a, 2)
equal(decode "\xEF\xBB\xBF[1]"[1], 1)
equal(decode "\xEF\xBB\xBF18446744073709551616", 2.0 ^ 64)
check.fails("decoding", "the text is not JSON: expected a value at line 1 column 4", decode,
  ("\xEF\xBB\xBF"):rep(1000000))

-- The text of a value is always the same.
equal(encode {c = 1, a = 2, b = {z = 1, y = 2}}, '{"a":2,"b":{"y":2,"z":1},"c":1}')
equal(encode({a = 1, b = {1, {}}, c = nightjar.array {}}, {pretty = true}),
  '{\n  "a": 1,\n  "b": [\n    1,\n    {}\n  ],\n  "c": []\n}')
equal(encode({a = {1}}, {indent = 4}), '{\n    "a": [\n        1\n    ]\n}')
equal(encode({a = {1}}, {indent = 0}), '{\n"a": [\n1\n]\n}')
local many = {}
for i = 1, 5000 do many["name" .. i] = i end
equal(encode(decode(encode(many))), encode(many))
equal(#encode(many, {sorted = false}), #encode(many))

-- What JSON has not is refused where it lies.
local function refused(message, value, options)
  check.fails("invalid_argument", message, encode, value, options)
end
local circle = {}
circle.a = {1, {x = circle}}
refused("value.a[2].x: the table contains itself", circle)
refused("value.a[1]: NaN cannot be represented in JSON", {a = {0 / 0}})
refused('value["x y"]: an infinite number cannot be represented in JSON', {["x y"] = math.huge})
refused("value.x: a function cannot be represented in JSON", {x = print})
refused("value.a.x: a function cannot be represented in JSON", {a = {x = print}}, {sorted = false})
refused("value: the table has both names and indices; use either names (an object) or indices (an array)", {1, 2, x = 1})
refused("value: the table has both names and indices; use either names (an object) or indices (an array)", {1, x = 1}, {sorted = false})
refused("value: the array has no value at [2]; use nightjar.null for missing elements", {1, nil, 3})
refused("value: the table has the index 0; arrays must start at 1", {[0] = 1})
refused("value.a: a table key is a boolean; member names in JSON must be strings", {a = {[true] = 1}})
refused("value.a: a table key is a number; member names in JSON must be strings", {a = {[1.5] = 1}})
refused("value: the string is not valid UTF-8; encode bytes, for example as base64", "\xff")
local deep = {}
local inner = deep
for _ = 1, 1024 do
  inner[1] = {}
  inner = inner[1]
end
check.fails("invalid_argument", "value" .. ("[1]"):rep(12) .. " ... " .. ("[1]"):rep(12) .. ": tables are nested more than 1024 levels deep", encode, deep)
check.equal(encode(-0.0), "-0.0")
check.equal(1 / nightjar.json.decode("-0.0"), -math.huge)

-- What is not JSON is told with its place.
local function broken(message, text)
  check.fails("decoding", "the text is not JSON: " .. message, decode, text)
end
broken("expected a value but the text ends at line 1 column 1", "")
broken("expected ',' or '}' at line 3 column 3", '{\n  "a": 1\n  "b": 2}')
broken("expected a name in quotes at line 1 column 8", '{"a":1,}')
broken("a number beyond the range of doubles at line 1 column 1", "1e999")
broken("more than 1024 arrays and objects within each other at line 1 column 1025", ("["):rep(1025))
broken("more than 1024 arrays and objects within each other at line 1 column 1025", ("["):rep(1025) .. ("]"):rep(1025))
broken("expected nothing behind the value at line 1 column 3", "1 2")
broken("bytes that are not UTF-8 at line 1 column 2", '"\xff"')

-- Misuse.
check.misuse("bad argument #1 to 'decode' (string expected, got no value)", function() decode() end)
check.misuse("bad argument #1 to 'decode' (string expected, got number)", function() decode(1) end)
check.misuse("bad argument #1 to 'encode' (value expected)", function() encode() end)
check.misuse("bad argument #2 to 'encode' (table expected, got boolean)", function() encode(1, true) end)
check.misuse("bad argument #2 to 'encode' (unknown option 'prety'; the options are pretty, indent and sorted)",
  function() encode(1, {prety = true}) end)
check.misuse("bad argument #2 to 'encode' (option 'pretty' must be a boolean, got number)",
  function() encode(1, {pretty = 1}) end)
check.misuse("bad argument #2 to 'encode' (option 'indent' must be an integer from 0 to 16)",
  function() encode(1, {indent = 17}) end)
check.misuse("bad argument #1 to 'array' (table expected, got string)", function() nightjar.array "x" end)
check.misuse("bad argument #1 to 'array' (the table already has a metatable)",
  function() nightjar.array(setmetatable({}, {})) end)

-- A finalizer may use it while a table is being built.
for _ = 1, 2000 do
  setmetatable({}, {__gc = function() encode(decode '[{"z":1}]') end})
  equal(encode(decode '{"a":[1,2,{"b":"a string of more than forty characters, collected"}]}'),
    '{"a":[1,2,{"b":"a string of more than forty characters, collected"}]}')
end

-- A long document becomes the same as its parts: names that come again, more of them than are remembered, long and empty ones.
do
  local objects = {}
  for i = 1, 2000 do
    local object = {id = i, [""] = -i, ["name" .. i % 100] = "a", ["\u{e4}" .. ("x"):rep(i % 60)] = {i, {}}, list = nightjar.array {}}
    objects[i] = object
  end
  local text = encode(objects)
  assert(#text > 100000)
  local whole = decode(text)
  equal(#whole, 2000)
  for i = 1, 2000 do equal(encode(whole[i], {sorted = true}), encode(objects[i], {sorted = true})) end

  -- The collector goes on as it was, and a decoded document that nobody keeps does not stay.
  assert(collectgarbage "isrunning")
  collectgarbage "stop"
  decode(text)
  assert(not collectgarbage "isrunning")
  collectgarbage "restart"
  local former = collectgarbage "incremental"
  for _, mode in ipairs {"incremental", "generational"} do
    collectgarbage(mode)
    collectgarbage()
    local before = collectgarbage "count"
    decode(text)
    local one = collectgarbage "count" - before
    local most = 0
    for _ = 1, 30 do
      decode(text)
      most = math.max(most, collectgarbage "count" - before)
    end
    assert(most < 4 * one, mode)
  end
  collectgarbage(former)

  -- Also where it is decoded by what the collector runs.
  local seen
  setmetatable({}, {__gc = function() seen = #decode(text) end})
  collectgarbage()
  equal(seen, 2000)
end

-- A place in a value. RFC 6901 section 5.
do
  local document = decode '{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\\\j":5,"k\\"l":6," ":7,"m~n":8,"01":9}'
  local pointer = nightjar.json.pointer
  equal(pointer(document, ""), document)
  for text, value in pairs {
    ["/foo/0"] = "bar", ["/foo/1"] = "baz", ["/"] = 0, ["/a~1b"] = 1, ["/c%d"] = 2, ["/e^f"] = 3, ["/g|h"] = 4, ["/i\\j"] = 5, ['/k"l'] = 6,
    ["/ "] = 7, ["/m~0n"] = 8, ["/01"] = 9,
  } do
    equal(pointer(document, text), value)
  end
  for _, text in ipairs { "/foo/2", "/foo/-", "/foo/01", "/foo/1/x", "/x/y", "/foo/99999999999999999999", "/foo/length" } do
    equal(pointer(document, text), nil)
  end
  equal(pointer(1, ""), 1)
  equal(pointer(nil, "/a"), nil)
  check.fails("invalid_argument", "json.pointer: the JSON Pointer 'foo' must be empty or begin with /, as in \"/items/0\"", pointer, document, "foo")
  check.fails("invalid_argument", "json.pointer: the JSON Pointer '/x/a~2' has a ~ that is not followed by 0 or 1; write ~ as ~0 and / as ~1", pointer, document, "/x/a~2")
  check.misuse("bad argument #2 to 'pointer' (string expected, got no value)", function() pointer {} end)
end
