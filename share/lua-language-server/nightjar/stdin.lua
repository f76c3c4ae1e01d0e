---@meta nightjar.stdin
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Standard input. It reads the descriptor, not the buffer that io.read fills: use one of the two. Not in a sandbox.
---@class nightjar.stdin
local stdin = {}

---The next line without its end; nil at the end of all. A longer one than limit bytes is an error of the kind too_large.
---@param limit? integer
---@return string?
function stdin.line(limit) end

---for line in stdin.lines() do ... end.
---@param limit? integer
---@return fun(): string?
function stdin.lines(limit) end

---So many bytes, fewer before the end, nil at the end; without a count what comes next.
---@param count? integer
---@return string?
function stdin.read(count) end

---All that is left.
---@param limit? integer
---@return string
function stdin.read_all(limit) end

return stdin
