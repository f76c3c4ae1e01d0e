/// Multiplexes any number of deadlines on one timer, which fires at the earliest deadline.
///
/// Times are nanoseconds of a monotonic clock. Only the earliest deadline is stored. A deadline cannot be removed.
/// After the timer has fired, the owner calls ``arm(at:)`` for its next deadline.
public struct Alarm: Sendable {
    private var next: UInt64?

    public init() {}

    /// Adds a deadline.
    ///
    /// - Returns: true if the caller must start a timer for `moment`; false if a timer for the same or an earlier time
    ///   is running.
    public mutating func arm(at moment: UInt64) -> Bool {
        if let next, next <= moment { return false }
        next = moment
        return true
    }

    /// Reports that the timer for `moment` has fired.
    ///
    /// - Returns: false if a timer with an earlier deadline has replaced this timer.
    public mutating func rang(at moment: UInt64) -> Bool {
        guard next == moment else { return false }
        next = nil
        return true
    }
}
