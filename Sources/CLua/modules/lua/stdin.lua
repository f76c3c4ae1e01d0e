-- nightjar.stdin: standard input, read while the other coroutines of the script go on. It is read from the descriptor: what
-- io.read has taken into its own buffer is not seen here, and the other way round, so use one of them.
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
