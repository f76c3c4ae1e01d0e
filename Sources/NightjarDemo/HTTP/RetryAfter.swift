import NIOCore
import NightjarSystem

/// Both forms of Retry-After (RFC 9110 section 10.2.3). Values are rounded up to seconds, so that a compliant client
/// never retries too early.
enum RetryAfter {
    static func seconds(_ pause: TimeAmount) -> String { String(wholeSeconds(pause)) }

    static func date(_ pause: TimeAmount) -> String {
        CalendarTime(seconds: unixTime(in: pause)).httpDate
    }

    static func wholeSeconds(_ pause: TimeAmount) -> Int {
        Int((Double(max(0, pause.nanoseconds)) / 1e9).rounded(.up))
    }

    /// Returns the time after a pause, in seconds since 1970, rounded up.
    static func unixTime(in pause: TimeAmount) -> Int {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let fraction = (Double(now.tv_nsec) + Double(pause.nanoseconds)) / 1e9
        return Int(now.tv_sec) + Int(fraction.rounded(.up))
    }
}
