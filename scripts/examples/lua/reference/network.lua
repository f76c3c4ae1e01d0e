local network = require "nightjar.network"
network.set_constrained(true)
for status in network.changes() do
  print(type(status.online))
  break
end
print(type(network.status().constrained))
-- Prints:
--   boolean
--   boolean
