/// One timer for any number of limits: rings at the earliest of them.
///
/// Moments are nanoseconds of a clock that does not jump. Limits that are met early are not taken back: the alarm rings,
/// its owner finds nothing due and arms it for the next.
public struct Alarm: Sendable {
    private var next: UInt64?

    public init() {}

    /// - Returns: true when a timer has to be started for `moment`, false when an earlier one runs already.
    public mutating func arm(at moment: UInt64) -> Bool {
        if let next, next <= moment { return false }
        next = moment
        return true
    }

    /// A timer started for `moment` went off.
    ///
    /// - Returns: false when an earlier one has taken its place meanwhile.
    public mutating func rang(at moment: UInt64) -> Bool {
        guard next == moment else { return false }
        next = nil
        return true
    }
}
