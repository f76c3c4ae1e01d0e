-- The options of subcommands for the addresses of connections, with the names and values of curl.
local items = require "nightjar.command.items"

local network_options = {}

-- The items of the subcommands, in the form of nightjar.args.
network_options.items = {
  { "--resolve", "ENTRY", many = true, help = "HOST:PORT:ADDRESS[,ADDRESS]: connect to these addresses instead of looking up the name; * is any host; can be repeated" },
  { "-4", "--ipv4", help = "use only IPv4" },
  { "-6", "--ipv6", help = "use only IPv6" },
  { "--interface", "NAME", help = "network interface or local address of connections: eth0, 192.0.2.1, if!NAME, host!ADDRESS or ifhost!NAME!ADDRESS" },
}

local function is_address(text) return text:find ":" ~= nil or text:find "^%d+%.%d+%.%d+%.%d+$" ~= nil end

-- Returns the interface and the local address that a value of --interface names.
local function local_end(value)
  local interface, address = value:match "^ifhost!([^!]+)!(.+)$"
  if interface then return interface, address end
  interface = value:match "^if!(.+)$"
  if interface then return interface end
  address = value:match "^host!(.+)$" or is_address(value) and value
  if address then return nil, address end
  return value
end

-- Sets the options of the client. Entries of --resolve follow those of the profile, so that they replace them.
function network_options.add(client, options)
  if options.resolve then
    local entries = { table.unpack(client.resolve or {}) }
    table.move(options.resolve, 1, #options.resolve, #entries + 1, entries)
    client.resolve = entries
  end
  if options.ipv4 and options.ipv6 then items.refuse "only one of -4 and -6 can be used" end
  if options.ipv4 or options.ipv6 then client.ip_family = options.ipv4 and "ipv4" or "ipv6" end
  if options.interface then client.interface, client.local_address = local_end(options.interface) end
end

return network_options
