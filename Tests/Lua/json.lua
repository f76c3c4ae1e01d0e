-- nightjar.json, nightjar.null, nightjar.array. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local encode, decode = nightjar.json.encode, nightjar.json.decode
local same = check.equal -- identity; t:equal compares tables by content

-- Each entry has the section of RFC 8259, a description, and the texts.
local valid = {
  { "3", "the literal names", "null", "true", "false" },
  { "4", "objects", "{}", '{"a":{"b":[null]}}' },
  { "5", "arrays", "[]", "[[],{},[{}]]", "[1,2,null]" },
  { "6", "numbers", "9223372036854775807", "-9223372036854775808", "0.1", "1e+300", "-1.5" },
  { "7", "strings", '""', '"\\u0000\\u001f\\"\\\\"' },
  { "8.1", "UTF-8", '"é😀"' },
  { "9", "nesting up to the limit of 1024 levels", ("["):rep(1024) .. ("]"):rep(1024),
    ('{"a":'):rep(1023) .. "{}" .. ("}"):rep(1023), ("["):rep(1024) .. "1" .. ("]"):rep(1024),
    ('{"a":'):rep(1024) .. "1" .. ("}"):rep(1024) },
}
for _, row in ipairs(valid) do
  test(("decoding and encoding returns the same text: %s (RFC 8259 section %s)"):format(row[2], row[1]), function(t)
    for index = 3, #row do t:equal(encode(decode(row[index])), row[index]) end
  end)
end

-- Each entry has the section of RFC 8259, a description, the message and the text.
local invalid = {
  { "2", "no value", "expected a value but the text ends at line 1 column 1", "" },
  { "2", "two values", "unexpected data after the value at line 1 column 3", "1 2" },
  { "4", "no comma between members", "expected ',' or '}' at line 3 column 3", '{\n  "a": 1\n  "b": 2}' },
  { "4", "a comma after the last member", "expected a name in quotes at line 1 column 8", '{"a":1,}' },
  { "6", "a number that is too large", "a number is out of the range of a double at line 1 column 1", "1e999" },
  { "8.1", "invalid UTF-8", "invalid UTF-8 at line 1 column 2", '"\xff"' },
  { "8.1", "several byte order marks", "expected a value at line 1 column 4", ("\xEF\xBB\xBF"):rep(1000000) },
  { "9", "1025 levels that are not closed",
    "arrays and objects nested more than 1024 levels deep at line 1 column 1025", ("["):rep(1025) },
  { "9", "1025 levels",
    "arrays and objects nested more than 1024 levels deep at line 1 column 1025", ("["):rep(1025) .. ("]"):rep(1025) },
}
for _, row in ipairs(invalid) do
  local section, what, message, text = row[1], row[2], row[3], row[4]
  test(("decode refuses %s (RFC 8259 section %s)"):format(what, section), function()
    fails("decoding", "the text is not JSON: " .. message, decode, text)
  end)
end

test("integers have 64 bits, and larger numbers become floats", function(t)
  t:equal(decode "9223372036854775807", math.maxinteger)
  t:equal(math.type(decode "1"), "integer")
  t:equal(math.type(decode "1.0"), "float")
  t:equal(decode "18446744073709551616", 2.0 ^ 64)
  t:equal(encode(10 / 2), "5")
  t:equal(encode(2 ^ 53), "9007199254740992")
end)

test("the sign of a negative zero is kept", function(t)
  t:equal(encode(-0.0), "-0.0")
  t:equal(1 / decode("-0.0"), -math.huge)
end)

test("null is a value, and nil is encoded as null", function(t)
  t:equal(decode "null", nightjar.null)
  t:equal(tostring(nightjar.null), "null")
  t:equal(encode(nil), "null")
  t:equal(encode { a = nightjar.null }, '{"a":null}')
  t:equal(decode('{"a":null}').a, nightjar.null)
end)

test("an empty table is an object, unless it is marked as an array", function(t)
  t:equal(encode {}, "{}")
  t:equal(encode(nightjar.array {}), "[]")
  t:equal(encode(nightjar.array()), "[]")
end)

test("a decoded array remains an array when its last element is removed", function(t)
  local list = decode "[1]"
  list[1] = nil
  t:equal(encode(list), "[]")
end)

test("decode uses the last of duplicate names", function(t) t:equal(decode('{"a":1,"a":2}').a, 2) end)

test("decode skips a byte order mark", function(t)
  t:equal(decode "\xEF\xBB\xBF[1]"[1], 1)
  t:equal(decode "\xEF\xBB\xBF18446744073709551616", 2.0 ^ 64)
end)

test("encode sorts the names of objects", function(t)
  t:equal(encode { c = 1, a = 2, b = { z = 1, y = 2 } }, '{"a":2,"b":{"y":2,"z":1},"c":1}')
  local many = {}
  for i = 1, 5000 do many["name" .. i] = i end
  t:equal(encode(decode(encode(many))), encode(many))
  t:equal(#encode(many, { sorted = false }), #encode(many))
end)

test("encode writes indented text on request", function(t)
  t:equal(encode({ a = 1, b = { 1, {} }, c = nightjar.array {} }, { pretty = true }),
    '{\n  "a": 1,\n  "b": [\n    1,\n    {}\n  ],\n  "c": []\n}')
  t:equal(encode({ a = { 1 } }, { indent = 4 }), '{\n    "a": [\n        1\n    ]\n}')
  t:equal(encode({ a = { 1 } }, { indent = 0 }), '{\n"a": [\n1\n]\n}')
end)

local function refused(message, value, options) fails("invalid_argument", message, encode, value, options) end

test("encode refuses a table that contains itself", function()
  local circle = {}
  circle.a = { 1, { x = circle } }
  refused("value.a[2].x: the table contains itself", circle)
end)

test("encode refuses values that JSON does not have, and names their location", function()
  refused("value.a[1]: NaN cannot be represented in JSON", { a = { 0 / 0 } })
  refused('value["x y"]: an infinite number cannot be represented in JSON', { ["x y"] = math.huge })
  refused("value.x: a function cannot be represented in JSON", { x = print })
  refused("value.a.x: a function cannot be represented in JSON", { a = { x = print } }, { sorted = false })
  refused("value: the string is not valid UTF-8; encode bytes, for example as base64", "\xff")
end)

test("encode refuses tables that are neither an object nor an array", function()
  refused("value: the table has both names and indices; use either names (an object) or indices (an array)",
    { 1, 2, x = 1 })
  refused("value: the table has both names and indices; use either names (an object) or indices (an array)",
    { 1, x = 1 }, { sorted = false })
  refused("value: the array has no value at [2]; use nightjar.null for missing elements", { 1, nil, 3 })
  refused("value: the table has the index 0; arrays must start at 1", { [0] = 1 })
  refused("value.a: a table key is a boolean; member names in JSON must be strings", { a = { [true] = 1 } })
  refused("value.a: a table key is a number; member names in JSON must be strings", { a = { [1.5] = 1 } })
end)

test("encode refuses tables that are nested too deeply, and shortens their location", function()
  local deep = {}
  local inner = deep
  for _ = 1, 1024 do
    inner[1] = {}
    inner = inner[1]
  end
  local location = "value" .. ("[1]"):rep(12) .. " ... " .. ("[1]"):rep(12)
  refused(location .. ": tables are nested more than 1024 levels deep", deep)
end)

test("invalid arguments raise an error that names the function and the argument", function()
  misuse("bad argument #1 to 'decode' (string expected, got no value)", function() decode() end)
  misuse("bad argument #1 to 'decode' (string expected, got number)", function() decode(1) end)
  misuse("bad argument #1 to 'encode' (value expected)", function() encode() end)
  misuse("bad argument #2 to 'encode' (table expected, got boolean)", function() encode(1, true) end)
  misuse("bad argument #2 to 'encode' (unknown option 'prety'; the options are pretty, indent and sorted)",
    function() encode(1, { prety = true }) end)
  misuse("bad argument #2 to 'encode' (option 'pretty' must be a boolean, got number)",
    function() encode(1, { pretty = 1 }) end)
  misuse("bad argument #2 to 'encode' (option 'indent' must be an integer from 0 to 16)",
    function() encode(1, { indent = 17 }) end)
  misuse("bad argument #1 to 'array' (table expected, got string)", function() nightjar.array "x" end)
  misuse("bad argument #1 to 'array' (the table already has a metatable)",
    function() nightjar.array(setmetatable({}, {})) end)
end)

test("a finalizer can use the module while a table is being built", function(t)
  for _ = 1, 2000 do
    setmetatable({}, { __gc = function() encode(decode '[{"z":1}]') end })
    t:equal(encode(decode '{"a":[1,2,{"b":"a string of more than forty characters, collected"}]}'),
      '{"a":[1,2,{"b":"a string of more than forty characters, collected"}]}')
  end
end)

-- Two thousand objects with repeated names, more names than the cache of names has room for, and long and empty names.
local objects = {}
for i = 1, 2000 do
  objects[i] = {
    id = i, [""] = -i, ["name" .. i % 100] = "a", ["\u{e4}" .. ("x"):rep(i % 60)] = { i, {} }, list = nightjar.array {},
  }
end
local long_text = encode(objects)

test("a long document gives the same result as its parts", function(t)
  t:truthy(#long_text > 100000)
  local whole = decode(long_text)
  t:equal(#whole, 2000)
  for i = 1, 2000 do t:equal(encode(whole[i], { sorted = true }), encode(objects[i], { sorted = true })) end
end)

test("decode does not change the state of the garbage collector", function(t)
  t:truthy(collectgarbage "isrunning")
  collectgarbage "stop"
  t:cleanup(collectgarbage, "restart")
  decode(long_text)
  t:truthy(not collectgarbage "isrunning")
end)

test("an unreferenced decoded document is collected", function(t)
  local former = collectgarbage "incremental"
  t:cleanup(function() collectgarbage(former) end)
  for _, mode in ipairs { "incremental", "generational" } do
    collectgarbage(mode)
    collectgarbage()
    local before = collectgarbage "count"
    decode(long_text)
    local one = collectgarbage "count" - before
    local most = 0
    for _ = 1, 30 do
      decode(long_text)
      most = math.max(most, collectgarbage "count" - before)
    end
    t:truthy(most < 4 * one, mode)
  end
end)

test("a finalizer can decode a long document", function(t)
  local seen
  setmetatable({}, { __gc = function() seen = #decode(long_text) end })
  collectgarbage()
  t:equal(seen, 2000)
end)

local document = decode
  '{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\\\j":5,"k\\"l":6," ":7,"m~n":8,"01":9}'
local pointer = nightjar.json.pointer

-- Each entry has the section of RFC 6901, the pointer and its value in the document. Most are examples of section 5.
local pointers = {
  { "5", "/foo/0", "bar" },
  { "4", "/foo/1", "baz" },
  { "5", "/", 0 },
  { "5", "/a~1b", 1 },
  { "5", "/c%d", 2 },
  { "5", "/e^f", 3 },
  { "5", "/g|h", 4 },
  { "5", "/i\\j", 5 },
  { "5", '/k"l', 6 },
  { "5", "/ ", 7 },
  { "5", "/m~0n", 8 },
  { "4", "/01", 9 }, -- a name, not an index
  { "4", "/foo/2", nil },
  { "4", "/foo/-", nil },
  { "4", "/foo/01", nil },
  { "4", "/foo/1/x", nil },
  { "4", "/x/y", nil },
  { "4", "/foo/99999999999999999999", nil },
  { "4", "/foo/length", nil },
}
for _, row in ipairs(pointers) do
  local name = ("the JSON Pointer %s leads to %s (RFC 6901 section %s)"):format(row[2], row[3] or "nothing", row[1])
  test(name, function(t)
    t:equal(pointer(document, row[2]), row[3])
  end)
end

test("the empty JSON Pointer is the whole document (RFC 6901 section 5)", function(t)
  same(pointer(document, ""), document)
  t:equal(pointer(1, ""), 1)
  t:equal(pointer(nil, "/a"), nil)
end)

test("an invalid JSON Pointer raises an error (RFC 6901 section 3)", function()
  fails("invalid_argument", "json.pointer: the JSON Pointer 'foo' must be empty or begin with /, as in \"/items/0\"",
    pointer, document, "foo")
  fails("invalid_argument",
    "json.pointer: the JSON Pointer '/x/a~2' has a ~ that is not followed by 0 or 1; write ~ as ~0 and / as ~1",
    pointer, document, "/x/a~2")
  misuse("bad argument #2 to 'pointer' (string expected, got no value)", function() pointer {} end)
end)

assert(testing.run().ok, "a case failed")
