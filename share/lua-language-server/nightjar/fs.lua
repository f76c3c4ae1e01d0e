---@meta nightjar.fs
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Files and folders. The calling task waits; other tasks run. Failures are errors of the kind storage. Named pipes and devices are supported, and a cancel ends the wait for their other end. Not available in a sandbox.
---@class nightjar.fs
local fs = {}

---Returns the content of a file. max_bytes: 1 GiB by default.
---@param path string
---@param options? { max_bytes?: integer }
---@return string
function fs.read(path, options) end

---Replaces the content of a file, completely or not at all. mode: the permissions that the file has from the beginning.
---@param path string
---@param text string
---@param options? { atomic?: boolean, mode?: integer }
function fs.write(path, text, options) end

---Appends to a file, which is created if it does not exist.
---@param path string
---@param text string
function fs.append(path, text) end

---Returns "file", "folder" or another kind, or false.
---@param path string
---@return string|false
function fs.exists(path) end

---Returns kind, size in bytes, modification time in seconds since 1970 and mode, or nil if there is no such file.
---@param path string
---@param options? { follow?: boolean }
---@return { kind: string, size: integer, modified: number, mode: integer }?
function fs.stat(path, options) end

---Returns the names in a folder, sorted, and their kinds by name.
---@param path string
---@return string[]
---@return table<string, string>
function fs.list(path) end

---Returns an iterator over the lines of a file of any size. max_line: 16 MiB by default.
---@param path string
---@param options? { max_line?: integer }
---@return fun(): string?
function fs.lines(path, options) end

---Creates a folder, with parents = true also those that contain it. An existing folder is not an error.
---@param path string
---@param options? { parents?: boolean }
function fs.mkdir(path, options) end

---Removes a file or an empty folder, with recursive = true also its content. Returns whether it existed.
---@param path string
---@param options? { recursive?: boolean }
---@return boolean
function fs.remove(path, options) end

---Renames a file, and replaces an existing one.
---@param from string
---@param to string
function fs.rename(from, to) end

---Copies a file, completely or not at all. A named pipe or device is written as it is.
---@param from string
---@param to string
function fs.copy(from, to) end

---Creates an empty file that only its owner can read: local file <close> = fs.temp_file().
---@param options? { prefix?: string, suffix?: string, dir?: string }
---@return nightjar.temporary
function fs.temp_file(options) end

---Creates a temporary folder in the same way. It is removed with its content.
---@param options? { prefix?: string, suffix?: string, dir?: string }
---@return nightjar.temporary
function fs.temp_dir(options) end

return fs
