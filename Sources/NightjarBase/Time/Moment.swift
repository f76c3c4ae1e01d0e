/// Arithmetic on times, which are nanoseconds of a monotonic clock.
extension UInt64 {
    /// Returns the time after `duration`, or `UInt64.max` on overflow. A negative duration counts as zero.
    package func later(by duration: Duration) -> UInt64 { later(by: UInt64(Swift.max(duration.nanosecondsClamped, 0))) }

    package func later(by nanoseconds: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(nanoseconds)
        return overflow ? .max : sum
    }

    /// Returns the duration until `moment`, or zero if `moment` has passed.
    package func wait(until moment: UInt64) -> Duration {
        moment > self ? .nanoseconds(Int64(clamping: moment - self)) : .zero
    }
}
