-- Runs a script of Tests/Lua over HTTP/2: INTERPRETER Tests/HTTP2/over_http2.lua SCRIPT      (needs the demo API)
--
-- This file replaces nightjar.client by a function that sets http.versions to { "2" }, unless the options choose the
-- versions, and sets check.http_version to "2". Servers of `openssl s_server` are replaced by Tests/HTTP2/tls_server. After
-- the script, the requests that the demo API received must have used HTTP/2, and a script that uses the demo API must have
-- sent some.
local nightjar = require "nightjar"
local check = require "check"

local folder = arg[0]:match "^(.*)/" or "."
if folder:sub(1, 1) ~= "/" then folder = os.getenv "PWD" .. "/" .. folder end
local script = table.remove(arg, 1)
arg[0] = script
check.http_version = "2"

local client, spawn = nightjar.client, nightjar.process.spawn

function nightjar.client(...)
  local options = ...
  if select("#", ...) == 0 then options = {} end
  if type(options) ~= "table" or options.http ~= nil then return client(...) end
  local copy = { http = { versions = { "2" } } }
  for key, value in pairs(options) do copy[key] = value end
  return client(copy, select(2, ...))
end

-- `openssl s_server -HTTP` has no HTTP/2. Without -HTTP, the server sends nothing after the handshake.
function nightjar.process.spawn(words, ...)
  if words[1] == "openssl" and words[2] == "s_server" then
    local serves = false
    for _, word in ipairs(words) do serves = serves or word == "-HTTP" end
    if serves then
      table.remove(words, 1)
      words[1] = folder .. "/tls_server"
    else
      table.move({ "-alpn", "h2" }, 1, 2, #words + 1, words)
    end
  end
  return spawn(words, ...)
end

local control <close> = client { base_url = os.getenv "NIGHTJAR_DEMO_URL", proxy = false }
control:post "/__stats/reset"
dofile(script)

-- Returns whether a request may use HTTP/1.1. Only the request of the browser in a login may.
local function may_use_http1(exchange) return exchange.target:find "^/v1/oauth/authorize" end

-- The log has the last 1,000 requests.
local stats = control:get("/__stats").json
for _, exchange in ipairs(stats.log) do
  if exchange.version ~= "2" and not may_use_http1(exchange) then
    error(("HTTP/%s: %s %s"):format(exchange.version, exchange.method, exchange.target))
  end
end
local uses_demo = nightjar.fs.read(script):find("NIGHTJAR_DEMO_URL", 1, true)
assert(not uses_demo or stats.http2.streams_opened > 0, "no request was sent over HTTP/2")
print(("%d streams of HTTP/2"):format(stats.http2.streams_opened))
