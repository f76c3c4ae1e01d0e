/// Parses HTTP dates in the three formats of RFC 9110 section 5.6.7, and formats dates in the preferred format.
///
/// Case is ignored. A time zone other than GMT is invalid (RFC 9111 section 4.2). Unlike ``CookieDate``, this parser
/// rejects every other format, because an invalid date must count as expired.
enum HTTPDate {
    /// Parses a date.
    ///
    /// - Parameter received: the time of receipt in seconds since 1970. A two-digit year belongs to the latest century
    ///   in which the date is at most 50 years after this time.
    /// - Returns: seconds since 1970, or nil if the date is invalid.
    static func parse(_ text: UnsafeRawBufferPointer, received: Int64) -> Int64? {
        var reader = Reader(bytes: text)
        reader.skipBlanks()
        guard let dayName = reader.letters() else { return nil }
        let date: Int64?
        if reader.take(",") {
            guard reader.take(" ") else { return nil }
            date =
                isName(dayName, longDays)
                ? reader.rfc850(received: received) : isName(dayName, days) ? reader.fixed() : nil
        } else {
            date = isName(dayName, days) && reader.take(" ") ? reader.asctime() : nil
        }
        reader.skipBlanks()
        return reader.isAtEnd ? date : nil
    }

    /// Formats a date: `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ moment: Timestamp) -> String {
        let text = CalendarTime.dateAndTime(secondsSince1970: moment.seconds)
        let day = (moment.seconds >= 0 ? moment.seconds : moment.seconds - 86_399) / 86_400
        let names = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = Int(text.dropFirst(5).prefix(2)) ?? 1
        return names[Int(((day % 7) + 7) % 7)] + ", " + text.dropFirst(8).prefix(2) + " " + monthNames[(month - 1) % 12]
            + " "
            + text.prefix(4) + " " + text.dropFirst(11).prefix(8) + " GMT"
    }

    private static let days: StaticString = "mon tue wed thu fri sat sun "
    private static let longDays: StaticString = "monday tuesday wednesday thursday friday saturday sunday "
    private static let months: StaticString = "jan feb mar apr may jun jul aug sep oct nov dec "

    private static func isName(_ word: UnsafeRawBufferPointer, _ names: StaticString) -> Bool {
        position(word, names) != nil
    }

    /// Returns the index of a name in a list in which each name is followed by a space.
    private static func position(_ word: UnsafeRawBufferPointer, _ names: StaticString) -> Int? {
        let all = UnsafeRawBufferPointer(start: names.utf8Start, count: names.utf8CodeUnitCount)
        var start = 0
        var index = 0
        while start < all.count {
            var end = start
            while end < all.count, all[end] != 0x20 { end += 1 }
            if ASCII.equalIgnoringCase(UnsafeRawBufferPointer(rebasing: all[start..<end]), word) { return index }
            index += 1
            start = end + 1
        }
        return nil
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var at = 0

        var isAtEnd: Bool { at == bytes.count }

        mutating func skipBlanks() {
            while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x09 { at += 1 }
        }

        mutating func take(_ byte: Unicode.Scalar) -> Bool {
            guard at < bytes.count, bytes[at] == UInt8(ascii: byte) else { return false }
            at += 1
            return true
        }

        mutating func letters() -> UnsafeRawBufferPointer? {
            let start = at
            while at < bytes.count, ASCII.isLetter(bytes[at]) { at += 1 }
            return at == start ? nil : UnsafeRawBufferPointer(rebasing: bytes[start..<at])
        }

        mutating func number(_ digits: Int) -> Int? {
            guard bytes.count - at >= digits else { return nil }
            var number = 0
            for _ in 0..<digits {
                guard ASCII.isDigit(bytes[at]) else { return nil }
                number = number * 10 + Int(bytes[at] & 0xF)
                at += 1
            }
            return number
        }

        mutating func month() -> Int? {
            letters().flatMap { HTTPDate.position($0, HTTPDate.months) }.map { $0 + 1 }
        }

        mutating func timeOfDay() -> Int64? {
            guard let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60, take(":"),
                let second = number(2), second <= 60
            else { return nil }
            return Int64(hour * 3600 + minute * 60 + second)
        }

        mutating func zone() -> Bool {
            take(" ") && letters().map { ASCII.isCaseless($0, "gmt") } == true
        }

        /// Reads `06 Nov 1994 08:49:37 GMT`.
        mutating func fixed() -> Int64? {
            guard let day = number(2), take(" "), let month = month(), take(" "), let year = number(4), take(" "),
                let time = timeOfDay(), zone()
            else { return nil }
            return CalendarTime.daysSince1970(year: year, month: month, day: day).map { $0 * 86_400 + time }
        }

        /// Reads `06-Nov-94 08:49:37 GMT`.
        mutating func rfc850(received: Int64) -> Int64? {
            guard let day = number(2), take("-"), let month = month(), take("-"), let year = number(2), take(" "),
                let time = timeOfDay(), zone()
            else { return nil }
            let latest = received + 50 * 31_556_952
            var found: Int64?
            for century in [1900, 2000, 2100] {
                guard let days = CalendarTime.daysSince1970(year: century + year, month: month, day: day) else {
                    continue
                }
                let moment = days * 86_400 + time
                if found == nil || moment <= latest { found = moment }
            }
            return found
        }

        /// Reads `Nov  6 08:49:37 1994`.
        mutating func asctime() -> Int64? {
            guard let month = month(), take(" ") else { return nil }
            let day = take(" ") ? number(1) : number(2)
            guard let day, take(" "), let time = timeOfDay(), take(" "), let year = number(4) else { return nil }
            return CalendarTime.daysSince1970(year: year, month: month, day: day).map { $0 * 86_400 + time }
        }
    }
}

extension Timestamp {
    /// Parses an HTTP date in any of its three formats. RFC 9110 section 5.6.7.
    ///
    /// - Parameter now: the current time, which determines the century of a two-digit year.
    public init?(httpDate text: UnsafeRawBufferPointer, now: Timestamp) {
        guard let seconds = HTTPDate.parse(text, received: now.seconds) else { return nil }
        self.init(secondsSince1970: seconds)
    }

    /// The timestamp as an HTTP date, `Sun, 06 Nov 1994 08:49:37 GMT`, without fraction.
    public var httpDate: String { HTTPDate.text(self) }
}
