/// Multiplexes any number of deadlines on one timer, which fires at the earliest of them.
///
/// Times are nanoseconds of a monotonic clock. A deadline that is no longer needed is not removed: the timer fires, its
/// owner finds nothing due and arms it for the next deadline.
package struct Alarm: Sendable {
    private var next: UInt64?

    package init() {}

    /// - Returns: true if a timer must be started for `moment`; false if an earlier timer is running.
    package mutating func arm(at moment: UInt64) -> Bool {
        if let next, next <= moment { return false }
        next = moment
        return true
    }

    /// Reports that the timer for `moment` has fired.
    ///
    /// - Returns: false if an earlier timer has replaced it.
    package mutating func rang(at moment: UInt64) -> Bool {
        guard next == moment else { return false }
        next = nil
        return true
    }
}
