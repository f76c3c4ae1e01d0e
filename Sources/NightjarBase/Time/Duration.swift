extension Duration {
    /// The duration in whole nanoseconds, clamped to the range of Int64 (292 years).
    public var nanosecondsClamped: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowToo) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || overflowToo ? (seconds < 0 ? .min : .max) : sum
    }

    public var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }

    /// The longest duration that an option accepts, in seconds: 100 years of 365 days.
    public static let maximumSeconds = 3_153_600_000

    /// Creates a duration. Returns nil unless `seconds` is between 0 and ``maximumSeconds``.
    public init?(seconds: Double) {
        guard seconds >= 0, seconds <= Double(Duration.maximumSeconds) else { return nil }
        self = .nanoseconds(Int64(seconds * 1e9))
    }
}

extension NightjarError {
    /// Creates the error for a duration that is out of range.
    ///
    /// - Parameter name: the name of the option or parameter.
    package static func duration(_ name: String, _ seconds: Double) -> NightjarError {
        NightjarError(
            .invalidArgument,
            "\(name) must be between 0 and \(Duration.maximumSeconds) seconds, got \(Duration.text(seconds))")
    }
}

extension Duration {
    /// Formats a number of seconds for a message: `-1`, `0.5`, `nan`.
    fileprivate static func text(_ seconds: Double) -> String {
        seconds == seconds.rounded() && abs(seconds) < 1e15 ? String(Int(seconds)) : String(seconds)
    }
}
