---@meta nightjar.time
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Moments and lengths of time. A moment is a number, seconds since 1970 in UTC; a length is a number of seconds. An offset is minutes east of UTC, or a text as "+02:00" or "Z".
---@class nightjar.time
local time = {}

---The moment.
---@return number
function time.now() end

---Seconds of a clock that nobody sets, for differences.
---@return number
function time.monotonic() end

---The moment that a text of ISO 8601 names; the offset is that of a text without one.
---@param text string
---@param options? { offset?: number|string }
---@return number
function time.parse(text, options) end

---The moment as ISO 8601.
---@param moment number
---@param options? { offset?: number|string, digits?: integer }
---@return string
function time.format(moment, options) end

---A date of HTTP, in one of its three forms.
---@param text string
---@return number
function time.parse_http(text) end

---The moment as a date of HTTP.
---@param moment number
---@return string
function time.format_http(moment) end

---year, month, day, hour, minute, second, weekday (1 is Monday), yearday, offset.
---@param moment number
---@param options? { offset?: number|string }
---@return table
function time.parts(moment, options) end

---The moment of year, month, day, hour, minute, second and offset; all but the year may be missing.
---@param parts table
---@return number
function time.from_parts(parts) end

---The seconds of "1h30m" or "PT1H30M".
---@param text string|number
---@return number
function time.duration(text) end

---"1h30m", or "PT1H30M".
---@param seconds number
---@param form? "short"|"iso"
---@return string
function time.format_duration(seconds, form) end

---The moment after a length: seconds, a text as "P1M", or { months = 1, days = 2 }. A day that the month does not have is its last.
---@param moment number
---@param length number|string|table
---@param options? { offset?: number|string }
---@return number
function time.add(moment, length, options) end

---The seconds between two moments.
---@param later number
---@param earlier number
---@return number
function time.difference(later, earlier) end

return time
