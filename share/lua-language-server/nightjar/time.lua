---@meta nightjar.time
---Made by scripts/annotations from Sources/CCommand/programs/reference.lua. Do not change it by hand.

---Points in time and durations. A moment is a number of seconds since 1970 in UTC, a duration a number of seconds. An offset is a number of minutes east of UTC, or a text such as "+02:00" or "Z".
---@class nightjar.time
local time = {}

---Returns the current moment.
---@return number
function time.now() end

---Returns seconds of a clock that does not jump, for differences.
---@return number
function time.monotonic() end

---Returns the moment of an ISO 8601 text. offset: for a text without one; UTC by default.
---@param text string
---@param options? { offset?: number|string }
---@return number
function time.parse(text, options) end

---Formats a moment by ISO 8601. digits: of the fraction of a second; 0 by default.
---@param moment number
---@param options? { offset?: number|string, digits?: integer }
---@return string
function time.format(moment, options) end

---Returns the moment of an HTTP date in one of its three forms (RFC 9110 section 5.6.7).
---@param text string
---@return number
function time.parse_http(text) end

---Formats a moment as an HTTP date.
---@param moment number
---@return string
function time.format_http(moment) end

---Returns year, month, day, hour, minute, second, weekday (1 is Monday), yearday and offset.
---@param moment number
---@param options? { offset?: number|string }
---@return table
function time.parts(moment, options) end

---Returns the moment of such parts. All except year are optional.
---@param parts table
---@return number
function time.from_parts(parts) end

---Returns the seconds of "1h30m" or "PT1H30M".
---@param text string|number
---@return number
function time.duration(text) end

---Formats seconds as "1h30m" or "PT1H30M".
---@param seconds number
---@param form? "short"|"iso"
---@return string
function time.format_duration(seconds, form) end

---Adds a duration: seconds, a text such as "P1M", or { months = 1, days = 2 }. A day that the month does not have becomes its last day.
---@param moment number
---@param length number|string|table
---@param options? { offset?: number|string }
---@return number
function time.add(moment, length, options) end

---Returns the seconds between two moments.
---@param later number
---@param earlier number
---@return number
function time.difference(later, earlier) end

return time
