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

-- Creates a self-signed certificate in the folder: NAME.pem and NAME.key. `extension` is that of openssl's -addext.
function check.certificate(folder, name, extension)
  local result = require "nightjar".process.run { "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=" .. name, "-addext", extension,
    "-keyout", name .. ".key", "-out", name .. ".pem", cwd = folder.path }
  assert(result.ok, result.stderr)
end

-- Starts `openssl s_server` with server.pem and server.key of the folder, and further options. Returns the process and the
-- origin of the server. Each connection carries one exchange.
function check.s_server(folder, ...)
  local words = { "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", "server.pem", "-key", "server.key", ... }
  words.cwd, words.stdin, words.stdout, words.stderr = folder.path, "pipe", "pipe", "null"
  local server = require "nightjar".process.spawn(words)
  for line in server.stdout:lines() do
    local port = line:match "^ACCEPT .*:(%d+)"
    if port then return server, "https://localhost:" .. port end
  end
  error "openssl s_server did not start"
end

return check
