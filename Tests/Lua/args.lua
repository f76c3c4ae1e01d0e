-- nightjar.args
local nightjar = require "nightjar"
local check = require "check"
local args, equal = nightjar.args, check.equal

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
local function reads(json, ...) equal(nightjar.json.encode(read(...)), json) end

reads('{"color":"auto","count":10,"dry_run":false,"files":{},"output":"out.csv","q":false,"source":"a","tag":{},"verbose":0}', "a")
reads('{"color":"never","count":5,"dry_run":true,"files":["b","-c","--"],"output":"x","q":true,"source":"a","tag":["1","2"],"verbose":3,"wait":5400}',
  "-n5", "--output=x", "-vqvv", "--tag", "1", "a", "--tag=2", "--dry-run", "--color", "never", "--wait", "1h30m", "b", "--", "-c", "--")
equal(read("a", "-n", "-3").count, -3)
equal(read("-3").source, "-3")
equal(read("-").source, "-")
equal(read("a", "-o=x").output, "x")
equal(read("a", "--output=").output, "")
equal(read("a", "--help"), nil)
equal(read("-h"), nil)

local function refused(message, ...) check.fails("invalid_argument", message, read, ...) end
refused("argument SOURCE is missing")
refused("unknown option --outptu; did you mean --output?", "a", "--outptu", "x")
refused("unknown option -x", "a", "-vx")
refused("option -n requires a value: -n N", "a", "-n")
refused("option --count must be an integer, got 'many'", "a", "--count=many")
refused("option --wait must be a duration such as \"90s\" or \"1h30m\", got '5'", "a", "--wait", "5")
refused("option --color must be one of auto, always, never, got 'alway'; did you mean 'always'?", "a", "--color", "alway")
refused("option --dry-run takes no value", "a", "--dry-run=yes")
refused("option --output was given twice", "a", "-ox", "-oy")
check.fails("invalid_argument", "unexpected argument 'b'", args.read, { { "a" } }, { "a", "b" })
check.fails("invalid_argument", "option --to is missing: --to X", args.read, { { "--to", "X", required = true } }, {})
check.fails("invalid_argument", "argument PORT must be a port, got '0'", args.read,
  { { "port", type = function(text) return tonumber(text) ~= 0 and tonumber(text) or nil, "a port" end } }, { "0" })

equal(args.help(specification), [[
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
equal(args.help { name = "x", { "--a-very-long-name-of-an-option", "VALUE", help = ("word "):rep(20) } }, [[
Usage: x [options]

Options:
      --a-very-long-name-of-an-option VALUE
                          word word word word word word word word word word word
                          word word word word word word word word word
  -h, --help              show this help and exit
]])

-- A description that makes no sense is the script's mistake.
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
