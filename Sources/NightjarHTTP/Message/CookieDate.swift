/// The dates of the Expires attribute, read as leniently as every browser reads them. RFC 6265bis section 5.1.1.
///
/// The text is cut into tokens at delimiters; the first token that looks like a time, a day of the month, a month and a
/// year, in that order of asking, is taken for it, and what is left over (the day's name, the zone) is ignored. The
/// result counts as UTC whatever zone was written.
enum CookieDate {
    /// Seconds since 1970-01-01T00:00:00Z; nil when the text is no date or names a day that does not exist.
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

    /// Years of two digits: 70 to 99 are of the last century, 0 to 69 of this one. Those of three digits stay as they
    /// are, and are refused for being before 1601.
    private static func fullYear(_ year: Int) -> Int {
        switch year {
        case 70...99: year + 1900
        case 0...69: year + 2000
        default: year
        }
    }

    /// Anything visible but digits, letters and the colon; control characters below 0x20 but the tab are none.
    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// A number of as many digits as allowed at the start of the token, followed by nothing or by what is no digit.
    private static func number(_ token: Slice<UnsafeRawBufferPointer>, digits allowed: ClosedRange<Int>) -> Int? {
        let digits = token.prefix(while: ASCII.isDigit)
        // At most four digits: no overflow to think of.
        guard allowed.contains(digits.count) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 & 0xF) }
    }

    /// `h:m:s`, one or two digits each, followed by nothing or by what is no digit.
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

    /// 1 to 12, by the first three letters in whatever case.
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

    /// Days from 1970-01-01 to a day of the Gregorian calendar. Years are counted from March, so that the leap day is
    /// the last of its year and the lengths of the months before it follow one rule: 153 days in five months.
    ///
    /// - Parameters: a year from 1601 to 9999, a month from 1 to 12, a day from 1 to 31.
    private static func daysFromCivil(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let monthsSinceMarch = (month + 9) % 12
        let dayOfYear = (153 * monthsSinceMarch + 2) / 5 + day - 1
        let days = marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear
        return Int64(days - daysToEpoch)
    }

    /// From 0000-03-01 to 1970-01-01.
    private static let daysToEpoch = 719_468
}
