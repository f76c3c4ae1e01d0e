/// The wait that a server requests before the next request. RFC 9110 section 10.2.3.
public enum RetryAfter {
    /// Returns the wait that a response requests, from 0 s to 30 days. A date in Retry-After is compared with the
    /// response's Date field, because both come from the server's clock.
    ///
    /// - Parameter now: seconds since 1970. Replaces a missing or invalid Date field.
    /// - Returns: nil if the field is missing, is neither a number of seconds nor a date, or exceeds ``longest``. Zero
    ///   if the date has passed.
    public static func duration(_ headers: Headers, now: Double) -> Duration? {
        headers["Retry-After"].flatMap { duration($0, headers, now: now) }
    }

    /// Returns the wait that `value` requests, in the form of the Retry-After field.
    static func duration(_ value: String, _ headers: Headers, now: Double) -> Duration? {
        guard let seconds = seconds(value, headers, now), seconds <= longest else { return nil }
        return .seconds(max(0, seconds))
    }

    private static func seconds(_ value: String, _ headers: Headers, _ now: Double) -> Int64? {
        // Returns nil for a number that does not fit in 64 bits.
        if !value.isEmpty, value.utf8.allSatisfy(ASCII.isDigit) { return Int64(value) }
        guard let moment = date(value) else { return nil }
        return moment - (headers["Date"].flatMap(date) ?? Int64(max(0, min(now, 1e12))))
    }

    /// Parses an HTTP-date (RFC 9110 section 5.6.7). The cookie date parser accepts every HTTP-date except a leap
    /// second and years before 1601.
    private static func date(_ text: String) -> Int64? {
        var text = text
        return text.withUTF8 { CookieDate.parse(UnsafeRawBufferPointer($0)) }
    }

    /// The longest wait in seconds: 30 days. A longer wait is ignored as a mistake of the server, such as a timestamp
    /// instead of a delay.
    public static let longest: Int64 = 30 * 86_400
}
