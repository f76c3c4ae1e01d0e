---@meta nightjar.stdin
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Standard input. Reads the descriptor, not the buffer that io.read fills: use one of the two. Not available in a sandbox.
---@class nightjar.stdin
local stdin = {}

---Returns the next line without its end, or nil at the end. A line longer than limit (16 MiB by default) is an error of the kind too_large.
---@param limit? integer
---@return string?
function stdin.line(limit) end

---Returns an iterator over the lines.
---@param limit? integer
---@return fun(): string?
function stdin.lines(limit) end

---Returns count bytes, fewer at the end, or nil. Without count, returns what is available next.
---@param count? integer
---@return string?
function stdin.read(count) end

---Returns everything up to the end. More than limit bytes (256 MiB by default) is an error of the kind too_large.
---@param limit? integer
---@return string
function stdin.read_all(limit) end

return stdin
