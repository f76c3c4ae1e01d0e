---@meta nightjar.process
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Other programs. A program belongs to the task that runs it, and is killed when that is cancelled. No shell is involved. Not in a sandbox.
---@class nightjar.process
local process = {}

---Runs a program to its end: process.run { "ls", "-l", cwd = "/" }.
---@param command string|nightjar.run_options
---@return { status: integer?, signal: string?, ok: boolean, stdout: string?, stderr: string? }
function process.run(command) end

---Begins a program, to write to it and to read from it.
---@param command string|nightjar.spawn_options
---@return nightjar.child
function process.spawn(command) end

return process
