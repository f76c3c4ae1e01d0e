---@meta nightjar.fs
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Files and folders. The task that calls it waits, the others go on; what fails is an error of the kind storage. A named pipe or a device is read and written as it is, and a cancel ends the wait for its other end. Not in a sandbox.
---@class nightjar.fs
local fs = {}

---All of a file.
---@param path string
---@param options? { max_bytes?: integer }
---@return string
function fs.read(path, options) end

---Replaces what is there: whole, or not at all. A file with a mode is never open to more than that mode allows.
---@param path string
---@param text string
---@param options? { atomic?: boolean, mode?: integer }
function fs.write(path, text, options) end

---Adds to the end of a file, which is made where there is none.
---@param path string
---@param text string
function fs.append(path, text) end

---file, folder or another kind; false where there is nothing.
---@param path string
---@return string|false
function fs.exists(path) end

---What is said of a file: its size in bytes, when it was modified in seconds since 1970; nil where there is nothing.
---@param path string
---@param options? { follow?: boolean }
---@return { kind: string, size: integer, modified: number, mode: integer }?
function fs.stat(path, options) end

---The names in a folder, in order, and their kinds by name.
---@param path string
---@return string[]
---@return table<string, string>
function fs.list(path) end

---for line in fs.lines(path) do ... end, however long the file is.
---@param path string
---@param options? { max_line?: integer }
---@return fun(): string?
function fs.lines(path, options) end

---Makes a folder, with those that it lies in; one that is there is right.
---@param path string
---@param options? { parents?: boolean }
function fs.mkdir(path, options) end

---Removes a file or an empty folder, with recursive all that is in it; whether there was something.
---@param path string
---@param options? { recursive?: boolean }
---@return boolean
function fs.remove(path, options) end

---Moves; replaces a file that is there.
---@param from string
---@param to string
function fs.rename(from, to) end

---Copies a file, whole or not at all. Into a named pipe or a device it writes what it reads.
---@param from string
---@param to string
function fs.copy(from, to) end

---An empty file that nobody else may read: local file <close> = fs.temp_file().
---@param options? { prefix?: string, suffix?: string, dir?: string }
---@return nightjar.temporary
function fs.temp_file(options) end

---Likewise a folder, with all that is in it when it goes.
---@param options? { prefix?: string, suffix?: string, dir?: string }
---@return nightjar.temporary
function fs.temp_dir(options) end

return fs
