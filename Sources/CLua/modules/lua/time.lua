-- nightjar.time: times and durations. A time is a number of seconds since 1970 in UTC; a duration is a number of
-- seconds. ISO 8601, RFC 3339, RFC 9110 section 5.6.7.
local _, native = ...
local misuse, fail, check_options, got = native.misuse, native.fail, native.options, native.got
local type, tonumber, ipairs, pairs, tointeger = type, tonumber, ipairs, pairs, math.tointeger
local find, format, gsub, match, sub = string.find, string.format, string.gsub, string.match, string.sub
local concat = table.concat

local time = {}

-- The years 0 to 9999, which ISO 8601 writes with four digits.
local FIRST, LAST = -62167219200, 253402300799

time.now, time.monotonic = native.now, native.monotonic

local function quoted(text)
  if #text > 60 then text = sub(text, 1, 57) .. "..." end
  return '"' .. gsub(text, "[%c\"]", "?") .. '"'
end

-- Converts to an integer if the value is integral.
local function plain(number) return tointeger(number) or number end

-- --- Parsing and formatting ---

-- Returns minutes east of UTC, from a number or a text such as "+02:00" or "Z".
local function minutes_east(offset, name)
  if offset == nil then return 0 end
  if type(offset) == "number" then
    if not tointeger(offset) or offset <= -1440 or offset >= 1440 then
      misuse(name .. ": the offset must be an integer from -1439 to 1439 minutes")
    end
    return tointeger(offset)
  end
  if offset == "Z" or offset == "z" then return 0 end
  local sign, hours, minutes = match(offset, "^([+-])(%d%d):?(%d%d)$")
  if not sign or tonumber(hours) > 23 or tonumber(minutes) > 59 then
    misuse(format('%s: the offset must be "Z" or have the form "+02:00", got %s', name, quoted(offset)))
  end
  local distance = tointeger(tonumber(hours) * 60 + tonumber(minutes))
  return sign == "-" and -distance or distance
end

local function offset_text(minutes)
  if minutes == 0 then return "Z" end
  local distance = minutes < 0 and -minutes or minutes
  return format("%s%02d:%02d", minutes < 0 and "-" or "+", distance // 60, distance % 60)
end

-- time.parse(text, {offset =}) -> time. `offset` applies if the text has no offset.
function time.parse(text, options)
  if type(text) ~= "string" then misuse("time.parse: a string expected, got " .. got(text)) end
  options = check_options("time.parse", options, { offset = "string or integer" })
  local whole = text
  if find(whole, "^%d%d%d%d%-%d%d%-%d%d$") then whole = whole .. "T00:00:00" end
  local names_none = find(whole, "^%d%d%d%d%-%d%d%-%d%d[Tt ]%d%d:%d%d[%d:.,]*$")
  if names_none then
    if find(whole, "[Tt ]%d%d:%d%d$") then whole = whole .. ":00" end
    if options.offset == nil then
      fail("decoding", quoted(text) .. ' has no UTC offset; set offset = "Z" to read it as UTC')
    end
    whole = whole .. offset_text(minutes_east(options.offset, "time.parse"))
  elseif find(whole, "[Tt ]%d%d:%d%d[Zz+-]") then
    whole = gsub(whole, "([Tt ]%d%d:%d%d)([Zz+-])", "%1:00%2", 1)
  end
  return native.parse(whole, "iso")
    or fail("decoding", quoted(text) .. ' is not an ISO 8601 time such as "2024-02-29T23:59:59.5+02:00"')
end

local function moment_of(value, name)
  if type(value) == "string" then return time.parse(value) end
  if type(value) ~= "number" then misuse(format("%s: a time (a number or a string) expected, got %s", name, got(value))) end
  if value ~= value or value < FIRST or value >= LAST + 1 then
    misuse(name .. ": the time is outside of the years 0 to 9999; times are in seconds since 1970, not milliseconds")
  end
  return value
end

-- time.format(time, {offset =, digits =}) -> text. `digits` is the number of fractional digits; the default is as many
-- as needed.
function time.format(moment, options)
  moment = moment_of(moment, "time.format")
  options = check_options("time.format", options, { offset = "string or integer", digits = "integer" })
  if options.digits and (options.digits < 0 or options.digits > 9) then misuse "time.format: digits must be between 0 and 9" end
  return native.format(moment, "iso", minutes_east(options.offset, "time.format"), options.digits)
    or misuse "time.format: with this offset the time is outside of the years 0 to 9999"
end

-- time.parse_http(text) -> time, from any of the three HTTP date formats
function time.parse_http(text)
  if type(text) ~= "string" then misuse("time.parse_http: a string expected, got " .. got(text)) end
  return native.parse(text, "http")
    or fail("decoding", quoted(text) .. ' is not an HTTP date such as "Sun, 06 Nov 1994 08:49:37 GMT"')
end

-- time.format_http(time) -> text
function time.format_http(moment) return native.format(moment_of(moment, "time.format_http"), "http") end

-- --- The calendar ---

-- Returns the days since 1970. In this calculation, years begin in March, so that the leap day is the last day of its
-- year. Eras have 400 years.
local function days_of(year, month, day)
  if month <= 2 then year = year - 1 end
  local era = year // 400
  local of_era = year - era * 400
  local of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
  return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
end

local function date_of(days)
  days = days + 719468
  local era = days // 146097
  local of_era = days - era * 146097
  local year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
  local of_year = of_era - (365 * year + year // 4 - year // 100)
  local shifted = (5 * of_year + 2) // 153
  local month = shifted < 10 and shifted + 3 or shifted - 9
  return year + era * 400 + (month <= 2 and 1 or 0), month, of_year - (153 * shifted + 2) // 5 + 1
end

local function length_of_month(year, month)
  if month == 12 then return 31 end
  return days_of(year, month + 1, 1) - days_of(year, month, 1)
end

-- Returns the days since 1970 and the seconds of the day.
local function split(moment)
  local day = moment // 86400
  local seconds = moment - day * 86400
  if seconds >= 86400 then day, seconds = day + 1, 0 end -- A time just before midnight is rounded to midnight.
  return tointeger(day), plain(seconds)
end

-- time.parts(time, {offset =}) -> {year, month, day, hour, minute, second, weekday (1 is Monday), yearday, offset}
function time.parts(moment, options)
  options = check_options("time.parts", options, { offset = "string or integer" })
  local offset = minutes_east(options.offset, "time.parts")
  local days, seconds = split(moment_of(moment, "time.parts") + offset * 60)
  local year, month, day = date_of(days)
  return {
    year = year, month = month, day = day, hour = tointeger(seconds // 3600), minute = tointeger(seconds // 60 % 60),
    second = plain(seconds % 60), weekday = (days + 3) % 7 + 1, yearday = days - days_of(year, 1, 1) + 1, offset = offset,
  }
end

local PARTS = {
  year = { 0, 9999 }, month = { 1, 12, 1 }, day = { 1, 31, 1 }, hour = { 0, 23, 0 }, minute = { 0, 59, 0 },
  second = { 0, 59.999999999, 0 },
}

-- time.from_parts {year =, month = 1, day = 1, hour = 0, minute = 0, second = 0, offset = 0} -> time
function time.from_parts(parts)
  if type(parts) ~= "table" then misuse("time.from_parts: a table expected, got " .. got(parts)) end
  local value = {}
  for name, range in pairs(PARTS) do
    local number = parts[name]
    if number == nil then number = range[3] end
    if number == nil then misuse "time.from_parts: year is missing" end
    if type(number) ~= "number" or not (number >= range[1] and number <= range[2])
      or name ~= "second" and not tointeger(number) then
      misuse(format("time.from_parts: %s must be between %d and %d", name, range[1], range[2] // 1))
    end
    value[name] = plain(number)
  end
  if value.day > length_of_month(value.year, value.month) then
    misuse(format("time.from_parts: %04d-%02d has no day %d", value.year, value.month, value.day))
  end
  return days_of(value.year, value.month, value.day) * 86400 + value.hour * 3600 + value.minute * 60 + value.second
    - minutes_east(parts.offset, "time.from_parts") * 60
end

-- --- Durations ---

local UNITS = { s = 1, m = 60, h = 3600, d = 86400, w = 604800 }
-- Units per second. Dividing by an integer is more exact than multiplying by a fraction.
local FRACTIONS = { ms = 1e3, us = 1e6, ["µs"] = 1e6, ns = 1e9 }

-- Parses a text such as "1h30m" to {months =, seconds =}, or returns nil.
local function read_short(text)
  local total, at = 0, 1
  while at <= #text do
    local _, stop, number, unit = find(text, "^(%d+%.?%d*)([^%d%s.]+)%s*", at)
    number = tonumber(number)
    if not number or not (UNITS[unit] or FRACTIONS[unit]) then return nil end
    total, at = total + (UNITS[unit] and number * UNITS[unit] or number / FRACTIONS[unit]), stop + 1
  end
  return { months = 0, seconds = total }
end

local DATE_UNITS = { { "Y", 12 }, { "M", 1 }, { "W", 0, 604800 }, { "D", 0, 86400 } }
local TIME_UNITS = { { "H", 0, 3600 }, { "M", 0, 60 }, { "S", 0, 1 } }

-- Parses a text such as P1Y2M3DT4H5M6.5S, or returns nil. Each part occurs at most once and in this order; only the
-- last part may have a fraction.
local function read_iso(text)
  local date, clock = match(text, "^P([%d.,WYMD]*)(.*)$")
  if not date or #date + #clock == 0 or clock == "T" then return nil end
  if clock ~= "" and sub(clock, 1, 1) ~= "T" then return nil end
  local months, seconds, had_fraction = 0, 0, false
  for place, text in ipairs { date, sub(clock, 2) } do
    for _, unit in ipairs(place == 1 and DATE_UNITS or TIME_UNITS) do
      local number, rest = match(text, "^(%d+[.,]?%d*)" .. unit[1] .. "(.*)$")
      if number then
        if had_fraction then return nil end
        had_fraction = find(number, "[.,]") ~= nil
        local count = tonumber((gsub(number, ",", ".")))
        if had_fraction and not unit[3] then return nil end
        months, seconds, text = months + count * (unit[3] and 0 or unit[2]), seconds + count * (unit[3] or 0), rest
      end
    end
    if text ~= "" then return nil end
  end
  return { months = months, seconds = seconds }
end

local function read_length(text, name)
  local sign, rest = match(text, "^%s*([+-]?)%s*(.-)%s*$")
  local length = rest ~= "" and (sub(rest, 1, 1) == "P" and read_iso(rest) or read_short(rest)) or nil
  if not length then
    local hint = find(rest, "^%d+%.?%d*$") and " (it has no unit)" or ""
    fail("decoding", format('%s: %s is not a duration%s; use the form "1h30m", "250ms" or "PT1H30M"', name, quoted(text), hint))
  end
  if sign == "-" then length.months, length.seconds = -length.months, -length.seconds end
  return length
end

-- time.duration("1h30m" or "PT1H30M", or a number) -> seconds
function time.duration(value)
  if type(value) == "number" then return value end
  if type(value) ~= "string" then misuse("time.duration: a string or a number expected, got " .. got(value)) end
  local length = read_length(value, "time.duration")
  if length.months ~= 0 then
    fail("decoding",
      format("time.duration: %s has years or months, which have no fixed length; use time.add", quoted(value)))
  end
  return plain(length.seconds)
end

-- Formats the number in decimal, without trailing zeros.
local function decimal(number, digits)
  return (gsub(gsub(format("%." .. (digits or 9) .. "f", number), "(%..-)0+$", "%1"), "%.$", ""))
end

-- time.format_duration(seconds, "short" or "iso") -> "1h30m" or "PT1H30M"
function time.format_duration(seconds, form)
  if type(seconds) ~= "number" or seconds ~= seconds or seconds >= 1e15 or seconds <= -1e15 then
    misuse("time.format_duration: a number of seconds expected, got "
      .. (type(seconds) == "number" and "a number beyond 1e15" or got(seconds)))
  end
  if form ~= nil and form ~= "short" and form ~= "iso" then
    misuse 'time.format_duration: the form must be "short" or "iso"'
  end
  local is_iso = form == "iso"
  -- Rounds to nanoseconds, the displayed precision, so that no part is rounded up to 60 seconds.
  if seconds % 1 ~= 0 then
    local whole = seconds // 1
    local fraction = ((seconds - whole) * 1e9 + 0.5) // 1
    seconds = fraction >= 1e9 and whole + 1 or whole + fraction / 1e9
  end
  local sign = seconds < 0 and "-" or ""
  if seconds < 0 then seconds = -seconds end
  if not is_iso and seconds > 0 and seconds < 1 then
    for _, unit in ipairs { { "ms", 1e3, 6 }, { "us", 1e6, 3 }, { "ns", 1e9, 0 } } do
      if seconds * unit[2] >= 0.9999999 then return sign .. decimal(seconds * unit[2], unit[3]) .. unit[1] end
    end
  end
  local text = { sign, is_iso and "P" or "" }
  local function put(count, short, iso)
    if count ~= 0 then text[#text + 1] = decimal(count) .. (is_iso and iso or short) end
  end
  put(seconds // 86400, "d", "D")
  local rest = seconds % 86400
  if is_iso and rest ~= 0 then text[#text + 1] = "T" end
  put(rest // 3600, "h", "H")
  put(rest // 60 % 60, "m", "M")
  put(rest % 60, "s", "S")
  if #text == 2 then text[3] = is_iso and "T0S" or "0s" end
  return concat(text)
end

-- --- Arithmetic ---

local ADDED = { years = 12, months = 1, weeks = 604800, days = 86400, hours = 3600, minutes = 60, seconds = 1 }

local function length_from(value)
  if type(value) == "number" then return { months = 0, seconds = value } end
  if type(value) == "string" then return read_length(value, "time.add") end
  if type(value) ~= "table" then misuse("time.add: a number, a string or a table expected, got " .. got(value)) end
  local length = { months = 0, seconds = 0 }
  local known = {}
  for name in pairs(ADDED) do known[name] = "number" end
  for name, count in pairs(check_options("time.add", value, known)) do
    local unit = (name == "years" or name == "months") and "months" or "seconds"
    length[unit] = length[unit] + count * ADDED[name]
  end
  return length
end

-- time.add(time, duration, {offset =}) -> time. Years and months are calendar units at the offset: a day that does not
-- exist in the resulting month becomes the month's last day.
function time.add(moment, length, options)
  moment = moment_of(moment, "time.add")
  options = check_options("time.add", options, { offset = "string or integer" })
  length = length_from(length)
  local months = tointeger(length.months) or misuse "time.add: years and months must be integers"
  if months ~= 0 then
    if months > 120000 or months < -120000 then misuse "time.add: the result is outside of the years 0 to 9999" end
    local shift = minutes_east(options.offset, "time.add") * 60
    local days, seconds = split(moment + shift)
    local year, month, day = date_of(days)
    local total = year * 12 + month - 1 + months
    year, month = total // 12, total % 12 + 1
    local last = length_of_month(year, month)
    moment = days_of(year, month, day < last and day or last) * 86400 + seconds - shift
  end
  local sum = moment + length.seconds
  if not (sum >= FIRST and sum < LAST + 1) then misuse "time.add: the result is outside of the years 0 to 9999" end
  return plain(sum)
end

-- time.difference(later, earlier) -> seconds
function time.difference(later, earlier)
  return moment_of(later, "time.difference") - moment_of(earlier, "time.difference")
end

return time
