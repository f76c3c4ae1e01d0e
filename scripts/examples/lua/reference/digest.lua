local hash = require "nightjar.hash"
local digest = hash.new "md5"
for _, part in ipairs { "a", "b", "c" } do digest:update(part) end
print(digest:finish "hex")
-- Prints:
--   900150983cd24fb0d6963f7d28e17f72
