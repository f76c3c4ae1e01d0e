/// Moments are nanoseconds of a clock that does not jump.
extension UInt64 {
    /// What lies beyond the end of time is cut to it; a negative duration is none.
    package func later(by duration: Duration) -> UInt64 { later(by: UInt64(Swift.max(duration.nanosecondsClamped, 0))) }

    package func later(by nanoseconds: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(nanoseconds)
        return overflow ? .max : sum
    }

    /// Zero for a moment that has passed.
    package func wait(until moment: UInt64) -> Duration {
        moment > self ? .nanoseconds(Int64(clamping: moment - self)) : .zero
    }
}
