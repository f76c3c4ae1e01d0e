local network = require "nightjar.network"
local changes <close> = network.changes()
print(type(changes:next().online))
changes:close()
print(changes:next() == nil)
-- Prints:
--   boolean
--   true
