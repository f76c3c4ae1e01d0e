/// Multiplexes any number of deadlines on one timer, which fires at the earliest of them.
///
/// Times are nanoseconds of a monotonic clock. A deadline that is no longer needed is not removed: the timer fires, its
/// owner finds nothing due and arms it for the next deadline.
public struct Alarm: Sendable {
    private var next: UInt64?

    public init() {}

    /// - Returns: true if a timer must be started for `moment`; false if an earlier timer is running.
    public mutating func arm(at moment: UInt64) -> Bool {
        if let next, next <= moment { return false }
        next = moment
        return true
    }

    /// Reports that the timer for `moment` has fired.
    ///
    /// - Returns: false if an earlier timer has replaced it.
    public mutating func rang(at moment: UInt64) -> Bool {
        guard next == moment else { return false }
        next = nil
        return true
    }
}
