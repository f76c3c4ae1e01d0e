import CNetworkState
import NIOCore
import NightjarHTTP

/// Detects that the machine was asleep, before a connection is reused. The notification of the monitor may arrive
/// later than the first request.
struct SleepDetector {
    private var jump = ClockJump(difference: cns_clock_difference())
    private var nextCheck = NIODeadline.now() + SleepDetector.interval

    /// Returns whether the machine was asleep since the last check. The clocks are read at most ten times per second.
    @inline(__always)
    mutating func mayHaveOccurred(at now: NIODeadline) -> Bool { now >= nextCheck && check(now) }

    private mutating func check(_ now: NIODeadline) -> Bool {
        nextCheck = now + SleepDetector.interval
        return jump.hasSlept(difference: cns_clock_difference())
    }

    private static let interval = TimeAmount.milliseconds(100)
}
