/// Calendar arithmetic in UTC.
package enum CalendarTime {
    /// Formats a time as ISO 8601 with milliseconds: `2026-01-31T23:59:59.123Z`.
    ///
    /// - Parameter seconds: seconds since 1970, clamped to the years 1 to 9999.
    package static func iso8601(secondsSince1970 seconds: Double) -> String {
        let first: Int64 = -62_135_596_800_000
        let last: Int64 = 253_402_300_799_999
        // NaN fails both comparisons and becomes the first value.
        let wanted = seconds * 1000
        let milliseconds = wanted >= Double(last) ? last : wanted > Double(first) ? Int64(wanted.rounded(.down)) : first
        let seconds = floorDivided(milliseconds, by: 1000)
        return dateAndTime(secondsSince1970: seconds) + "." + padded(milliseconds - seconds * 1000, 3) + "Z"
    }

    /// Formats a time as `2026-01-31T23:59:59`. The year must be from 0 to 9999.
    package static func dateAndTime(secondsSince1970 seconds: Int64) -> String {
        let day = floorDivided(seconds, by: 86_400)
        let inDay = seconds - day * 86_400
        let (year, month, dayOfMonth) = date(daysSince1970: day)
        return padded(year, 4) + "-" + padded(month, 2) + "-" + padded(dayOfMonth, 2) + "T"
            + padded(inDay / 3600, 2) + ":" + padded(inDay / 60 % 60, 2) + ":" + padded(inDay % 60, 2)
    }

    /// Returns the number of days from 1970-01-01 to a date. Returns nil if the date does not exist, or if the year is
    /// not from 0 to 9999.
    package static func daysSince1970(year: Int, month: Int, day: Int) -> Int64? {
        guard 0...9999 ~= year, 1...12 ~= month else { return nil }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard 1...lengths[month - 1] ~= day else { return nil }
        let yearFromMarch = Int64(month > 2 ? year : year - 1)
        let era = floorDivided(yearFromMarch, by: 400)
        let yearOfEra = yearFromMarch - era * 400
        let monthFromMarch = Int64((month + 9) % 12)
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Converts a day to a date of the proleptic Gregorian calendar.
    ///
    /// The calculation uses years that begin in March, because a leap day is then the last day of its year. Eras are
    /// 400 years and all have the same number of days.
    private static func date(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let daysInEra: Int64 = 146_097
        // Days since 1 March of the year 0.
        let shifted = days + 719_468
        let era = floorDivided(shifted, by: daysInEra)
        let dayOfEra = shifted - era * daysInEra
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func floorDivided(_ number: Int64, by divisor: Int64) -> Int64 {
        number >= 0 ? number / divisor : (number - divisor + 1) / divisor
    }

    static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }
}
