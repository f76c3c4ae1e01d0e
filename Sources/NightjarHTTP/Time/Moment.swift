/// Arithmetic on times, which are nanoseconds of a monotonic clock.
extension UInt64 {
    /// Saturates at the maximum. A negative duration counts as zero.
    func later(by duration: Duration) -> UInt64 { later(by: UInt64(Swift.max(duration.nanosecondsClamped, 0))) }

    func later(by nanoseconds: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(nanoseconds)
        return overflow ? .max : sum
    }

    /// The duration until `moment`. Zero if it has passed.
    func wait(until moment: UInt64) -> Duration {
        moment > self ? .nanoseconds(Int64(clamping: moment - self)) : .zero
    }
}
