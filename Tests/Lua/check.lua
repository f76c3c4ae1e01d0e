-- What the test scripts share: require "check".
local check = {}

-- a is b, as == has it.
function check.equal(a, b)
  if a ~= b then error(("got %s, expected %s"):format(tostring(a), tostring(b)), 2) end
end

-- f(...) raises an error object of this kind with this very message.
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

-- f(...) raises a plain message, as misuse does.
function check.misuse(message, f, ...)
  return check.fails("string", message, f, ...)
end

return check
