-- What json.decode and json.encode promise, and the exact text of their errors.
-- scripts/test-json runs it against Tests/Lua/json_module.c.
local json <const> = require "njl_json"
local decode <const>, encode <const>, array <const>, null <const> = json.decode, json.encode, json.array, json.null

local checks, failures = 0, 0

local function show(value)
  return type(value) == "string" and ("%q"):format(value) or math.type(value) and ("%s %s"):format(math.type(value), value)
    or tostring(value)
end

local function expect(what, got, wanted)
  checks = checks + 1
  if rawequal(got, wanted) and math.type(got) == math.type(wanted) then return end
  failures = failures + 1
  io.stderr:write(("FAILED %s\n  got    %s\n  wanted %s\n"):format(what, show(got), show(wanted)))
end

-- The message that f(...) raises, without the position in front.
local function refusal(f, ...)
  local ok, message = pcall(f, ...)
  if ok then return "no error" end
  return (tostring(message):gsub("^[^:]*%.lua:%d+: ", ""):gsub("njl_json%.", ""))
end

-- Decoding: values.
expect("null", decode "null", null)
expect("null is true in a condition", not null, false)
expect("true", decode " true\n", true)
expect("false", decode "false", false)
expect("integer", decode "12", 12)
expect("minus zero is the integer 0", decode "-0", 0)
expect("float", decode "12.0", 12.0)
expect("exponent", decode "1e2", 100.0)
expect("largest integer", decode "9223372036854775807", math.maxinteger)
expect("smallest integer", decode "-9223372036854775808", math.mininteger)
expect("above int64: a float", decode "9223372036854775808", 2.0 ^ 63)
expect("largest uint64", decode "18446744073709551615", 2.0 ^ 64)
expect("beyond 2^53", decode "9007199254740993", 9007199254740993)
expect("smallest float", decode "5e-324", 5e-324)
expect("largest float", decode "1.7976931348623157e308", 1.7976931348623157e308)
expect("empty string", decode '""', "")
expect("escapes", decode [["\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0000"]], "\"\\/\b\f\n\r\té😀\0")
expect("UTF-8", decode '"é€😀"', "é€😀")
expect("DEL", decode '"\127"', "\127")

local value = decode '{"a":[1,{"b":null},"x"],"":{},"n":-1.5,"a.b":[[]],"d":1,"d":2}'
expect("array element", value.a[1], 1)
expect("null inside", value.a[2].b, null)
expect("length", #value.a, 3)
expect("empty name", type(value[""]), "table")
expect("name with a dot", #value["a.b"][1], 0)
expect("of a repeated name the last stays", value.d, 2)

local long = "[" .. ("1,"):rep(100000) .. "2]"
expect("long array", #decode(long), 100001)
expect("its last", decode(long)[100001], 2)

-- Decoding: refusals.
for text, message in pairs {
  [""] = "expected a value at line 1 column 1, the end of the text",
  [" \n "] = "expected a value at line 2 column 2, the end of the text",
  ["[1,\n 2\n 3]"] = "expected ',' or ']' at line 3 column 2",
  ['{\n  "a": 1,\n  "b": 2 ]'] = "expected ',' or '}' at line 3 column 10",
  ["{"] = "expected a key in '\"' or '}' at line 1 column 2, the end of the text",
  ["{,}"] = "expected a key in '\"' or '}' at line 1 column 2",
  ['{"a":1,}'] = "expected a key in '\"' at line 1 column 8",
  ['{"a":}'] = "expected a value at line 1 column 6",
  ['{"a"}'] = "expected ':' at line 1 column 5",
  ["{1:2}"] = "expected a key in '\"' or '}' at line 1 column 2",
  ["[,1]"] = "expected a value or ']' at line 1 column 2",
  ["[1,]"] = "expected a value at line 1 column 4",
  ["[1,,2]"] = "expected a value at line 1 column 4",
  ["]"] = "expected a value at line 1 column 1",
  ["[]]"] = "expected the end of the text at line 1 column 3",
  ["1 2"] = "expected the end of the text at line 1 column 3",
  ["nul"] = "expected a value at line 1 column 4, the end of the text",
  ["nuL"] = "expected a value at line 1 column 1",
  ["True"] = "expected a value at line 1 column 1",
  ["nan"] = "expected a value at line 1 column 1",
  ["-Infinity"] = "expected a digit at line 1 column 2",
  ["+1"] = "expected a value at line 1 column 1",
  [".5"] = "expected a value at line 1 column 1",
  ["5."] = "expected a digit after '.' at line 1 column 3, the end of the text",
  ["5.e1"] = "expected a digit after '.' at line 1 column 3",
  ["1e"] = "expected a digit in the exponent at line 1 column 3, the end of the text",
  ["-"] = "expected a digit at line 1 column 2, the end of the text",
  ["-01"] = "number with a leading zero at line 1 column 2",
  ["0x10"] = "expected the end of the text at line 1 column 2",
  ["18446744073709551616"] = "integer beyond 64 bits at line 1 column 1",
  ["-9223372036854775809"] = "integer beyond 64 bits at line 1 column 1",
  ["[1e400]"] = "number beyond the range of a double at line 1 column 2",
  ["'a'"] = "expected a value at line 1 column 1",
  ['"a'] = "expected '\"' at line 1 column 3, the end of the text",
  ['"a\nb"'] = "control character in a string at line 1 column 3",
  ['"a\0b"'] = "control character in a string at line 1 column 3",
  ['"\\q"'] = "expected one of \"\\/bfnrtu after a backslash at line 1 column 3",
  ['"\\u00G0"'] = "expected four hexadecimal digits after \\u at line 1 column 6",
  ['"\\uD834"'] = "half of a surrogate pair at line 1 column 2",
  ['"\\uDD1E"'] = "half of a surrogate pair at line 1 column 2",
  ['"\\uD834\\uD834"'] = "half of a surrogate pair at line 1 column 2",
  ['"\xff"'] = "invalid UTF-8 at line 1 column 2",
  ['"\xc0\xaf"'] = "invalid UTF-8 at line 1 column 2",
  ['"\xed\xa0\x80"'] = "invalid UTF-8 at line 1 column 2",
  ["\xef\xbb\xbf{}"] = "expected a value at line 1 column 1",
  ["[1]\0"] = "expected the end of the text at line 1 column 4",
  ["/* c */ 1"] = "expected a value at line 1 column 1",
} do
  expect("refused: " .. text, refusal(decode, text), "invalid JSON: " .. message)
end
expect("not a text", refusal(decode), "bad argument #1 to 'decode' (string expected, got no value)")
expect("a number is no text", refusal(decode, 5), "bad argument #1 to 'decode' (string expected, got number)")
local ok, message = pcall(function() return decode "[" end)
expect("the position of the caller", ok or message:match "^[^:]*json%.lua:%d+: invalid JSON" ~= nil, true)

-- Each cut of a text is refused, and decoding goes on working.
local whole = '{"a":[1,-2.5e-3,"x\\u00e9\\n",true,false,null,{}],"é":{"b":[[]]}}'
for length = 0, #whole - 1 do expect("cut at " .. length, pcall(decode, whole:sub(1, length)), false) end
expect("after that", decode(whole).a[2], -2.5e-3)

-- Encoding: values.
expect("null", encode(null), "null")
expect("true", encode(true), "true")
expect("integer", encode(-12), "-12")
expect("largest", encode(math.maxinteger), "9223372036854775807")
expect("smallest", encode(math.mininteger), "-9223372036854775808")
expect("zero", encode(0), "0")
expect("0.1", encode(0.1), "0.1")
expect("a sum that is not 0.3", encode(0.1 + 0.2), "0.30000000000000004")
expect("whole float", encode(3.0), "3")
expect("whole float without an exponent", encode(1e5), "100000")
expect("minus zero", encode(-0.0), "-0.0")
expect("large", encode(1e300), "1e+300")
expect("smallest float", encode(5e-324), "5e-324")
expect("string", encode "é \"\\/\b\f\n\r\t\0\x1f\127", [["é \"\\/\b\f\n\r\t\u0000\u001f]] .. "\127\"")
expect("empty object", encode {}, "{}")
expect("empty array", encode(array {}), "[]")
expect("new array", encode(array()), "[]")
expect("list", encode { 1, "a", false, null, {}, { {} } }, '[1,"a",false,null,{},[{}]]')
expect("object, sorted", encode { b = 1, a = { d = 2, c = array { 3 } }, [""] = 0 }, '{"":0,"a":{"c":[3],"d":2},"b":1}')
expect("sorted by bytes", encode { ["a\0"] = 1, a = 2, B = 3, ["é"] = 4, aa = 5 },
  '{"B":3,"a":2,"a\\u0000":1,"aa":5,"é":4}')
expect("unsorted", encode({ a = { b = { 1 } } }, { sort_keys = false }), '{"a":{"b":[1]}}')
expect("pretty", encode({ a = 1, b = { 1, {}, { c = array {} } } }, { pretty = true }),
  '{\n  "a": 1,\n  "b": [\n    1,\n    {},\n    {\n      "c": []\n    }\n  ]\n}')
expect("pretty and unsorted", encode({ a = { b = 1 } }, { pretty = true, sort_keys = false }),
  '{\n  "a": {\n    "b": 1\n  }\n}')
expect("a list whose end lies in the hash part", encode { [3] = "c", [1] = "a", [2] = "b" }, '["a","b","c"]')
expect("the same table twice is no cycle", encode((function(t) return { t, t } end) { 1 }), "[[1],[1]]")
local reversed = {}
for i = 1000, 1, -1 do reversed[i] = i end
expect("a list filled from its end", #decode(encode(reversed)), 1000)
local many = {}
for i = 1, 5000 do many[("key%05d"):format(i)] = { i } end
local text = encode(many)
expect("many members, sorted", text:sub(1, 34), '{"key00001":[1],"key00002":[2],"ke')
expect("the same each time", encode(decode(text)), text)

for length = 0, 40 do
  for at = 0, length do
    local plain = ("x"):rep(length)
    local odd = plain:sub(1, at) .. "\n" .. plain:sub(at + 1)
    expect("escape at " .. at, encode(odd), '"' .. odd:gsub("\n", "\\n") .. '"')
  end
end

-- Round trips.
for byte = 0, 127 do expect("byte " .. byte, decode(encode(string.char(byte))), string.char(byte)) end
for _, code in ipairs { 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF } do
  expect("U+" .. code, decode(encode(utf8.char(code))), utf8.char(code))
end
math.randomseed(1)
for _ = 1, 20000 do
  local number = ("<d"):unpack(("<i8"):pack(math.random(0)))
  if number == number and number ~= math.huge and number ~= -math.huge then
    expect("double", decode(encode(number)) + 0.0, number)
  end
end
for _, text in ipairs {
  '{"a":[],"b":{},"c":[{}],"d":[[]],"e":null}', "[1,2.5,-3,1e+300,true,\"x\"]", "[]", "{}", "[[[[1]]]]", '""',
} do
  expect("round trip", encode(decode(text)), text)
end
local emptied = decode "[1]"
emptied[1] = nil
expect("a decoded array stays one when emptied", encode(emptied), "[]")

-- Depth.
local function nested(depth, inner) return ("["):rep(depth) .. inner .. ("]"):rep(depth) end
expect("as deep as can be", encode(decode(nested(1023, "1"))), nested(1023, "1"))
expect("an empty one at the bottom", encode(decode(nested(1024, ""))), nested(1024, ""))
expect("deeper", refusal(decode, nested(1024, "1")), "invalid JSON: nested too deep at line 1 column 1024")
expect("a million levels", refusal(decode, ("["):rep(1000000)), "invalid JSON: nested too deep at line 1 column 1024")
local objects = ('{"a":'):rep(1023) .. "{}" .. ("}"):rep(1023)
expect("an empty object at the bottom", encode(decode(objects)), objects)
expect("the same, unsorted", encode(decode(objects), { sort_keys = false }), objects)
expect("objects as deep", pcall(decode, ('{"a":'):rep(1023) .. "1" .. ("}"):rep(1023)), true)
local deep = { 1 }
for _ = 1, 1023 do deep = { deep } end
expect("encoding deeper", refusal(encode, deep):match "^cannot encode table nested too deep at %.%.%.%[1%]" ~= nil, true)

-- Encoding: refusals.
local cycle = { a = {} }
cycle.a.b = { 1, cycle }
local long_key = ("k"):rep(1000)
for _, case in ipairs {
  { print, "function" },
  { { items = { 1, 2, { f = print } } }, "function at .items[3].f" },
  { { 0 / 0 }, "nan at [1]" },
  { { x = math.huge }, "inf at .x" },
  { { x = -math.huge }, "-inf at .x" },
  { { ["a b"] = { ["1x"] = print } }, 'function at ["a b"]["1x"]' },
  { { ["q\"\n\u{e9}"] = print }, 'function at ["q\\x22\\x0a\\xc3\\xa9"]' },
  { { [long_key] = print }, 'function at ["' .. ("k"):rep(78) .. '..."]' },
  { cycle, "cycle at .a.b[2]" },
  { { 1, 2, nil, 4 }, "nil at [3]" },
  { { x = { 1, 2, [4] = 4, [9] = 9 } }, "table with holes or mixed keys at .x" },
  { { [2] = 1 }, "table with holes or mixed keys" },
  { { [1.5] = 1 }, "table with holes or mixed keys" },
  { { 1, 2, n = 2 }, "table with holes or mixed keys" },
  { { a = 1, [10] = 2 }, "table with holes or mixed keys" },
  { { [true] = 1 }, "key of type boolean" },
  { { x = { [print] = 1 } }, "key of type function at .x" },
  { array { a = 1 }, "array with other keys than 1 to n" },
  { "\xff", "string that is not UTF-8" },
  { { s = { "ok", "\xed\xa0\x80" } }, "string that is not UTF-8 at .s[2]" },
  { { ["\xff"] = 1 }, 'key that is not UTF-8 at ["\\xff"]' },
  { io.stdout, "FILE*" },
  { { coroutine.create(print) }, "thread at [1]" },
} do
  expect("refused: " .. case[2], refusal(encode, case[1]), "cannot encode " .. case[2])
  if type(case[1]) == "table" then
    local unsorted = refusal(encode, case[1], { sort_keys = false })
    expect("unsorted, refused: " .. case[2], unsorted:match "^cannot encode " ~= nil, true)
  end
end
expect("nil", refusal(encode, nil), "cannot encode nil")
expect("nothing", refusal(encode), "bad argument #1 to 'encode' (value expected)")
expect("unknown option", refusal(encode, 1, { prety = true }), 'encode: unknown option "prety"; known are pretty, sort_keys')
expect("option of a wrong type", refusal(encode, 1, { pretty = 1 }),
  'encode: option "pretty" must be true or false, found a number')
expect("no options", refusal(encode, 1, 2), "bad argument #2 to 'encode' (table expected, got number)")
expect("no table to mark", refusal(array, 5), "bad argument #1 to 'array' (table expected, got number)")
expect("a table of a class", refusal(array, setmetatable({}, {})), "bad argument #1 to 'array' (the table has a metatable)")
expect("marked twice", encode(array(array {})), "[]")

-- A finalizer that decodes and encodes while we do, and takes members away, must find us whole.
do
  local target = {}
  local function bother()
    setmetatable({}, { __gc = function()
      decode '[{"a":[1,2,3]},"other",{}]'
      encode { x = { 1, 2 } }
      target[next(target) or 1] = nil
      if not closing then bother() end
    end })
  end
  bother()
  collectgarbage("setpause", 100)
  collectgarbage("setstepmul", 1000)
  local source = "[" .. ('{"name":"some value of a fair length, to allocate","list":[1,2,3,[]]},'):rep(500) .. "1]"
  for _ = 1, 50 do
    local got = decode(source)
    expect("whole under finalizers", #got == 501 and got[500].list[3] == 3 and #got[1].name, 40)
    for i = 1, 200 do target["key" .. i] = ("v"):rep(i) end
    pcall(encode, target)
    pcall(encode, target, { sort_keys = false })
  end
  closing = true
end

io.write(("%d checks, %d failures\n"):format(checks, failures))
os.exit(failures == 0, true)
