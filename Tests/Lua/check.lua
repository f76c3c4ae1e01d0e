-- Shared functions of the test scripts: require "check".
local check = {}

-- The version of HTTP that the clients of the tests use. Tests/HTTP2/over_http2.lua sets it to "2".
check.http_version = "1.1"

-- Checks that a and b are equal (==).
function check.equal(a, b)
  if a ~= b then error(("got %s, expected %s"):format(tostring(a), tostring(b)), 2) end
end

-- Checks that f(...) raises an error object of this kind with exactly this message.
function check.fails(kind, message, f, ...)
  local ok, err = pcall(f, ...)
  if ok then error("no error was raised; expected " .. message, 2) end
  local gotKind = type(err) == "userdata" and err.kind or type(err)
  local gotMessage = type(err) == "userdata" and err.message or tostring(err):gsub("^[^:\n]+:%d+: ", "")
  if gotMessage ~= message or gotKind ~= kind then
    error(("got %s: %s\nexpected %s: %s"):format(gotKind, gotMessage, kind, message), 2)
  end
  return err
end

-- Checks that f(...) raises a string with this message, as for invalid use.
function check.misuse(message, f, ...)
  return check.fails("string", message, f, ...)
end

return check
