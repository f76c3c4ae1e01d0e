-- The types of options: functions that return the value of a word, or nil and a description of the values.
local nightjar = require "nightjar"

local option_types = {}

-- Returns a number of bytes: 500, 64K, 8M or 1G.
function option_types.bytes(word)
  local digits, unit = word:lower():match "^(%d+)([kmg]?)$"
  local number = math.tointeger(tonumber(digits or ""))
  if number and number >= 1 and number <= 1 << 40 then return number * ({ k = 1 << 10, m = 1 << 20, g = 1 << 30, [""] = 1 })[unit] end
  return nil, "a number of bytes, such as 500, 64K, 8M or 1G"
end

-- Returns a number of seconds: 5, or 1m30s.
function option_types.seconds(word)
  local number = tonumber(word)
  if not number then
    local ok, length = pcall(nightjar.time.duration, word)
    number = ok and length
  end
  if number and number >= 0 and number < math.huge then return number end
  return nil, "a number of seconds or a duration such as 1m30s"
end

-- Returns a time in seconds since 1970.
function option_types.time(word)
  local number = tonumber(word)
  if number and number > -math.huge and number < math.huge then return number end
  return nil, "a time in seconds since 1970"
end

return option_types
