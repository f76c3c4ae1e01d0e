-- nightjar.args: command lines of scripts. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local args = nightjar.args

local specification = {
  name = "sync", summary = "Copies articles from one place to another, and says what it did.",
  { "source", help = "where from" },
  { "files", many = true, optional = true },
  { "-o", "--output", "FILE", help = "where to", default = "out.csv" },
  { "-n", "--count", "N", type = "integer", default = 10 },
  { "--tag", "TAG", many = true },
  { "-v", "--verbose", many = true, help = "say more" },
  { "--dry-run" },
  { "--color", "WHEN", choices = { "auto", "always", "never" }, default = "auto" },
  { "--wait", "TIME", type = "duration" },
  { "-q" },
}
local function read(...) return args.read(specification, { ... }) end

testing.test("reads arguments and options in any order, and fills in defaults", function(t)
  local function reads(json, ...) t:equal(nightjar.json.encode(read(...)), json) end
  reads('{"color":"auto","count":10,"dry_run":false,"files":{},"output":"out.csv","q":false,"source":"a","tag":{},'
    .. '"verbose":0}', "a")
  reads('{"color":"never","count":5,"dry_run":true,"files":["b","-c","--"],"output":"x","q":true,"source":"a",'
    .. '"tag":["1","2"],"verbose":3,"wait":5400}',
    "-n5", "--output=x", "-vqvv", "--tag", "1", "a", "--tag=2", "--dry-run", "--color", "never", "--wait", "1h30m",
    "b", "--", "-c", "--")
end)

testing.test("accepts negative numbers, a single dash and values after an equals sign", function(t)
  t:equal(read("a", "-n", "-3").count, -3)
  t:equal(read("-3").source, "-3")
  t:equal(read("-").source, "-")
  t:equal(read("a", "-o=x").output, "x")
  t:equal(read("a", "--output=").output, "")
end)

testing.test("a request for help returns nil", function(t)
  t:equal(read("a", "--help"), nil)
  t:equal(read("-h"), nil)
end)

testing.test("an invalid command line is refused with the reason and a suggestion", function()
  local function refused(message, ...) check.fails("invalid_argument", message, read, ...) end
  refused("argument SOURCE is missing")
  refused("unknown option --outptu; did you mean --output?", "a", "--outptu", "x")
  refused("unknown option -x", "a", "-vx")
  refused("option -n requires a value: -n N", "a", "-n")
  refused("option --count must be an integer, got 'many'", "a", "--count=many")
  refused("option --wait must be a duration such as \"90s\" or \"1h30m\", got '5'", "a", "--wait", "5")
  refused("option --color must be one of auto, always, never, got 'alway'; did you mean 'always'?",
    "a", "--color", "alway")
  refused("option --dry-run takes no value", "a", "--dry-run=yes")
  refused("option --output was given twice", "a", "-ox", "-oy")
  check.fails("invalid_argument", "unexpected argument 'b'", args.read, { { "a" } }, { "a", "b" })
  check.fails("invalid_argument", "option --to is missing: --to X", args.read, { { "--to", "X", required = true } }, {})
  check.fails("invalid_argument", "argument PORT must be a port, got '0'", args.read,
    { { "port", type = function(text) return tonumber(text) ~= 0 and tonumber(text) or nil, "a port" end } }, { "0" })
end)

testing.test("the help lists arguments and options with their defaults", function(t)
  t:equal(args.help(specification), [[
Usage: sync [options] SOURCE [FILES...]

Copies articles from one place to another, and says what it did.

Arguments:
  SOURCE                  where from
  FILES

Options:
  -o, --output FILE       where to (default: out.csv)
  -n, --count N           (default: 10)
      --tag TAG
  -v, --verbose           say more
      --dry-run
      --color WHEN        (auto, always, never) (default: auto)
      --wait TIME
  -q
  -h, --help              show this help and exit
]])
end)

testing.test("long option names have their help on the next lines, wrapped", function(t)
  t:equal(args.help { name = "x", { "--a-very-long-name-of-an-option", "VALUE", help = ("word "):rep(20) } }, [[
Usage: x [options]

Options:
      --a-very-long-name-of-an-option VALUE
                          word word word word word word word word word word word
                          word word word word word word word word word
  -h, --help              show this help and exit
]])
end)

testing.test("an invalid specification is an error of the script", function()
  local function wrong(message, specification) check.misuse(message, args.read, specification, {}) end
  wrong("args: unknown option 'sumary'; did you mean 'summary'?", { sumary = "x" })
  wrong("args: unknown option 'defualt'; did you mean 'default'?", { { "-x", defualt = 1 } })
  wrong('args: unknown type "int"; did you mean "integer"?', { { "-x", "X", type = "int" } })
  wrong('args: two items have the name "x"', { { "x" }, { "-x" } })
  wrong('args: two options have the name "-x"', { { "-x", "--one" }, { "-x", "--two" } })
  wrong('args: no argument can follow "a", which takes all remaining words', { { "a", many = true }, { "b" } })
  wrong('args: the required argument "b" follows the optional argument "a"', { { "a", optional = true }, { "b" } })
  wrong('args: "-long" is not an option name; use "-x" or "--long-name"', { { "-long" } })
  wrong("args: item 1 has no name", { {} })
end)

assert(testing.run().ok, "a case failed")
