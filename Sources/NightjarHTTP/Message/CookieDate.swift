/// Parses the date of an Expires attribute as leniently as browsers do. RFC 6265bis section 5.1.1.
///
/// The text is split into tokens at delimiters. Each token is tried as a time, a day of the month, a month and a year,
/// in this order, and the first match of each kind is used. Other tokens (weekday, time zone) are ignored. The result
/// is in UTC regardless of the written zone.
enum CookieDate {
    /// Returns seconds since 1970-01-01T00:00:00Z, or nil if the text is not a date or the date does not exist.
    static func parse(_ text: UnsafeRawBufferPointer) -> Int64? {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        var at = 0
        while at < text.count {
            guard !isDelimiter(text[at]) else {
                at += 1
                continue
            }
            var end = at
            while end < text.count, !isDelimiter(text[end]) { end += 1 }
            let token = text[at..<end]
            at = end
            if time == nil, let found = timeOfDay(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = monthNumber(token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, let written = year else { return nil }
        let year4 = fullYear(written)
        guard year4 >= 1601, (1...daysInMonth(month, of: year4)).contains(day), time.hour <= 23, time.minute <= 59,
            time.second <= 59
        else { return nil }
        return daysFromCivil(year4, month, day) * 86400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)
    }

    /// Completes a two-digit year: 70 to 99 are 1970 to 1999, 0 to 69 are 2000 to 2069. Three-digit years are unchanged
    /// and rejected later, because they are before 1601.
    private static func fullYear(_ year: Int) -> Int {
        switch year {
        case 70...99: year + 1900
        case 0...69: year + 2000
        default: year
        }
    }

    /// Returns true for tab, space and ASCII punctuation except the colon.
    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Parses the digits at the start of a token. Returns nil if their count is not in `allowed`.
    private static func number(_ token: Slice<UnsafeRawBufferPointer>, digits allowed: ClosedRange<Int>) -> Int? {
        let digits = token.prefix(while: ASCII.isDigit)
        // Cannot overflow: callers allow at most four digits.
        guard allowed.contains(digits.count) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 & 0xF) }
    }

    /// Parses `h:m:s` with one or two digits each. Ignores text after the seconds that does not begin with a digit.
    private static func timeOfDay(_ token: Slice<UnsafeRawBufferPointer>) -> (hour: Int, minute: Int, second: Int)? {
        var rest = token
        func field(endingInColon: Bool) -> Int? {
            guard let value = number(rest, digits: 1...2) else { return nil }
            rest = rest.drop(while: ASCII.isDigit)
            guard endingInColon else { return value }
            guard rest.first == UInt8(ascii: ":") else { return nil }
            rest = rest.dropFirst()
            return value
        }
        guard let hour = field(endingInColon: true), let minute = field(endingInColon: true),
            let second = field(endingInColon: false)
        else { return nil }
        return (hour, minute, second)
    }

    /// Parses a month name by its first three letters, ignoring case. Returns 1 to 12.
    private static func monthNumber(_ token: Slice<UnsafeRawBufferPointer>) -> Int? {
        guard token.count >= 3 else { return nil }
        let names: StaticString = "janfebmaraprmayjunjulaugsepoctnovdec"
        let all = UnsafeRawBufferPointer(start: names.utf8Start, count: names.utf8CodeUnitCount)
        let start = token.startIndex
        for month in 0..<12 where (0..<3).allSatisfy({ ASCII.lowercase(token[start + $0]) == all[month * 3 + $0] }) {
            return month + 1
        }
        return nil
    }

    private static func daysInMonth(_ month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Returns the days from 1970-01-01 to a Gregorian date with a year from 1601 to 9999.
    ///
    /// The calculation uses years that begin in March, because a leap day is then the last day of its year. From March,
    /// each five months have 153 days.
    private static func daysFromCivil(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let monthsSinceMarch = (month + 9) % 12
        let dayOfYear = (153 * monthsSinceMarch + 2) / 5 + day - 1
        let days = marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear
        return Int64(days - daysToEpoch)
    }

    /// Days from 0000-03-01 to 1970-01-01.
    private static let daysToEpoch = 719_468
}
