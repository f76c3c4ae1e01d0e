-- nightjar.stdin, in processes of its own: what comes by pipes and files, in pieces, and what waits meanwhile.
local nightjar = require "nightjar"
local check = require "check"
local equal, misuse = check.equal, check.misuse
local process, fs = nightjar.process, nightjar.fs

misuse("read: a number of bytes expected", nightjar.stdin.read, "all")
misuse("lines: the limit must be a positive integer", nightjar.stdin.lines, 0)

-- The interpreter that runs this; a host program that has none skips the rest.
local interpreter = arg and arg[-1]
if not interpreter then return end

local function script(text, options)
  options = options or {}
  options.cmd, options.args = interpreter, { "-e", 'nightjar = require "nightjar" stdin = nightjar.stdin ' .. text }
  local result = process.run(options)
  if not result.ok then error(result.stderr, 2) end
  return result.stdout
end

-- By line, to the end, the last without its end.
equal(script('for line in stdin.lines() do print("<" .. line .. ">") end', { input = "one\n\nthree\nlast" }),
  "<one>\n<>\n<three>\n<last>\n")
equal(script('print(stdin.line(), stdin:line(), stdin.line())', { input = "a\nb\n" }), "a\tb\tnil\n")
equal(script('print(#stdin.read_all(), stdin.read_all() == "")', { input = ("x"):rep(300000) }), "300000\ttrue\n")
equal(script('print(stdin.read(3), stdin.line(), stdin.read(100), stdin.read(1))', { input = "abcdef\nghi" }),
  "abc\tdef\tghi\tnil\n")
equal(script('print(stdin.read(0), stdin.line())', {}), "\tnil\n")

-- Of a file.
local file <close> = fs.temp_file()
fs.write(file.path, ("line\n"):rep(100000))
equal(process.run { "sh", "-c", 'exec "$0" -e "$1" < "$2"', interpreter,
  'local n = 0 for line in require "nightjar".stdin.lines() do n = n + #line end print(n)', file.path }.stdout, "400000\n")

-- A script that waits for a line goes on with its other coroutines.
do
  local child <close> = process.spawn { interpreter, "-e", [[
    local nightjar = require "nightjar"
    local beats = 0
    local heart = nightjar.every(0.001, function() beats = beats + 1 end)
    io.stdout:setvbuf "no"
    print "ready"
    local line = nightjar.stdin.line()
    heart:cancel()
    print(line, beats > 3)
    print(nightjar.stdin.line())
  ]], stdin = "pipe", stdout = "pipe" }
  equal(child.stdout:line(), "ready")
  nightjar.sleep(0.05)
  child.stdin:write("in ", "two ")
  nightjar.sleep(0.01)
  child.stdin:write("pieces\n")
  equal(child.stdout:line(), "in two pieces\ttrue")
  child.stdin:close()
  equal(child.stdout:line(), "nil")
  equal(child:wait().status, 0)
end

-- A task that is cancelled in the middle of a line leaves it to the next.
do
  local child <close> = process.spawn { interpreter, "-e", [[
    local nightjar = require "nightjar"
    io.stdout:setvbuf "no"
    print(pcall(nightjar.timeout, 0.05, nightjar.stdin.line))
    print(nightjar.stdin.line())
  ]], stdin = "pipe", stdout = "pipe" }
  child.stdin:write "first half, "
  assert(child.stdout:line():find "^false\ttimeout")
  child.stdin:write "second half\n"
  equal(child.stdout:line(), "first half, second half")
end

-- Two readers at once are one too many; a line without end is not kept for ever.
do
  local child <close> = process.spawn { interpreter, "-e", [[
    local nightjar = require "nightjar"
    local other = nightjar.spawn(nightjar.stdin.line)
    nightjar.sleep(0)
    print(select(2, pcall(nightjar.stdin.line)))
    other:cancel()
  ]], stdin = "pipe", stdout = "pipe" }
  assert(child.stdout:line():find "another task already reads from this pipe$")
  equal(child:wait().ok, true)
end
equal(script('print(select(2, pcall(stdin.line, 10)))', { input = "longer than ten bytes" }),
  "a line of standard input is longer than the limit of 10 bytes\n")

-- None at all.
equal(process.run { "sh", "-c", 'exec "$0" -e "$1" <&-', interpreter,
  'print(select(2, pcall(require "nightjar".stdin.line)))' }.stdout, "cannot read standard input: Bad file descriptor\n")

-- What the shell shares with us stays as it is: not non-blocking.
equal(process.run { "sh", "-c",
  '{ sleep 0.05; echo one; echo two; } | { "$0" -e "$1"; cat; }', interpreter,
  'print(require "nightjar".stdin.read(4))' }.ok, true)
