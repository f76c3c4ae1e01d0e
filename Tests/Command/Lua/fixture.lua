-- The output of .save and .save test: nightjar Tests/Command/Lua/fixture.lua
local nightjar = require "nightjar"
local check = require "check"
local complete = require "nightjar.command.complete"
local expectation = require "nightjar.command.expected"
local keep = require "nightjar.command.keep"
local progress = require "nightjar.command.progress"
local secrets = require "nightjar.command.secrets"
local equal = check.equal

-- --- Literals ---

equal(expectation.literal "a\n\0\t\"é", [["a\n\0\9\"é"]])
equal(expectation.literal(1), "1")
equal(expectation.literal(0.1), "0.10000000000000001")
equal(expectation.literal(math.mininteger), "0x8000000000000000")
equal(expectation.literal(1 / 0), nil)
equal(expectation.literal(0 / 0), nil)
equal(expectation.literal(nil), "nil")
equal(expectation.literal(nightjar.null), "nightjar.null")
equal(expectation.literal {}, "{}")
equal(expectation.literal { 1, { a = true, ["b c"] = "x", ["end"] = nightjar.null } }, '{ 1, { a = true, ["b c"] = "x", ["end"] = nightjar.null } }')
equal(expectation.literal { 1, nil, 3, x = 1 } ~= nil, true)
equal(expectation.literal { [{}] = 1 }, nil)
equal(expectation.literal(print), nil)
equal(expectation.literal(setmetatable({}, { __index = error })), nil)
equal(expectation.literal(setmetatable({}, { __len = error })), nil)
equal(expectation.literal(nightjar.array { 1 }), "{ 1 }")
equal(expectation.literal("\xff"), nil)
equal(expectation.literal(("x"):rep(10000)), nil)
local cycle = {}
cycle[1] = cycle
equal(expectation.literal(cycle), nil)
local long = {}
for index = 1, 100000 do long[index] = index end
equal(expectation.literal(long), nil)
for _, value in ipairs { "a\n\0\t\"é", 0.1, -3, math.mininteger, "\r\127" } do
  equal(load("return " .. expectation.literal(value))(), value)
end

local function expected(value)
  local lines = {}
  for index, entry in ipairs(expectation.of(value)) do
    lines[index] = ("%s_%s = %s"):format(entry[3] or "", entry[1], entry[2])
  end
  return table.concat(lines, "; ")
end
equal(expected(7), "_ = 7")
equal(expected(long), "#_ = 100000")
equal(expected(nightjar.array(long)), "#_ = 100000")
equal(expected(tostring {}), "") -- The address differs in each run.
equal(expected(print), "")
local mocked = nightjar.client { base_url = "http://mock.test", mock = {
  { path = "/json", response = { status = 201, json = { a = 1 } } }, { path = "/text", response = { body = "text" } },
} }
equal(expected(mocked:get "/json"), "_.status = 201; _.json = { a = 1 }")
equal(expected(mocked:get "/text"), "_.status = 200")

-- --- Statements ---

local function statement(text, chunk)
  chunk = chunk or {}
  return keep.statement(chunk, text)
end
equal(statement("x = 1"), "x = 1")
equal(statement(" f(1)", { is_expression = true }), "_ = f(1)")
equal(statement("f(1)", { is_expression = true, is_nil = true }), "f(1)")
equal(statement("x", { is_expression = true, is_nil = true }), "do local _ = x end")
equal(statement("x -- y", { is_expression = true, is_nil = true }), "do local _ = x -- y\nend")
equal(statement("(f)()", { is_expression = true, is_nil = true }), "do local _ = (f)() end")
equal(statement("local x = 1"), "do\nlocal x = 1\nend")
equal(statement("x = 1 local y = 2"), "do\nx = 1 local y = 2\nend")
equal(statement("x = 'local'"), "x = 'local'")
equal(statement("::a:: goto a"), "do\n::a:: goto a\nend")
equal(statement("return 5", { returns = true }), "_ = (function()\nreturn 5\nend)()")

-- --- Variables of the environment ---

local function variables(source)
  local found = {}
  for index, variable in ipairs(secrets.environment(source)) do
    found[index] = ("%s %s %s"):format(variable.variable, source:sub(variable.first, variable.last), variable.is_secret)
  end
  return table.concat(found, "; ")
end
equal(variables "x = os.getenv 'HOME'", "HOME os.getenv 'HOME' false")
equal(variables "x = os.getenv('HOME') .. os.getenv \"NO_SUCH_TOKEN\"", "HOME os.getenv('HOME') false; NO_SUCH_TOKEN os.getenv \"NO_SUCH_TOKEN\" false")
equal(variables "auth = { token = os.getenv 'HOME' }", "HOME os.getenv 'HOME' true")
equal(variables "getenv 'HOME' x.getenv 'HOME' os.getenv(name)", "")

-- --- Other tests ---

equal(complete.candidates(".save te")[1].insert, "st ")
equal(complete.candidates(".save ")[1].show, "test")
equal(#complete.candidates ".save x", 0)
equal(progress.line(1024, 4096, 1, "bytes", 80), "[#######.....................]  25%  1.0 KB of 4.0 KB  1.0 KB/s  3.00 s left")
equal(progress.line(1024, nil, 1, "bytes", 80, "sent"), "1.0 KB  1.0 KB/s  sent")
equal(utf8.len(progress.line(1024, 4096, 1, "bytes", 50, "2 calls")), 46)
