-- nightjar.time
local nightjar = require "nightjar"
local check = require "check"
local time, equal = nightjar.time, check.equal

-- Clocks.
assert(time.now() > 1700000000 and math.type(time.now()) == "float")
do
  local before = time.monotonic()
  assert(time.monotonic() >= before)
end

-- Moments are numbers, whole where they have no fraction.
equal(time.parse "1970-01-01T00:00:00Z", 0)
equal(math.type(time.parse "1970-01-01T00:00:00Z"), "integer")
equal(time.parse "2024-02-29T23:59:59.5+02:00", 1709243999.5)
equal(time.parse "2024-02-29 12:00:00Z", 1709208000)
equal(time.parse "2024-02-29T12:00Z", 1709208000)
equal(time.parse("2024-02-29", { offset = "Z" }), 1709164800)
equal(time.parse("2024-02-29T12:00", { offset = "+02:00" }), 1709200800)
equal(time.parse("2024-02-29T12:00:00", { offset = -90 }), 1709213400)
equal(time.parse("2024-02-29T12:00:00Z", { offset = "+02:00" }), 1709208000)
for _, text in ipairs { "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z", "2000-02-29T00:00:00Z", "2024-02-29T12:00:00.123456Z" } do
  equal(time.format(time.parse(text)), text)
end
equal(time.format(1709208000, { offset = "+05:30" }), "2024-02-29T17:30:00+05:30")
equal(time.format(1709208000, { offset = -210, digits = 3 }), "2024-02-29T08:30:00.000-03:30")
equal(time.format(1709208000.25, { digits = 0 }), "2024-02-29T12:00:00Z")

local function broken(message, text, options) check.fails("decoding", message, time.parse, text, options) end
broken('"2024-02-29" has no UTC offset; set offset = "Z" to read it as UTC', "2024-02-29")
broken('"2024-02-30T00:00:00Z" is not an ISO 8601 time such as "2024-02-29T23:59:59.5+02:00"', "2024-02-30T00:00:00Z")
broken('"a?b?" is not an ISO 8601 time such as "2024-02-29T23:59:59.5+02:00"', "a\nb\"")
broken('"' .. ("x"):rep(57) .. '..." is not an ISO 8601 time such as "2024-02-29T23:59:59.5+02:00"', ("x"):rep(100))

-- Dates of HTTP.
equal(time.parse_http "Sun, 06 Nov 1994 08:49:37 GMT", 784111777)
equal(time.format_http(784111777), "Sun, 06 Nov 1994 08:49:37 GMT")
check.fails("decoding", '"yesterday" is not an HTTP date such as "Sun, 06 Nov 1994 08:49:37 GMT"', time.parse_http, "yesterday")

-- The calendar, there and back.
do
  local parts = time.parts(1709208000.5)
  equal(nightjar.json.encode(parts), '{"day":29,"hour":12,"minute":0,"month":2,"offset":0,"second":0.5,"weekday":4,"year":2024,"yearday":60}')
  equal(time.from_parts(parts), 1709208000.5)
  equal(time.parts(1709208000, { offset = "+13:00" }).day, 1)
  for moment = -62167219200, 253402300799, 86400 * 97 + 12345 do
    local parts = time.parts(moment, { offset = 0 })
    equal(time.from_parts(parts), moment)
    equal(("%04d-%02d-%02dT%02d:%02d:%02dZ"):format(parts.year, parts.month, parts.day, parts.hour, parts.minute, parts.second), time.format(moment))
  end
  equal(time.from_parts { year = 2024 }, 1704067200)
  equal(time.from_parts { year = 2024, offset = "+01:00" }, 1704063600)
end
check.misuse("time.from_parts: 2023-02 has no day 29", time.from_parts, { year = 2023, month = 2, day = 29 })
check.misuse("time.from_parts: month must be between 1 and 12", time.from_parts, { year = 2023, month = 13 })
check.misuse("time.from_parts: year is missing", time.from_parts, {})

-- Lengths of time.
for text, seconds in pairs {
  ["1h30m"] = 5400, ["90s"] = 90, ["250ms"] = 0.25, ["1.5h"] = 5400, ["2d 3h"] = 183600, ["1w"] = 604800, ["-5m"] = -300, ["0s"] = 0,
  ["5us"] = 5e-6, ["5µs"] = 5e-6, PT1H30M = 5400, P1DT12H = 129600, ["PT0.5S"] = 0.5, P2W = 1209600, ["-PT5M"] = -300, ["PT1,5H"] = 5400,
} do
  equal(time.duration(text), seconds)
end
equal(math.type(time.duration "1h"), "integer")
equal(time.duration(1.5), 1.5)
local function refused(message, text) check.fails("decoding", "time.duration: " .. message, time.duration, text) end
local form = ' is not a duration; use the form "1h30m", "250ms" or "PT1H30M"'
for _, text in ipairs { "", "h", "1x", "1h30", "P", "PT", "P1H", "PT1M1H", "PT1.5H2M", "1h-2m", "one hour", "PT1H ago", "P1DT" } do
  refused('"' .. text .. '"' .. form, text)
end
refused('"90" is not a duration (it has no unit); use the form "1h30m", "250ms" or "PT1H30M"', "90")
refused('"P1M" has years or months, which have no fixed length; use time.add', "P1M")
for seconds, texts in pairs {
  [0] = { "0s", "PT0S" }, [5400] = { "1h30m", "PT1H30M" }, [183600] = { "2d3h", "P2DT3H" }, [172800] = { "2d", "P2D" }, [1.5] = { "1.5s", "PT1.5S" },
  [0.25] = { "250ms", "PT0.25S" }, [-300] = { "-5m", "-PT5M" }, [0.0000015] = { "1.5us", "PT0.0000015S" }, [59.999] = { "59.999s", "PT59.999S" },
} do
  equal(time.format_duration(seconds), texts[1])
  if seconds ~= 0.0000015 then equal(time.format_duration(seconds, "iso"), texts[2]) end
  equal(time.duration(texts[1]), seconds)
end
check.misuse('time.format_duration: the form must be "short" or "iso"', time.format_duration, 1, "long")

-- Arithmetic: months are of the calendar, all else is seconds.
local function added(from, length, to, options) equal(time.format(time.add(time.parse(from), length, options)), to) end
added("2024-01-31T12:00:00Z", { months = 1 }, "2024-02-29T12:00:00Z")
added("2024-01-31T12:00:00Z", "P1M1DT1H", "2024-03-01T13:00:00Z")
added("2024-02-29T00:00:00Z", { years = 1 }, "2025-02-28T00:00:00Z")
added("2024-03-31T00:00:00Z", { months = -1 }, "2024-02-29T00:00:00Z")
added("2024-01-15T00:00:00Z", { months = -13 }, "2022-12-15T00:00:00Z")
added("2024-01-01T00:00:00Z", { days = 1, hours = 2, minutes = 3, seconds = 4.5, weeks = 1 }, "2024-01-09T02:03:04.5Z")
added("2024-01-01T00:00:00Z", "90s", "2024-01-01T00:01:30Z")
added("2024-01-01T00:00:00Z", -1, "2023-12-31T23:59:59Z")
added("2024-01-31T23:30:00Z", { months = 1 }, "2024-02-29T23:30:00Z")
added("2024-01-31T23:30:00Z", { months = 1 }, "2024-02-29T23:30:00Z", { offset = "+01:00" })
equal(time.difference("2024-03-01T00:00:00Z", "2024-02-28T00:00:00Z"), 172800)
equal(time.difference(5, 7.5), -2.5)
check.misuse("time.add: unknown option 'month'; did you mean 'months'?", time.add, 0, { month = 1 })
check.misuse("time.add: years and months must be integers", time.add, 0, { months = 0.5 })
check.misuse("time.add: the result is outside of the years 0 to 9999", time.add, 0, { years = 9000 })

-- What lies closer to a bound than the fraction can tell is rounded to it, and never becomes 60 seconds or 24 hours.
do
  local parts = time.parts(-1e-12)
  equal(parts.year, 1970)
  equal(parts.day, 1)
  equal(parts.hour, 0)
  equal(parts.second, 0)
  equal(time.parts(-0.5).hour, 23)
end
equal(time.format_duration(59.9999999999), "1m")
equal(time.format_duration(3599.9999999999), "1h")
equal(time.format_duration(86399.9999999999, "iso"), "P1D")
equal(time.format_duration(-59.9999999999), "-1m")
equal(time.format_duration(0.9999999999), "1s")
equal(time.format_duration(59.999999999), "59.999999999s")
equal(time.format_duration(1e-12), "0s")

-- Misuse.
check.misuse("time.parse: a string expected, got no value", time.parse)
check.misuse("time.format: a time (a number or a string) expected, got table", time.format, {})
check.misuse("time.format: the time is outside of the years 0 to 9999; times are in seconds since 1970, not milliseconds", time.format, 1709208000000)
check.misuse("time.format: the time is outside of the years 0 to 9999; times are in seconds since 1970, not milliseconds", time.format, 0 / 0)
check.misuse('time.format: the offset must be "Z" or have the form "+02:00", got "2"', time.format, 0, { offset = "2" })
check.misuse("time.format: the offset must be an integer number of minutes of less than a day", time.format, 0, { offset = 1440 })
check.misuse("time.format: digits must be between 0 and 9", time.format, 0, { digits = 10 })
check.misuse("time.format: unknown option 'digit'; did you mean 'digits'?", time.format, 0, { digit = 1 })
