-- The display of values at the prompt: nightjar Tests/Command/Lua/show.lua
local nightjar = require "nightjar"
local show = require "nightjar.command.show"
local bodies = require "nightjar.command.show_bodies"
local text = require "nightjar.command.text"
local check = require "check"
local equal = check.equal

local function shown(value, width) return show.value(value, { width = width or 80 }) end

-- Scalars
equal(shown(nil), "nil")
equal(shown(42), "42")
equal(shown(2.0), "2.0")
equal(shown(math.mininteger), "-9223372036854775808")
equal(shown(true), "true")
equal(shown(nightjar.null), "null")
equal(shown "a \"b\" \\ c", [["a \"b\" \\ c"]])
equal(shown "grüße", '"grüße"')

-- Terminal control sequences are escaped
equal(shown "\27[31mred\7\0", [["\x1b[31mred\a\x00"]])
equal(shown "\xff\xfe", [["\xff\xfe"]])
equal(shown "a\u{9b}31m", [["a\u{9b}31m"]])
equal(shown "a\u{202e}b\u{2066}", [["a\u{202e}b\u{2066}"]])
equal(shown "two\nlines\27", "two\nlines\\x1b")
equal(text.safe(("x"):rep(10) .. "\xe2\x80"), "xxxxxxxxxx\\xe2\\x80")

-- Tables: sorted keys, and names in Lua syntax
equal(shown {}, "{}")
equal(shown { 1, 2, b = 1, a = { 2 } }, "{ 1, 2, a = { 2 }, b = 1 }")
equal(shown { ["end"] = 1, ["a b"] = 2, [true] = 3, [0.5] = 4 }, '{ [0.5] = 4, ["a b"] = 2, ["end"] = 1, [true] = 3 }')
equal(shown({ first = "a long text", second = "another long text" }, 30),
  '{\n  first = "a long text",\n  second = "another long text"\n}')

-- Cycles, depth, length
local cycle = { name = "x" }
cycle.self = cycle
equal(shown(cycle), '{ name = "x", self = <cycle> }')
local twice = { 1 }
equal(shown { a = twice, b = twice }, "{ a = { 1 }, b = { 1 } }")
local deep = {}
for _ = 1, 10000 do deep = { deep } end
equal(shown(deep), "{ { { { { { {…} } } } } } }")
local long = {}
for index = 1, 1000 do long[index] = index end
assert(shown(long):find "100,\n? *… 900 more", shown(long))
local wide = {}
for index = 1, 300 do wide["k" .. index] = index end
assert(shown(wide):find "… 200 more fields")
assert(shown({ ("x"):rep(5000) }):find "%(4000 bytes more%)")
local many = {}
for index = 1, 100 do
  many[index] = {}
  for other = 1, 100 do many[index][other] = { { 1 } } end
end
assert(#shown(many) < 400000)

-- Displaying a value runs only __tostring of the script
local ran = false
equal(shown(setmetatable({ a = 1 }, { __index = function() ran = true end, __pairs = function() ran = true end,
  __len = function() ran = true return 1 end })), "{ a = 1 }")
equal(ran, false)
equal(shown(setmetatable({}, { __tostring = function() return "named\27" end })), "named\\x1b")

-- Records
equal(shown { { id = 1, title = "One", n = { 1, 2 } }, { id = 20, title = nightjar.null } },
  "id  title  n\n 1  One    [2]\n20  null")
equal(shown({ { id = 1, a = ("x"):rep(30) }, { id = 2, b = ("y"):rep(30) } }, 40),
  "id  a\n 1  " .. ("x"):rep(30) .. "\n 2\n… omitted columns: b")
equal(shown { { w = "日本" }, { w = "ab" } }, "w\n日本\nab")
local records = {}
for index = 1, 500 do records[index] = { id = index } end
assert(shown(records):find "… 440 more records$")

-- JSON keeps its order and numbers, and its length is bounded
equal(bodies.json('{"b":1.00,"a":[],"c":[{"x":null}],"e":{}}', text.painter(false)), [[
{
  "b": 1.00,
  "a": [],
  "c": [
    {
      "x": null
    }
  ],
  "e": {}
}]])
equal(bodies.json('{"a":', text.painter(false)), nil)
equal(bodies.json("nonsense", text.painter(false)), nil)
equal(bodies.json("[1}", text.painter(false)), nil)
equal(bodies.json(("["):rep(5000), text.painter(false)) ~= nil, true) -- only the beginning is shown
assert(#bodies.json('["' .. ("x"):rep(100000) .. '"]', text.painter(false)) < 3000)
assert(bodies.json("[" .. ("1,"):rep(10000) .. "1]", text.painter(false)):find "… 19.4 KB more$")

-- Errors with hints
local hints = require "nightjar.command.hints"
local api = nightjar.client { base_url = "http://127.0.0.1:1", retry = false }
local _, err = nightjar.try(api.get, api, "/")
assert(shown(err):find "^connect: .+\nhint: check host and port, and whether the server is running", shown(err))
equal(hints.for_message "stdin:1: attempt to call a nil value (method 'gte')", "did you mean get?")
equal(hints.for_message "stdin:1: attempt to index a nil value (global 'nightjr')" ~= nil, true)
equal(hints.for_message "something else", nil)
-- Hints name only existing options, methods, fields and flags.
do
  local reference = require "nightjar.command.reference"
  local known, flags = {}, {}
  for _, class in ipairs(reference) do
    for _, member in ipairs(class.members) do known[member[1]] = true end
  end
  for _, word in ipairs { "err", "api", "res", "help", "true", "nightjar", "client", "demo", "seconds", "ca_file" } do known[word] = true end
  local commands = require "nightjar.command.commands"
  for _, item in ipairs(commands.get) do
    for _, name in ipairs(item) do flags[name] = true end
  end
  local kinds = {}
  for _, class in ipairs(reference) do
    for _, member in ipairs(class.name == "nightjar.error_kind" and class.members or {}) do kinds[#kinds + 1] = member[1] end
  end
  assert(#kinds > 10, #kinds)
  local function sample(kind, phase, status) return { kind = kind, phase = phase, status = status, retry_after = nil } end
  local texts, of_command = {}, {}
  for _, kind in ipairs(kinds) do
    for _, phase in ipairs { "connect", "idle", "total", "none" } do
      texts[#texts + 1] = hints.for_error(sample(kind, phase))
    end
    for _, status in ipairs { 405, 409, 415 } do texts[#texts + 1] = hints.for_error(sample(kind, nil, status)) end
    of_command[#of_command + 1] = hints.for_command(sample(kind))
  end
  assert(#texts > 50 and #of_command > 10)
  for _, text in ipairs(texts) do
    for name in text:gmatch "([%a_]+) =" do assert(known[name], text) end
    for owner, name in text:gmatch "%f[%w](%a+)[.:]([%a_]+)%f[%W]" do
      if owner == "err" or owner == "api" or owner == "res" then assert(known[name], text) end
    end
    assert(not text:find "%-%-", text)
  end
  for _, text in ipairs(of_command) do
    for flag in text:gmatch "%-%-[%a-]+" do assert(flags[flag], text) end
    assert(not text:find "[%w_]+ = " and not text:find "%f[%w]err%." and not text:find "api[.:]" and not text:find "res:", text)
  end
  equal(hints.command_message "no complete response within 0.2 s; raise timeout.total, or set it to 0",
    "no complete response within 0.2 s; give a longer --timeout, or --timeout 0")
end
equal(hints.nearest("pritn", { "print", "pairs" }), "print")

-- Colors
equal(show.value({ a = 1 }, { width = 80, colors = true }), "{ \27[34ma\27[0m = \27[36m1\27[0m }")
