-- nightjar.stdin: reads standard input while other coroutines of the script run. A script must not use both this module
-- and io.read: each has its own buffer, and does not receive the input in the other buffer.
local nightjar, native = ...
local reader = native.reader(native.standard_input(), "standard input")

local stdin = {}
-- nightjar.stdin.line() and nightjar.stdin:line() are the same.
for _, name in ipairs { "line", "lines", "read", "read_all" } do
  local method = reader[name]
  stdin[name] = function(first, ...)
    if first == stdin then return method(reader, ...) end
    return method(reader, first, ...)
  end
end
return stdin
