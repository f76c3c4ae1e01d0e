-- nightjar.time: clocks, ISO 8601 and HTTP dates, the calendar, and durations. Needs no server.
local nightjar = require "nightjar"
local testing = require "nightjar.testing"
local check = require "check"
local test, misuse, fails = testing.test, check.misuse, check.fails
local time = nightjar.time

test("now is the time since 1970 as a float", function(t)
  t:truthy(time.now() > 1700000000 and math.type(time.now()) == "float")
end)

test("the monotonic clock does not go backwards", function(t)
  local before = time.monotonic()
  t:truthy(time.monotonic() >= before)
end)

-- --- ISO 8601 ---

test("times are numbers, and integers if they have no fraction", function(t)
  t:equal(time.parse "1970-01-01T00:00:00Z", 0)
  t:equal(math.type(time.parse "1970-01-01T00:00:00Z"), "integer")
end)

-- Each entry has the section of RFC 3339, the text, the options and the time. The extensions are forms of ISO 8601 that
-- RFC 3339 does not have.
local times = {
  { "section 5.6", "2024-02-29T23:59:59.5+02:00", nil, 1709243999.5 },
  { "section 5.6, a space", "2024-02-29 12:00:00Z", nil, 1709208000 },
  { "section 5.6, the offset of the text, not the option", "2024-02-29T12:00:00Z", { offset = "+02:00" }, 1709208000 },
  { "extension, no seconds", "2024-02-29T12:00Z", nil, 1709208000 },
  { "extension, only a date", "2024-02-29", { offset = "Z" }, 1709164800 },
  { "extension, no seconds and no offset", "2024-02-29T12:00", { offset = "+02:00" }, 1709200800 },
  { "extension, no offset", "2024-02-29T12:00:00", { offset = -90 }, 1709213400 },
}
for _, row in ipairs(times) do
  local section, text, options, moment = row[1], row[2], row[3], row[4]
  test(("parse reads %s (RFC 3339: %s)"):format(text, section), function(t)
    t:equal(time.parse(text, options), moment)
  end)
end

test("format returns the text of a parsed time", function(t)
  for _, text in ipairs {
    "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z", "2000-02-29T00:00:00Z",
    "2024-02-29T12:00:00.123456Z",
  } do
    t:equal(time.format(time.parse(text)), text)
  end
end)

test("format writes the given offset and number of digits", function(t)
  t:equal(time.format(1709208000, { offset = "+05:30" }), "2024-02-29T17:30:00+05:30")
  t:equal(time.format(1709208000, { offset = -210, digits = 3 }), "2024-02-29T08:30:00.000-03:30")
  t:equal(time.format(1709208000.25, { digits = 0 }), "2024-02-29T12:00:00Z")
end)

test("parse refuses a text without an offset, a day that does not exist, and other texts", function()
  local function refused(message, text) fails("decoding", message, time.parse, text) end
  local form = ' is not an ISO 8601 time such as "2024-02-29T23:59:59.5+02:00"'
  refused('"2024-02-29" has no UTC offset; set offset = "Z" to read it as UTC', "2024-02-29")
  refused('"2024-02-30T00:00:00Z"' .. form, "2024-02-30T00:00:00Z")
  refused('"a?b?"' .. form, "a\nb\"")
  refused('"' .. ("x"):rep(57) .. '..."' .. form, ("x"):rep(100))
end)

-- --- HTTP dates ---

test("HTTP dates are parsed and formatted (RFC 9110 section 5.6.7)", function(t)
  t:equal(time.parse_http "Sun, 06 Nov 1994 08:49:37 GMT", 784111777)
  t:equal(time.format_http(784111777), "Sun, 06 Nov 1994 08:49:37 GMT")
  fails("decoding", '"yesterday" is not an HTTP date such as "Sun, 06 Nov 1994 08:49:37 GMT"',
    time.parse_http, "yesterday")
end)

-- --- The calendar ---

test("parts returns the fields of a time, and from_parts returns the time", function(t)
  local parts = time.parts(1709208000.5)
  t:equal(nightjar.json.encode(parts), '{"day":29,"hour":12,"minute":0,"month":2,"offset":0,"second":0.5,"weekday":4,'
    .. '"year":2024,"yearday":60}')
  t:equal(time.from_parts(parts), 1709208000.5)
  t:equal(time.parts(1709208000, { offset = "+13:00" }).day, 1)
end)

test("from_parts is the inverse of parts in the years 0 to 9999", function(t)
  for moment = -62167219200, 253402300799, 86400 * 97 + 12345 do
    local parts = time.parts(moment, { offset = 0 })
    t:equal(time.from_parts(parts), moment)
    t:equal(("%04d-%02d-%02dT%02d:%02d:%02dZ"):format(
      parts.year, parts.month, parts.day, parts.hour, parts.minute, parts.second), time.format(moment))
  end
end)

test("from_parts has defaults for all fields except the year", function(t)
  t:equal(time.from_parts { year = 2024 }, 1704067200)
  t:equal(time.from_parts { year = 2024, offset = "+01:00" }, 1704063600)
end)

test("from_parts refuses fields that are outside of the calendar", function()
  misuse("time.from_parts: 2023-02 has no day 29", time.from_parts, { year = 2023, month = 2, day = 29 })
  misuse("time.from_parts: month must be between 1 and 12", time.from_parts, { year = 2023, month = 13 })
  misuse("time.from_parts: year is missing", time.from_parts, {})
end)

-- A value that is closer to a limit than the printed fraction is rounded towards it.
test("parts never returns 60 seconds or 24 hours", function(t)
  local parts = time.parts(-1e-12)
  t:equal(parts.year, 1970)
  t:equal(parts.day, 1)
  t:equal(parts.hour, 0)
  t:equal(parts.second, 0)
  t:equal(time.parts(-0.5).hour, 23)
end)

-- --- Durations ---

test("duration reads the short form and the form of ISO 8601", function(t)
  for text, seconds in pairs {
    ["1h30m"] = 5400, ["90s"] = 90, ["250ms"] = 0.25, ["1.5h"] = 5400, ["2d 3h"] = 183600, ["1w"] = 604800,
    ["-5m"] = -300, ["0s"] = 0, ["5us"] = 5e-6, ["5µs"] = 5e-6, PT1H30M = 5400, P1DT12H = 129600, ["PT0.5S"] = 0.5,
    P2W = 1209600, ["-PT5M"] = -300, ["PT1,5H"] = 5400,
  } do
    t:equal(time.duration(text), seconds, text)
  end
end)

test("duration returns integers for whole seconds, and numbers unchanged", function(t)
  t:equal(math.type(time.duration "1h"), "integer")
  t:equal(time.duration(1.5), 1.5)
end)

test("duration refuses other texts, a number without a unit, and months", function()
  local function refused(message, text) fails("decoding", "time.duration: " .. message, time.duration, text) end
  local form = ' is not a duration; use the form "1h30m", "250ms" or "PT1H30M"'
  for _, text in ipairs {
    "", "h", "1x", "1h30", "P", "PT", "P1H", "PT1M1H", "PT1.5H2M", "1h-2m", "one hour", "PT1H ago", "P1DT",
  } do
    refused('"' .. text .. '"' .. form, text)
  end
  refused('"90" is not a duration (it has no unit); use the form "1h30m", "250ms" or "PT1H30M"', "90")
  refused('"P1M" has years or months, which have no fixed length; use time.add', "P1M")
end)

test("format_duration returns the short form, or the form of ISO 8601", function(t)
  for seconds, texts in pairs {
    [0] = { "0s", "PT0S" }, [5400] = { "1h30m", "PT1H30M" }, [183600] = { "2d3h", "P2DT3H" },
    [172800] = { "2d", "P2D" }, [1.5] = { "1.5s", "PT1.5S" }, [0.25] = { "250ms", "PT0.25S" },
    [-300] = { "-5m", "-PT5M" }, [0.0000015] = { "1.5us", "PT0.0000015S" }, [59.999] = { "59.999s", "PT59.999S" },
  } do
    t:equal(time.format_duration(seconds), texts[1])
    if seconds ~= 0.0000015 then t:equal(time.format_duration(seconds, "iso"), texts[2]) end
    t:equal(time.duration(texts[1]), seconds)
  end
  misuse('time.format_duration: the form must be "short" or "iso"', time.format_duration, 1, "long")
end)

test("format_duration never returns 60 seconds, 60 minutes or 24 hours", function(t)
  t:equal(time.format_duration(59.9999999999), "1m")
  t:equal(time.format_duration(3599.9999999999), "1h")
  t:equal(time.format_duration(86399.9999999999, "iso"), "P1D")
  t:equal(time.format_duration(-59.9999999999), "-1m")
  t:equal(time.format_duration(0.9999999999), "1s")
  t:equal(time.format_duration(59.999999999), "59.999999999s")
  t:equal(time.format_duration(1e-12), "0s")
end)

-- --- Arithmetic: months follow the calendar, everything else is in seconds ---

local sums = {
  { "2024-01-31T12:00:00Z", { months = 1 }, "2024-02-29T12:00:00Z" },
  { "2024-01-31T12:00:00Z", "P1M1DT1H", "2024-03-01T13:00:00Z" },
  { "2024-02-29T00:00:00Z", { years = 1 }, "2025-02-28T00:00:00Z" },
  { "2024-03-31T00:00:00Z", { months = -1 }, "2024-02-29T00:00:00Z" },
  { "2024-01-15T00:00:00Z", { months = -13 }, "2022-12-15T00:00:00Z" },
  { "2024-01-01T00:00:00Z", { days = 1, hours = 2, minutes = 3, seconds = 4.5, weeks = 1 }, "2024-01-09T02:03:04.5Z" },
  { "2024-01-01T00:00:00Z", "90s", "2024-01-01T00:01:30Z" },
  { "2024-01-01T00:00:00Z", -1, "2023-12-31T23:59:59Z" },
  { "2024-01-31T23:30:00Z", { months = 1 }, "2024-02-29T23:30:00Z" },
  { "2024-01-31T23:30:00Z", { months = 1 }, "2024-02-29T23:30:00Z", { offset = "+01:00" } },
}
for _, row in ipairs(sums) do
  local from, length, to, options = row[1], row[2], row[3], row[4]
  local shown = type(length) == "table" and nightjar.json.encode(length) or tostring(length)
  local zone = options and " at the offset " .. options.offset or ""
  test(("add: %s and %s%s is %s"):format(from, shown, zone, to), function(t)
    t:equal(time.format(time.add(time.parse(from), length, options)), to)
  end)
end

test("difference returns the seconds between two texts or numbers", function(t)
  t:equal(time.difference("2024-03-01T00:00:00Z", "2024-02-28T00:00:00Z"), 172800)
  t:equal(time.difference(5, 7.5), -2.5)
end)

test("add refuses unknown names, fractions of months and results outside of the years 0 to 9999", function()
  misuse("time.add: unknown option 'month'; did you mean 'months'?", time.add, 0, { month = 1 })
  misuse("time.add: years and months must be integers", time.add, 0, { months = 0.5 })
  misuse("time.add: the result is outside of the years 0 to 9999", time.add, 0, { years = 9000 })
end)

test("invalid arguments raise an error that names the function", function()
  misuse("time.parse: a string expected, got no value", time.parse)
  misuse("time.format: a time (a number or a string) expected, got table", time.format, {})
  local outside = "time.format: the time is outside of the years 0 to 9999; "
    .. "times are in seconds since 1970, not milliseconds"
  misuse(outside, time.format, 1709208000000)
  misuse(outside, time.format, 0 / 0)
  misuse('time.format: the offset must be "Z" or have the form "+02:00", got "2"', time.format, 0, { offset = "2" })
  misuse("time.format: the offset must be an integer from -1439 to 1439 minutes", time.format, 0,
    { offset = 1440 })
  misuse("time.format: digits must be between 0 and 9", time.format, 0, { digits = 10 })
  misuse("time.format: unknown option 'digit'; did you mean 'digits'?", time.format, 0, { digit = 1 })
end)

assert(testing.run().ok, "a case failed")
