-- nightjar.stdin in separate processes: input from pipes and files, in pieces, and other tasks during a wait.
-- Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local misuse = check.misuse
local process, fs = nightjar.process, nightjar.fs

-- The interpreter that runs this script, or nil in a host program, which skips the cases that start an interpreter.
local interpreter = arg and arg[-1]
local options = { skip = not interpreter and "no interpreter runs this script" }
local function test(name, f) testing.test(name, options, f) end

-- Runs the text, which reads standard input in the main chunk of its own process, and returns its output.
local function script(text, options)
  options = options or {}
  options.cmd, options.args = interpreter, { "-e", 'nightjar = require "nightjar" stdin = nightjar.stdin ' .. text }
  local result = process.run(options)
  if not result.ok then error(result.stderr, 2) end
  return result.stdout
end

testing.test("invalid arguments raise an error", function()
  misuse("read: count must be a non-negative integer", nightjar.stdin.read, "all")
  misuse("lines: the limit must be a positive integer", nightjar.stdin.lines, 0)
end)

test("lines returns the lines up to the end, the last also without a line ending", function(t)
  t:equal(script('for line in stdin.lines() do print("<" .. line .. ">") end', { input = "one\n\nthree\nlast" }),
    "<one>\n<>\n<three>\n<last>\n")
end)

test("line returns the next line, or nil at the end", function(t)
  t:equal(script('print(stdin.line(), stdin:line(), stdin.line())', { input = "a\nb\n" }), "a\tb\tnil\n")
end)

test("read_all returns the rest, which is empty at the end", function(t)
  t:equal(script('print(#stdin.read_all(), stdin.read_all() == "")', { input = ("x"):rep(300000) }), "300000\ttrue\n")
end)

test("read returns at most the given number of bytes, or nil at the end", function(t)
  t:equal(script('print(stdin.read(3), stdin.line(), stdin.read(100), stdin.read(1))', { input = "abcdef\nghi" }),
    "abc\tdef\tghi\tnil\n")
  t:equal(script('print(stdin.read(0), stdin.line())', {}), "\tnil\n")
end)

test("standard input can be a file", function(t)
  local file <close> = fs.temp_file()
  fs.write(file.path, ("line\n"):rep(100000))
  local result = process.run { "sh", "-c", 'exec "$0" -e "$1" < "$2"', interpreter,
    'local n = 0 for line in require "nightjar".stdin.lines() do n = n + #line end print(n)', file.path }
  t:equal(result.stdout, "400000\n")
end)

test("other tasks run while a script waits for a line", function(t)
  local child <close> = process.spawn { interpreter, "-e", [[
    local nightjar = require "nightjar"
    local beats = 0
    io.stdout:setvbuf "no"
    local heart = nightjar.every(0.001, function()
      beats = beats + 1
      if beats == 4 then print "four beats" end
    end)
    local line = nightjar.stdin.line()
    heart:cancel()
    print(line)
    print(nightjar.stdin.line())
  ]], stdin = "pipe", stdout = "pipe" }
  t:equal(child.stdout:line(), "four beats") -- the child waits for a line meanwhile
  child.stdin:write("in ", "two ")
  nightjar.sleep(0.01)
  child.stdin:write("pieces\n")
  t:equal(child.stdout:line(), "in two pieces")
  child.stdin:close()
  t:equal(child.stdout:line(), "nil")
  t:equal(child:wait().status, 0)
end)

test("a task that is cancelled in the middle of a line leaves it to the next reader", function(t)
  local child <close> = process.spawn { interpreter, "-e", [[
    local nightjar = require "nightjar"
    io.stdout:setvbuf "no"
    print(pcall(nightjar.timeout, 0.05, nightjar.stdin.line))
    print(nightjar.stdin.line())
  ]], stdin = "pipe", stdout = "pipe" }
  child.stdin:write "first half, "
  t:matches(child.stdout:line(), "^false\ttimeout")
  child.stdin:write "second half\n"
  t:equal(child.stdout:line(), "first half, second half")
end)

test("a second simultaneous reader is refused", function(t)
  local child <close> = process.spawn { interpreter, "-e", [[
    local nightjar = require "nightjar"
    local other = nightjar.spawn(nightjar.stdin.line)
    nightjar.sleep(0)
    print(select(2, pcall(nightjar.stdin.line)))
    other:cancel()
  ]], stdin = "pipe", stdout = "pipe" }
  t:matches(child.stdout:line(), "another task already reads from this pipe$")
  t:equal(child:wait().ok, true)
end)

test("the length of a line can be limited", function(t)
  t:equal(script('print(select(2, pcall(stdin.line, 10)))', { input = "longer than ten bytes" }),
    "a line of standard input is longer than the limit of 10 bytes\n")
end)

test("a closed standard input is an error", function(t)
  local result = process.run { "sh", "-c", 'exec "$0" -e "$1" <&-', interpreter,
    'print(select(2, pcall(require "nightjar".stdin.line)))' }
  t:equal(result.stdout, "cannot read standard input: Bad file descriptor\n")
end)

test("descriptors that are shared with the shell are not set to non-blocking", function(t)
  t:equal(process.run { "sh", "-c",
    '{ sleep 0.05; echo one; echo two; } | { "$0" -e "$1"; cat; }', interpreter,
    'print(require "nightjar".stdin.read(4))' }.ok, true)
end)

assert(testing.run().ok, "a case failed")
