-- Runs random programs: run.lua FIRST COUNT. Writes each seed to standard error before its program runs. run.lua --print SEED
-- prints a program. Finalizers that are pending at the end of a program run during the next one, so reproducing a failure may
-- need the previous seeds.
STOCK_COROUTINE = { resume = coroutine.resume, close = coroutine.close }
local folder = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = folder .. "/?.lua;" .. package.path
local nightjar = require "nightjar"
local generator, runtime = require "generator", require "runtime"
warn "@off"

if arg[1] == "--print" then
  io.write(generator.program(math.tointeger(arg[2])))
  return
end

-- The maximum seconds per program.
local MOST = 0.25

local first, count = math.tointeger(arg[1]), math.tointeger(arg[2])
for seed = first, first + count - 1 do
  io.stderr:write("seed ", seed, "\n")
  local program = assert(load(generator.program(seed), "=program", "t"))
  local R, close = runtime.new(seed)
  pcall(nightjar.timeout, MOST, program, R)
  close()
  collectgarbage("incremental", 200, 100, 13)
  collectgarbage()
  collectgarbage()
end
