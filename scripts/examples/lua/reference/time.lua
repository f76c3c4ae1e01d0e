local time = require "nightjar.time"
local moment = time.parse "2026-01-31T12:00:00+01:00"
print(moment, time.format(moment), time.format(moment, { offset = "+02:00", digits = 3 }))
print(time.format_http(moment), time.parse_http(time.format_http(moment)) == moment)
print(time.parts(moment).weekday, time.from_parts { year = 2026, month = 1, day = 31, hour = 11 } == moment)
print(time.duration "1h30m", time.format_duration(5400), time.format_duration(5400, "iso"))
print(time.format(time.add(moment, "P1M")), time.difference(time.now(), moment) ~= 0, time.monotonic() > 0)
-- Prints:
--   1769857200...	2026-01-31T11:00:00Z	2026-01-31T13:00:00.000+02:00
--   Sat, 31 Jan 2026 11:00:00 GMT	true
--   6	true
--   5400...	1h30m	PT1H30M
--   2026-02-28T11:00:00Z	true	true
