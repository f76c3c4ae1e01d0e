/// How long a server asks to wait before the next request. RFC 9110 section 10.2.3.
package enum RetryAfter {
    /// The wait that a response asks for, from 0 s to 30 days.
    ///
    /// - Parameter now: seconds since 1970. Used only if the response has no Date field: a date in Retry-After refers
    ///   to the server's clock.
    /// - Returns: nil without the field, or if its value is invalid: neither a number of seconds nor a date, or more
    ///   than ``longest``. Zero if the date has passed.
    package static func duration(_ headers: Headers, now: Double) -> Duration? {
        guard let value = headers["Retry-After"], let seconds = seconds(value, headers, now), seconds <= longest
        else { return nil }
        return .seconds(max(0, seconds))
    }

    private static func seconds(_ value: String, _ headers: Headers, _ now: Double) -> Int64? {
        // A number that does not fit 64 bits returns nil.
        if !value.isEmpty, value.utf8.allSatisfy(ASCII.isDigit) { return Int64(value) }
        guard let moment = date(value) else { return nil }
        return moment - (headers["Date"].flatMap(date) ?? Int64(max(0, min(now, 1e12))))
    }

    /// Parses an HTTP-date (RFC 9110 section 5.6.7). The cookie date parser accepts every HTTP-date.
    private static func date(_ text: String) -> Int64? {
        var text = text
        return text.withUTF8 { CookieDate.parse(UnsafeRawBufferPointer($0)) }
    }

    /// Thirty days, in seconds. A longer wait is treated as a server error, such as seconds since 1970 instead of a
    /// delay.
    package static let longest: Int64 = 30 * 86_400
}
