import Glibc

/// The time of day, for Date fields and for timestamps.
struct CalendarTime {
    private var fields = tm()

    /// - Parameter seconds: since 1970-01-01T00:00:00Z.
    init(seconds: Int) {
        var time = time_t(seconds)
        gmtime_r(&time, &fields)
    }

    static func now() -> Int { Glibc.time(nil) }

    /// RFC 3339, such as `2026-01-05T08:00:00Z`.
    var timestamp: String {
        "\(four(Int(fields.tm_year) + 1900))-\(two(fields.tm_mon + 1))-\(two(fields.tm_mday))T\(clock)Z"
    }

    /// IMF-fixdate (RFC 9110 section 5.6.7), such as `Mon, 05 Jan 2026 08:00:00 GMT`.
    var httpDate: String {
        let day = CalendarTime.days[Int(fields.tm_wday) % 7]
        let month = CalendarTime.months[Int(fields.tm_mon) % 12]
        return "\(day), \(two(fields.tm_mday)) \(month) \(four(Int(fields.tm_year) + 1900)) \(clock) GMT"
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

/// The value of the Date field, made once a second. Lives on the server's loop.
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
