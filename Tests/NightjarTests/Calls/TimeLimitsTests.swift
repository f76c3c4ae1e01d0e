import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

/// The timeouts of a call, in virtual time.
@Suite struct TimeLimitsTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private func after(_ seconds: Double) -> NIODeadline { start + .nanoseconds(Int64(seconds * 1e9)) }

    private func limits(total: Double? = nil, idle: Double? = nil) -> TimeLimits {
        var limits = TimeLimits(started: start)
        limits.total = total.map(after)
        limits.idle = idle.map { .nanoseconds(Int64($0 * 1e9)) }
        return limits
    }

    @Test func withoutTimeoutsThereIsNothingToCheck() {
        var limits = limits()
        #expect(limits.next(waitsForPeer: true) == nil)
        #expect(limits.check(now: after(1e6), waitsForPeer: true, unsentBytes: 0) == .running(next: nil))
    }

    @Test func earlierTimeoutIsCheckedFirst() {
        let limits = limits(total: 4, idle: 3)
        #expect(limits.next(waitsForPeer: true) == after(3))
        #expect(limits.next(waitsForPeer: false) == after(4))
        #expect(self.limits(total: 4, idle: 5).next(waitsForPeer: true) == after(4))
    }

    /// The total timeout continues when an attempt is retried after its idle timeout.
    @Test func totalTimeoutContinuesDuringARetry() {
        var limits = limits(total: 4, idle: 3)
        limits.attemptStarted(start)
        #expect(limits.check(now: after(3), waitsForPeer: true, unsentBytes: 0) == .idleExpired)
        // Between attempts, only the total timeout applies.
        #expect(limits.next(waitsForPeer: false) == after(4))
        limits.attemptStarted(after(3.2))
        #expect(limits.next(waitsForPeer: true) == after(4))
        #expect(limits.check(now: after(3.9), waitsForPeer: true, unsentBytes: 0) == .running(next: after(4)))
        #expect(limits.check(now: after(4), waitsForPeer: true, unsentBytes: 0) == .totalExpired)
    }

    @Test func progressMovesTheIdleTimeout() {
        var limits = limits(idle: 3)
        limits.attemptStarted(after(1))
        #expect(limits.check(now: after(3), waitsForPeer: true, unsentBytes: 0) == .running(next: after(4)))
        limits.progressed(after(3.5))
        #expect(limits.check(now: after(4), waitsForPeer: true, unsentBytes: 0) == .running(next: after(6.5)))
        #expect(limits.check(now: after(6.5), waitsForPeer: true, unsentBytes: 0) == .idleExpired)
    }

    @Test func idleTimeoutIsPausedWhileWaitingForTheCaller() {
        var limits = limits(total: 100, idle: 3)
        limits.attemptStarted(start)
        #expect(limits.check(now: after(50), waitsForPeer: false, unsentBytes: 0) == .running(next: after(100)))
        limits.progressed(after(50))
        #expect(limits.next(waitsForPeer: true) == after(53))
    }

    @Test func uploadWithProgressIsNotIdle() {
        var limits = limits(idle: 4)
        limits.attemptStarted(start)
        #expect(limits.check(now: after(4), waitsForPeer: true, unsentBytes: 1000) == .running(next: after(5)))
        #expect(limits.check(now: after(5), waitsForPeer: true, unsentBytes: 900) == .running(next: after(9)))
        #expect(limits.check(now: after(9), waitsForPeer: true, unsentBytes: 900) == .idleExpired)
        // The unsent bytes of one attempt do not affect the next attempt.
        limits.attemptStarted(after(10))
        #expect(limits.check(now: after(14), waitsForPeer: true, unsentBytes: 900) == .running(next: after(15)))
    }
}
