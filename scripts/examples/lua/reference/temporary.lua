local fs = require "nightjar.fs"
local file = fs.temp_file()
fs.write(file.path, "draft")
file:remove()
print(fs.exists(file.path))
-- Prints:
--   false
