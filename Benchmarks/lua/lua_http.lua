-- Sends requests with lua-http on cqueues, in 64 coroutines with one persistent connection each.
local cqueues = require "cqueues"
local client = require "http.client"
local headers = require "http.headers"
local url, count = arg[1], tonumber(arg[2])
local host, port = url:match "http://([%d.]+):(%d+)"

local connections = {}
local function round(total)
  local loop = cqueues.new()
  local left = total
  for i = 1, 64 do
    loop:wrap(function()
      local connection = connections[i] or assert(client.connect { host = host, port = tonumber(port), tls = false, version = 1.1 })
      connections[i] = connection
      while left > 0 do
        left = left - 1
        local stream = connection:new_stream()
        local request = headers.new()
        request:append(":method", "GET")
        request:append(":authority", host .. ":" .. port)
        request:append(":path", "/1k")
        request:append(":scheme", "http")
        assert(stream:write_headers(request, true))
        local head = assert(stream:get_headers())
        local body = assert(stream:get_body_as_string())
        assert(head:get ":status" == "200" and #body == 1024)
        stream:shutdown()
      end
    end)
  end
  assert(loop:loop())
end

round(500)
local before = os.clock()
round(count)
print(('{"cpu_us": %.3f}'):format((os.clock() - before) * 1e6 / count))
