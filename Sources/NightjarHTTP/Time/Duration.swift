extension Duration {
    /// Whole nanoseconds; what does not fit is cut to the nearest that does (292 years).
    public var nanosecondsClamped: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowToo) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || overflowToo ? (seconds < 0 ? .min : .max) : sum
    }

    public var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }

    /// - Returns: nil for what is no length of time that can be waited for: NaN, infinite, negative, beyond 100 years.
    public init?(seconds: Double) {
        guard seconds >= 0, seconds <= 3_155_760_000 else { return nil }
        self = .nanoseconds(Int64(seconds * 1e9))
    }
}
