/// Computes random waits between attempts, whose upper bound doubles for each attempt.
public struct Backoff: Sendable, Equatable {
    /// The upper bound of the first wait.
    public var base: Duration
    /// The upper bound of every wait.
    public var cap: Duration

    public init(base: Duration, cap: Duration) {
        self.base = base
        self.cap = cap
    }

    /// Returns a random wait between zero and the ceiling ("full jitter"). Clients that failed together are therefore
    /// rarely retried together.
    ///
    /// - Parameter attempt: the number of attempts that have ended, from 1.
    public func wait(afterAttempt attempt: Int, using random: inout some RandomNumberGenerator) -> Duration {
        Backoff.random(upTo: ceiling(afterAttempt: attempt), using: &random)
    }

    /// Returns a random wait between the ceiling and one and a half times the ceiling, for servers that ask for a wait
    /// between connections: a client must not be early.
    ///
    /// - Parameter attempt: the number of attempts that have ended, from 1.
    package func longWait(afterAttempt attempt: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let ceiling = ceiling(afterAttempt: attempt)
        return .nanoseconds(Int64(clamping: ceiling)) + Backoff.random(upTo: ceiling / 2, using: &random)
    }

    /// Returns the upper bound of a wait, in nanoseconds.
    private func ceiling(afterAttempt attempt: Int) -> UInt64 {
        let base = UInt64(max(base.nanosecondsClamped, 0))
        let cap = UInt64(max(cap.nanosecondsClamped, 0))
        // After 63 doublings, even one nanosecond exceeds every cap.
        let doublings = min(max(attempt, 1) - 1, 63)
        let (scaled, overflow) = base.multipliedReportingOverflow(by: 1 << UInt64(doublings))
        return overflow ? cap : min(scaled, cap)
    }

    private static func random(upTo ceiling: UInt64, using random: inout some RandomNumberGenerator) -> Duration {
        // The upper half of the product is a number from 0 to the ceiling. `random(in:)` is not used, because it could
        // loop forever with a broken generator.
        return .nanoseconds(Int64(clamping: random.next().multipliedFullWidth(by: ceiling + 1).high))
    }
}
