import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

/// The timeouts of a call as a value, in virtual time.
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

    @Test func theEarlierTimeoutIsCheckedFirst() {
        let limits = limits(total: 4, idle: 3)
        #expect(limits.next(waitsForPeer: true) == after(3))
        #expect(limits.next(waitsForPeer: false) == after(4))
        #expect(self.limits(total: 4, idle: 5).next(waitsForPeer: true) == after(4))
    }

    /// The total timeout continues after an idle timeout whose attempt is retried.
    @Test func theTotalTimeoutRunsOnBehindARepeatedAttempt() {
        var limits = limits(total: 4, idle: 3)
        limits.attemptStarted(start)
        #expect(limits.check(now: after(3), waitsForPeer: true, unsentBytes: 0) == .idleExpired)
        // Between attempts, however long that takes.
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

    @Test func theIdleTimeoutRestsWhileTheCallerIsWaitedFor() {
        var limits = limits(total: 100, idle: 3)
        limits.attemptStarted(start)
        #expect(limits.check(now: after(50), waitsForPeer: false, unsentBytes: 0) == .running(next: after(100)))
        limits.progressed(after(50))
        #expect(limits.next(waitsForPeer: true) == after(53))
    }

    @Test func anUploadThatMovesIsNotIdle() {
        var limits = limits(idle: 4)
        limits.attemptStarted(start)
        #expect(limits.check(now: after(4), waitsForPeer: true, unsentBytes: 1000) == .running(next: after(5)))
        #expect(limits.check(now: after(5), waitsForPeer: true, unsentBytes: 900) == .running(next: after(9)))
        #expect(limits.check(now: after(9), waitsForPeer: true, unsentBytes: 900) == .idleExpired)
        // The bytes of an attempt do not affect those of the next one.
        limits.attemptStarted(after(10))
        #expect(limits.check(now: after(14), waitsForPeer: true, unsentBytes: 900) == .running(next: after(15)))
    }
}

/// The total timeout of calls whose idle timeout has expired and was retried.
@Suite(.timeLimit(.minutes(1))) struct TotalTimeoutTests {
    private func configuration(_ configuration: inout Configuration) {
        configuration.retry = RetrySettings()
        configuration.retry.base = .zero
        configuration.timeouts = Timeouts(idle: .milliseconds(30), total: .milliseconds(120))
    }

    private func expectTotalTimeout(_ result: borrowing Mutex<Result<Response, NightjarError>?>, attempts: Int)
        async throws
    {
        try await eventually("the call ended") { result.withLock { $0 != nil } }
        let error = #expect(throws: NightjarError.self) { try result.withLock { try $0?.get() } }
        #expect(error?.kind == .timeout && error?.phase == .total && error?.attempts == attempts)
    }

    @Test func aCallThatWaitsForItsCallersDecisionStillEnds() async throws {
        let api = try client(ScriptedTransport([[]])) { configuration(&$0) }
        let result = Mutex<Result<Response, NightjarError>?>(nil)
        var handlers = TaskHandlers { _, end in result.withLock { $0 = end } }
        handlers.retry = { _, _ in .later }
        try api.start(Request(.get, "/x"), on: nil, handlers)
        try await expectTotalTimeout(result, attempts: 1)
    }

    @Test func aCallThatWaitsForItsTurnStillEnds() async throws {
        let site = try ManualSite {
            configuration(&$0)
            $0.limits.concurrency = 1
        }
        let result = Mutex<Result<Response, NightjarError>?>(nil)
        try site.api.start(Request(.get, "/first"), on: nil, TaskHandlers { _, end in result.withLock { $0 = end } })
        // Waits for the slot, takes it when the first attempt of the other has timed out, and keeps it.
        var secondRequest = Request(.get, "/second")
        secondRequest.timeouts = Timeouts(idle: .seconds(100), total: .seconds(100))
        let second = try site.api.start(secondRequest, on: nil, TaskHandlers { _, _ in })
        try await site.started(["/first", "/second"])
        try await expectTotalTimeout(result, attempts: 1)
        second.cancel()
        try await eventually("no slot is in use") { site.api.limitStates().allSatisfy { $0.inFlight + $0.queued == 0 } }
    }
}
