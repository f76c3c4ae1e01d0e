-- The assertions of nightjar.testing: the methods that can fail a test, and t:skip.
local native = ...
local misuse, show, differences_of = native.misuse, native.values.show, native.values.differences
local type, tostring, pairs, error, pcall, setmetatable = type, tostring, pairs, error, pcall, setmetatable
local find, format, match, sub = string.find, string.format, string.match, string.sub
local pack, unpack, abs = table.pack, table.unpack, math.abs
local getinfo = debug and debug.getinfo

local assertions = {}

-- The metatable of the errors that assertions raise.
local Failure = { __tostring = function(failure) return failure.message end }
-- The metatable of the value that t:skip raises.
local Skip = {}

-- Returns the innermost position outside of Nightjar's modules as a prefix for messages, and its line; "" if there is
-- none.
local function where()
  if not getinfo then return "" end
  for level = 3, 60 do
    local info = getinfo(level, "Sl")
    if not info then return "" end
    if info.currentline > 0 and sub(info.source, 1, 10) ~= "=nightjar." then
      return format("%s:%d: ", info.short_src, info.currentline), info.currentline
    end
  end
  return ""
end

local function fail(message, note)
  local at, line = where()
  if note ~= nil then message = tostring(note) .. ": " .. message end
  error(setmetatable({ message = at .. message, line = line }, Failure), 0)
end

-- Returns the note of an assertion whose last value is the result of a call. A number is not a note, but a further result
-- of that call, such as the count of gsub.
local function note_of(value)
  if type(value) ~= "number" then return value end
end

-- t:equal(got, expected) fails unless the values are equal. Tables are compared by content.
function assertions.equal(_, got, expected, note)
  local differences = differences_of(got, expected)
  if differences then fail(differences, note_of(note)) end
end

function assertions.truthy(_, value, note)
  if not value then fail(format("got %s, expected a true value", show(value)), note) end
  return value
end

function assertions.falsy(_, value, note)
  if value then fail(format("got %s, expected nil or false", show(value)), note_of(note)) end
end

-- t:matches(text, pattern) -> the captures of the pattern
function assertions.matches(_, text, pattern, note)
  local captures = type(text) == "string" and pack(match(text, pattern)) or {}
  if captures[1] == nil then
    fail(format("got %s, expected a string matching %s", show(text), show(pattern)), note_of(note))
  end
  return unpack(captures, 1, captures.n)
end

-- t:near(got, expected, tolerance) fails if the numbers differ by more than the tolerance, by default a millionth of
-- the expected number.
function assertions.near(_, got, expected, tolerance, note)
  if type(got) ~= "number" then fail(format("got %s, expected a number near %s", show(got), show(expected)), note) end
  tolerance = tolerance or abs(expected) * 1e-6
  if not (abs(got - expected) <= tolerance) then
    fail(format("got %s, expected %s within a tolerance of %s", show(got), show(expected), show(tolerance)), note)
  end
end

-- t:raises(expected, f, ...) -> the error. `expected` is a kind ("timeout"), a pattern for the message, a table of
-- fields ({ kind =, status = }), or nil for any error.
function assertions.raises(_, expected, f, ...)
  local result = pack(pcall(f, ...))
  if result[1] then
    fail(format("no error was raised, expected %s", expected == nil and "an error" or show(expected)))
  end
  local err = result[2]
  local is_object = type(err) == "userdata" and pcall(function() return err.kind end)
  if type(expected) == "string" then
    if is_object and err.kind == expected then return err end
    local message = is_object and err.message or tostring(err)
    if not find(message, expected) then
      local got = show((is_object and err.kind .. ": " or "") .. message)
      fail(format("got the error %s, expected %s", got, show(expected)))
    end
  elseif type(expected) == "table" then
    for key, value in pairs(expected) do
      local ok, got = pcall(function() return err[key] end)
      if not ok then got = nil end
      local differences = differences_of(got, value)
      if differences then fail(format("in the error %s: %s: %s", show(tostring(err)), tostring(key), differences)) end
    end
  elseif expected ~= nil then
    misuse "raises: a kind, a pattern or a table of fields expected"
  end
  return err
end

function assertions.fail(_, message) fail(message == nil and "failed" or tostring(message)) end

-- t:skip(reason) ends the test, which counts as neither passed nor failed.
function assertions.skip(_, reason) error(setmetatable({ reason = reason and tostring(reason) }, Skip), 0) end

return { methods = assertions, fail = fail, Failure = Failure, Skip = Skip }
