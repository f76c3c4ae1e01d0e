/// How long a server asks to wait before the next request. RFC 9110 section 10.2.3.
public enum RetryAfter {
    /// - Parameter now: seconds since 1970, where the answer does not say when it was made: the clocks of two machines
    ///   differ, and the moment that is named is the server's.
    /// - Returns: nil without the field, or when it is neither a number of seconds nor a date; zero for a moment that has
    ///   passed.
    public static func duration(_ headers: Headers, now: Double) -> Duration? {
        guard let value = headers["Retry-After"] else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy(ASCII.isDigit) {
            return .seconds(min(Int64(value) ?? .max, longest))
        }
        guard let moment = date(value) else { return nil }
        let made = headers["Date"].flatMap(date) ?? Int64(max(0, min(now, 1e12)))
        return .seconds(max(0, min(moment - made, longest)))
    }

    /// Every HTTP-date (RFC 9110 section 5.6.7) is a date of cookies, which are read more leniently.
    private static func date(_ text: String) -> Int64? {
        var text = text
        return text.withUTF8 { CookieDate.parse(UnsafeRawBufferPointer($0)) }
    }

    /// A hundred years, in seconds: longer is never.
    private static let longest: Int64 = 3_155_760_000
}
