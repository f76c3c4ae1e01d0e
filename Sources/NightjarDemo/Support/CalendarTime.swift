import NightjarSystem

/// Calendar time, for Date fields and timestamps.
struct CalendarTime {
    private var fields = tm()

    /// - Parameter seconds: since 1970-01-01T00:00:00Z.
    init(seconds: Int) {
        var time = time_t(seconds)
        gmtime_r(&time, &fields)
    }

    static func now() -> Int { NightjarSystem.time(nil) }

    /// RFC 3339: `2026-01-05T08:00:00Z`.
    var timestamp: String {
        "\(four(Int(fields.tm_year) + 1900))-\(two(fields.tm_mon + 1))-\(two(fields.tm_mday))T\(clock)Z"
    }

    /// IMF-fixdate (RFC 9110 section 5.6.7): `Mon, 05 Jan 2026 08:00:00 GMT`.
    var httpDate: String {
        let day = CalendarTime.days[Int(fields.tm_wday) % 7]
        let month = CalendarTime.months[Int(fields.tm_mon) % 12]
        return "\(day), \(two(fields.tm_mday)) \(month) \(four(Int(fields.tm_year) + 1900)) \(clock) GMT"
    }

    /// Parses an HTTP date in any of its three forms (RFC 9110 section 5.6.7). Nil if it is invalid. The day of the
    /// week is ignored.
    static func seconds(httpDate text: String) -> Int? {
        var words = text.split { $0 == " " || $0 == "," || $0 == "-" }
        // The asctime form ends with the year and has no time zone.
        if words.count == 5, words[3].contains(":") {
            words = [words[0], words[2], words[1], words[4], words[3], "GMT"]
        }
        guard words.count == 6, words[5] == "GMT", let day = Int32(words[1]), (1...31).contains(day),
            let month = months.firstIndex(of: String(words[2])), var year = Int32(words[3]), (0...9999).contains(year)
        else { return nil }
        // RFC 850 has two-digit years. The fifty-year rule is not implemented.
        if words[3].utf8.count == 2 { year += year < 70 ? 2000 : 1900 }
        let clock = words[4].split(separator: ":").map { Int32($0) ?? -1 }
        guard clock.count == 3, (0...23).contains(clock[0]), (0...59).contains(clock[1]), (0...60).contains(clock[2])
        else { return nil }
        var fields = tm()
        fields.tm_year = year - 1900
        fields.tm_mon = Int32(month)
        fields.tm_mday = day
        fields.tm_hour = clock[0]
        fields.tm_min = clock[1]
        fields.tm_sec = clock[2]
        return Int(timegm(&fields))
    }

    private var clock: String { "\(two(fields.tm_hour)):\(two(fields.tm_min)):\(two(fields.tm_sec))" }

    private func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private func four(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}

/// The value of the Date field, computed once a second. Used only on the server's event loop.
final class HTTPDate {
    private var second = 0
    private var text = ""

    var now: String {
        let current = CalendarTime.now()
        if current != second {
            second = current
            text = CalendarTime(seconds: current).httpDate
        }
        return text
    }
}
