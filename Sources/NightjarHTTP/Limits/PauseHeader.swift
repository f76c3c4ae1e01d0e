/// A response field, such as `Backoff: 10`, with which an API requests that no requests are sent for some time. The
/// field may be in any response, also in a successful one.
public struct PauseHeader: Sendable, Equatable {
    public let name: String

    /// - Returns: nil if `name` is not the name of a header field.
    public init?(_ name: String) {
        guard FieldSyntax.isToken(name.utf8) else { return nil }
        self.name = name
    }

    /// Returns the pause that a response requests: a number of seconds, which may have a fraction, or a date as in
    /// Retry-After.
    ///
    /// - Parameter now: seconds since 1970. Replaces a missing or invalid Date field.
    /// - Returns: nil if the field is missing, is invalid, or requests no pause, and for a pause that exceeds
    ///   ``RetryAfter/longest``. At most ``longest``.
    public func pause(_ headers: Headers, now: @autoclosure () -> Double) -> Duration? {
        guard let value = headers[name] else { return nil }
        let wait = fraction(value) ?? RetryAfter.duration(value, headers, now: now())
        guard let wait, wait > .zero, wait <= .seconds(RetryAfter.longest) else { return nil }
        return min(wait, PauseHeader.longest)
    }

    /// Parses digits with a decimal point.
    private func fraction(_ value: String) -> Duration? {
        guard value.utf8.count <= 32, value.utf8.contains(UInt8(ascii: ".")),
            value.utf8.allSatisfy({ ASCII.isDigit($0) || $0 == UInt8(ascii: ".") }), let seconds = Double(value),
            seconds <= Double(RetryAfter.longest)
        else { return nil }
        return .milliseconds(Int64((seconds * 1000).rounded(.up)))
    }

    /// The longest pause: one day. A longer pause is shortened to this value.
    public static let longest = Duration.seconds(86_400)
}
