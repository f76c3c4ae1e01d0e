-- Calls a TLS server over HTTP/2 while the process has no free descriptors, and again when it has: Tests/HTTP2/library.py.
-- libnghttp2 cannot be loaded meanwhile.
local nightjar = require "nightjar"
local url, ca_file = arg[1], arg[2]

local function client()
  return nightjar.client { base_url = url, retry = false, http = { versions = { "2" } }, tls = { ca_file = ca_file } }
end

local before, after = client(), client()
local files = {}
repeat
  local file = io.open("/dev/null")
  files[#files + 1] = file
until not file
local ok, err = pcall(before.get, before, "/")
for _, file in ipairs(files) do file:close() end
assert(not ok and err.kind == "connect", err)
assert(tostring(err):find("HTTP/2 is not available (libnghttp2.so.14", 1, true), err)

assert(before:get("/").http_version == "2")
assert(after:get("/").http_version == "2")
