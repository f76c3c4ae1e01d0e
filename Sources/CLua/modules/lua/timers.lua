-- nightjar.after and nightjar.every: tasks that run functions later.
local nightjar, native = ...
local spawn, now, sleep_until, misuse = nightjar.spawn, native.now, native.sleep_until, native.misuse
local type, format, getmetatable = type, string.format, getmetatable

local timers = {}

local function moments(name, seconds, least, f)
  if type(seconds) ~= "number" or not (seconds >= least and seconds <= 1e9) then
    local range = least == 0 and "from 0" or "from 0.001"
    misuse(format("%s: seconds %s to 1e9 expected, got %s", name, range, type(seconds) == "number" and seconds or type(seconds)))
  end
  local meta = getmetatable(f)
  if type(f) ~= "function" and not (type(meta) == "table" and meta.__call) then
    misuse(format("%s: a function expected, got %s", name, type(f)))
  end
  return seconds * 1e9 // 1 | 0
end

-- nightjar.after(seconds, f, ...) -> a task that waits, runs f(...) and returns its results
function timers.after(seconds, f, ...)
  local due = now() + moments("after", seconds, 0, f)
  return spawn(function(...)
    sleep_until(due)
    return f(...)
  end, ...)
end

-- nightjar.every(seconds, f, ...) -> a task that runs f(...) at multiples of the period until it is cancelled, f returns
-- false or f raises an error. Runs do not overlap: if a run takes longer than the period, the missed runs are skipped.
function timers.every(seconds, f, ...)
  local span = moments("every", seconds, 0.001, f)
  local due = now() + span
  return spawn(function(...)
    while true do
      sleep_until(due)
      if f(...) == false then return end
      due = due + span
      local late = now() - due
      if late > 0 then due = due + (late + span - 1) // span * span end
    end
  end, ...)
end

return timers
