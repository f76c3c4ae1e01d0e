---@meta nightjar.process
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Other programs, without a shell. A program belongs to the task that runs it, and is killed when the task is cancelled. Not available in a sandbox.
---@class nightjar.process
local process = {}

---Runs a program to its end: process.run { "ls", "-l", cwd = "/" }. A string is the name of a program without arguments.
---@param command string|nightjar.run_options
---@return { status: integer?, signal: string?, ok: boolean, stdout: string?, stderr: string? }
function process.run(command) end

---Starts a program, to write to it and read from it.
---@param command string|nightjar.spawn_options
---@return nightjar.child
function process.spawn(command) end

return process
