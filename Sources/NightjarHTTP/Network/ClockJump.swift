/// Recognizes that the machine was asleep. The difference between a clock that counts the time of a sleep (CLOCK_BOOTTIME on
/// Linux) and one that does not (CLOCK_MONOTONIC) then grows.
package struct ClockJump: Sendable {
    private var difference: Int64

    /// - Parameter difference: In nanoseconds.
    package init(difference: Int64) { self.difference = difference }

    /// Returns whether the machine was asleep since the last call for about ``shortest`` or longer.
    package mutating func hasSlept(difference: Int64) -> Bool {
        let (growth, overflow) = difference.subtractingReportingOverflow(self.difference)
        self.difference = difference
        return overflow || growth >= ClockJump.shortest
    }

    /// The shortest sleep that is recognized, in nanoseconds: one second. The clocks are read one after
    /// the other, and the thread may be interrupted between the readings.
    package static let shortest: Int64 = 1_000_000_000
}
