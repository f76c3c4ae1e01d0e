local fs = require "nightjar.fs"
local folder <close> = fs.temp_dir()
local path = folder.path .. "/notes/today.txt"
fs.mkdir(folder.path .. "/notes", { parents = true })
fs.write(path, "one\n", { mode = tonumber("600", 8) })
fs.append(path, "two\n")
print(#fs.read(path), fs.exists(path), fs.stat(path).size)
for line in fs.lines(path) do print(line) end
fs.copy(path, folder.path .. "/copy.txt")
fs.rename(folder.path .. "/copy.txt", folder.path .. "/other.txt")
print(table.concat(fs.list(folder.path), " "))
print(fs.remove(folder.path .. "/notes", { recursive = true }), fs.remove(folder.path .. "/notes"))
local file <close> = fs.temp_file { suffix = ".txt" }
print(fs.stat(file.path).size)
-- Prints:
--   8	file	8
--   one
--   two
--   notes other.txt
--   true	false
--   0
