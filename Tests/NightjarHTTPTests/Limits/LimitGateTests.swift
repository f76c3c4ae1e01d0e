import Testing

@testable import NightjarHTTP

extension LimitGate {
    /// Reports a response to an exchange that the gate has not admitted.
    fileprivate mutating func received(status: Int, _ headers: Headers, now: UInt64, wallClock: Double) -> [Release] {
        var noPermit: Permit?
        return received(&noPermit, status: status, headers, now: now, wallClock: wallClock)
    }
}

@Suite struct LimitGateTests {
    private typealias Fields = [(String, String)]
    private static let second: UInt64 = 1_000_000_000

    private func gate(_ change: (inout LimitGate.Settings) throws -> Void) rethrows -> LimitGate {
        var settings = LimitGate.Settings()
        try change(&settings)
        return LimitGate(settings)
    }

    private func headers(_ fields: Fields) throws -> Headers {
        var headers = Headers()
        for (name, value) in fields { try headers.add(name, value) }
        return headers
    }

    /// Admits a call `seconds` after the start.
    private func enter(
        _ gate: inout LimitGate, _ id: UInt64 = 0, at seconds: UInt64 = 0,
        _ location: SourceLocation = #_sourceLocation
    ) throws -> LimitGate.Permit {
        guard case .enter(let permit) = gate.arrive(id, deadline: nil, now: seconds * Self.second) else {
            throw NightjarError(.closed, "the call was not admitted at \(location)")
        }
        return permit
    }

    /// Returns the ID of each call, with the reason why it waited, or with "no" if it was refused.
    private func reported(_ releases: [LimitGate.Release]) -> [String] {
        releases.map {
            switch $0 {
            case .enter(let id, _, let hold): "\(id) \(hold)"
            case .refuse(let id, _): "\(id) no"
            }
        }
    }

    private func opened(_ change: (inout LimitGate.Settings) -> Void = { _ in }) throws -> LimitGate {
        var gate = gate {
            $0.breaker = CircuitBreaker.Settings()
            change(&$0)
        }
        let passes = try (0..<20).map { _ in try enter(&gate) }
        for permit in passes { #expect(gate.left(permit, .failed, now: 0) == []) }
        #expect(gate.circuit == .open)
        return gate
    }

    // MARK: No limits

    @Test func withoutLimitsAllCallsStart() throws {
        var gate = gate { _ in }
        let passes = try (0..<1000).map { try enter(&gate, $0) }
        #expect(gate.inFlight == 1000 && gate.deadline == nil && gate.blockingLimit == nil)
        for permit in passes { #expect(gate.left(permit, .failed, now: 1) == []) }
        #expect(gate.isIdle(now: 1))
    }

    // MARK: Concurrency

    @Test func queueIsFirstInFirstOut() throws {
        var gate = gate { $0.concurrency = 2 }
        let first = try enter(&gate)
        let second = try enter(&gate)
        for id in 1...3 as ClosedRange<UInt64> { #expect(gate.arrive(id, deadline: nil, now: 0) == .wait) }
        #expect(gate.blockingLimit == .concurrency && gate.queued == 3 && gate.deadline == nil)
        #expect(gate.removeWaiter(2, now: 0) == [] && gate.removeWaiter(2, now: 0) == [])
        #expect(reported(gate.left(first, .succeeded, now: 0)) == ["1 concurrency"])
        #expect(reported(gate.left(second, .succeeded, now: 0)) == ["3 concurrency"])
        #expect(gate.inFlight == 2 && !gate.isIdle(now: 0))
    }

    @Test func queueIsBounded() throws {
        var gate = gate {
            $0.concurrency = 1
            $0.maximumQueued = 1
        }
        _ = try enter(&gate)
        #expect(gate.arrive(1, deadline: nil, now: 0) == .wait)
        #expect(gate.arrive(2, deadline: nil, now: 0) == .refuse(.queueIsFull(maximum: 1)))
        #expect(gate.removeWaiter(1, now: 0) == [])
        #expect(gate.arrive(3, deadline: nil, now: 0) == .wait)
    }

    // MARK: Rate

    @Test func rateLimitReleasesCallsByTimer() throws {
        var gate = try gate { $0.rate = try #require(RateLimiter.Rate(count: 2, per: .seconds(2), burst: 1)) }
        _ = try enter(&gate)
        for id in 1...2 as ClosedRange<UInt64> { #expect(gate.arrive(id, deadline: nil, now: 0) == .wait) }
        #expect(gate.deadline == Self.second && gate.blockingLimit == .rate(.configuredRate))
        #expect(gate.timerFired(now: Self.second - 1) == [])
        #expect(
            reported(gate.timerFired(now: Self.second)) == ["1 rate(NightjarHTTP.RateLimiter.Cause.configuredRate)"])
        #expect(gate.deadline == 2 * Self.second)
        #expect(gate.timerFired(now: 2 * Self.second).count == 1)
        #expect(gate.deadline == nil)
    }

    @Test func callThatWouldMissItsDeadlineFailsImmediately() throws {
        var gate = try gate { $0.rate = try #require(RateLimiter.Rate(count: 1, per: .seconds(1))) }
        _ = try enter(&gate)
        #expect(gate.arrive(1, deadline: 3 * Self.second, now: 0) == .wait)
        #expect(gate.arrive(2, deadline: 3 * Self.second, now: 0) == .wait)
        // The third call would be admitted at its deadline, which is too late.
        #expect(gate.arrive(3, deadline: 3 * Self.second, now: 0) == .refuse(.pastDeadline(.seconds(3))))
        #expect(gate.arrive(4, deadline: 3 * Self.second + 1, now: 0) == .wait)
    }

    // MARK: Pauses requested by the server

    @Test func pauseAppliesToNewAndQueuedCalls() throws {
        var gate = gate { $0.concurrency = 1 }
        let permit = try enter(&gate)
        #expect(gate.arrive(1, deadline: 2 * Self.second, now: 0) == .wait)
        #expect(gate.arrive(2, deadline: 9 * Self.second, now: 0) == .wait)
        let fields = try headers([("Retry-After", "3")])
        #expect(
            gate.received(status: 429, fields, now: 0, wallClock: 0) == [.refuse(1, .pastDeadline(.seconds(3)))])
        #expect(gate.left(permit, .succeeded, now: 0) == [])
        #expect(gate.pausedUntil(now: 0) == 3 * Self.second && gate.blockingLimit == .rate(.serverPause))
        #expect(gate.arrive(3, deadline: nil, now: Self.second) == .wait)
        #expect(gate.deadline == 3 * Self.second && !gate.isIdle(now: 0))
        #expect(
            reported(gate.timerFired(now: 3 * Self.second)) == ["2 rate(NightjarHTTP.RateLimiter.Cause.serverPause)"])
        #expect(gate.pausedUntil(now: 3 * Self.second) == nil)
    }

    @Test func successOfACallIgnoringThePauseEndsIt() throws {
        var gate = gate { _ in }
        let pause = try headers([("Retry-After", "30")])
        #expect(gate.received(status: 429, pause, now: 5, wallClock: 0) == [])
        #expect(gate.arrive(1, deadline: nil, now: 6) == .wait)
        guard case .enter(let permit) = gate.arrive(2, deadline: nil, ignoresPause: true, now: 7) else {
            Issue.record("the call was not admitted")
            return
        }
        var current: LimitGate.Permit? = permit
        #expect(reported(gate.received(&current, status: 500, Headers(), now: 8, wallClock: 0)) == [])
        let released = reported(gate.received(&current, status: 200, Headers(), now: 9, wallClock: 0))
        #expect(released == ["1 rate(NightjarHTTP.RateLimiter.Cause.serverPause)"])
        #expect(gate.pausedUntil(now: 9) == nil)
    }

    @Test func callIgnoringThePauseRespectsOtherLimits() throws {
        var gate = gate { $0.concurrency = 1 }
        _ = try enter(&gate)
        #expect(gate.arrive(1, deadline: nil, ignoresPause: true, now: 0) == .wait)
    }

    @Test func longPauseFailsImmediately() throws {
        var gate = gate { $0.concurrency = 1 }
        let permit = try enter(&gate)
        #expect(gate.arrive(1, deadline: nil, now: 0) == .wait)
        let refusal = LimitGate.Refusal.serverRequestedLongWait(.seconds(61))
        let fields = try headers([("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "61")])
        #expect(gate.received(status: 200, fields, now: 0, wallClock: 0) == [.refuse(1, refusal)])
        #expect(gate.left(permit, .failed, now: 0) == [])
        #expect(gate.arrive(2, deadline: nil, now: 0) == .refuse(refusal))
        // One second later, the remaining wait is within the limit.
        #expect(gate.arrive(3, deadline: nil, now: Self.second) == .wait)
        #expect(gate.isIdle(now: 61 * Self.second) == false)
        #expect(gate.timerFired(now: 61 * Self.second).count == 1)
    }

    @Test func exhaustedQuotaPausesBeforeA429() throws {
        var gate = gate { _ in }
        var permit: LimitGate.Permit? = try enter(&gate)
        let fields = try headers([("X-RateLimit-Remaining", "1"), ("X-RateLimit-Reset", "30")])
        #expect(gate.received(&permit, status: 200, fields, now: 0, wallClock: 0) == [])
        #expect(gate.left(try #require(permit), .succeeded, now: 0) == [])
        _ = try enter(&gate)
        #expect(gate.arrive(1, deadline: nil, now: 0) == .wait)
        #expect(gate.blockingLimit == .rate(.serverQuota) && gate.deadline == 30 * Self.second)
    }

    /// The next window is assumed to have the same quota and length, so a gate with an ended window differs from a new one.
    @Test func gateKeepsAQuotaUntilTheAssumedNextWindowEnds() throws {
        var gate = gate { _ in }
        var permit: LimitGate.Permit? = try enter(&gate)
        let fields = try headers([("X-RateLimit-Remaining", "1"), ("X-RateLimit-Reset", "30")])
        #expect(gate.received(&permit, status: 200, fields, now: 0, wallClock: 0) == [])
        #expect(gate.left(try #require(permit), .succeeded, now: 31 * Self.second) == [])
        #expect(!gate.isIdle(now: 31 * Self.second) && gate.isIdle(now: 60 * Self.second))
        #expect(gate.left(try enter(&gate, at: 31), .succeeded, now: 31 * Self.second) == [])
        #expect(!gate.isIdle(now: 60 * Self.second) && gate.isIdle(now: 61 * Self.second))
    }

    /// The remaining count in a response head already includes this exchange, although its body is still in flight.
    @Test func slotIsReleasedOnce() throws {
        var gate = gate { _ in }
        var stream: LimitGate.Permit? = try enter(&gate)
        let other = try enter(&gate)
        let fields = try headers([("X-RateLimit-Remaining", "1"), ("X-RateLimit-Reset", "30")])
        #expect(gate.received(&stream, status: 200, fields, now: 0, wallClock: 0) == [])
        #expect(gate.arrive(1, deadline: nil, now: 0) == .wait)
        // The server may have counted the failed request, so the last remaining request may be used up.
        #expect(gate.left(other, .failed, now: 0) == [] && gate.blockingLimit == .rate(.serverQuota))
        #expect(
            reported(gate.timerFired(now: 30 * Self.second)) == ["1 rate(NightjarHTTP.RateLimiter.Cause.serverQuota)"])
        #expect(gate.left(try #require(stream), .succeeded, now: 30 * Self.second) == [])
        #expect(gate.inFlight == 1)
    }

    // MARK: The breaker

    @Test func openCircuitFailsNewAndQueuedCalls() throws {
        var gate = gate {
            $0.breaker = CircuitBreaker.Settings()
            $0.concurrency = 20
        }
        let passes = try (0..<20).map { _ in try enter(&gate) }
        for id in 1...2 as ClosedRange<UInt64> { #expect(gate.arrive(id, deadline: nil, now: 0) == .wait) }
        var releases: [LimitGate.Release] = []
        for permit in passes { releases += gate.left(permit, .failed, now: 0) }
        // The first two failures admitted the queued calls before the circuit opened.
        #expect(reported(releases) == ["1 concurrency", "2 concurrency"])
        #expect(gate.circuit == .open)
        #expect(gate.arrive(3, deadline: nil, now: 0) == .refuse(.circuitIsOpen(retryAfter: .seconds(5))))
        #expect(!gate.isIdle(now: 0))

        gate = self.gate {
            $0.breaker = CircuitBreaker.Settings()
            $0.concurrency = 1
        }
        for _ in 0..<19 { #expect(gate.left(try enter(&gate), .failed, now: 0) == []) }
        let last = try enter(&gate)
        for id in 1...2 as ClosedRange<UInt64> { #expect(gate.arrive(id, deadline: nil, now: 0) == .wait) }
        #expect(reported(gate.left(last, .failed, now: 0)) == ["1 no", "2 no"])
    }

    @Test func probeClosesTheCircuit() throws {
        var gate = try opened()
        let probe = try enter(&gate, at: 5)
        #expect(probe.isProbe)
        let now = 5 * Self.second
        #expect(gate.arrive(1, deadline: nil, now: now) == .refuse(.circuitIsOpen(retryAfter: .zero)))
        #expect(gate.left(probe, .succeeded, now: now) == [])
        #expect(gate.circuit == .closed && gate.isIdle(now: now))
        #expect(try !enter(&gate, at: 5).isProbe)
    }

    /// The calls are queued during a pause. When the pause ends, the first call becomes the probe.
    @Test(arguments: [CircuitBreaker.Ending.succeeded, .failed, .inconclusive])
    func callsQueuedDuringAProbeFollowItsResult(ending: CircuitBreaker.Ending) throws {
        var gate = try opened()
        let pause = try headers([("Retry-After", "10")])
        #expect(gate.received(status: 429, pause, now: 0, wallClock: 0) == [])
        let now = 10 * Self.second
        for id in 1...3 as ClosedRange<UInt64> { #expect(gate.arrive(id, deadline: nil, now: now - 1) == .wait) }
        let released = gate.timerFired(now: now)
        guard case .enter(1, let probe, _)? = released.first, released.count == 1 else {
            Issue.record("\(released)")
            return
        }
        #expect(probe.isProbe && gate.blockingLimit == .probe && gate.deadline == nil)
        let reported = reported(gate.left(probe, ending, now: now))
        switch ending {
        case .succeeded: #expect(reported == ["2 probe", "3 probe"])
        case .failed: #expect(reported == ["2 no", "3 no"])
        case .inconclusive:
            #expect(reported == ["2 probe"])
            #expect(gate.circuit == .halfOpen && gate.queued == 1)
        }
    }

    // MARK: Errors

    @Test func rejectionNamesTheLimitTheTimeAndTheOption() {
        let refusals: [(LimitGate.Refusal, ErrorKind, Duration?, String)] = [
            (.queueIsFull(maximum: 7), .rateLimited, nil, "7 calls"),
            (.circuitIsOpen(retryAfter: .seconds(3)), .server, .seconds(3), "in 3.0 s"),
            (.circuitIsOpen(retryAfter: .zero), .server, nil, "in flight"),
            (.serverRequestedLongWait(.seconds(90)), .rateLimited, .seconds(90), "90.0 s"),
            (.pastDeadline(.milliseconds(1230)), .rateLimited, .milliseconds(1230), "1.3 s"),
        ]
        for (refusal, kind, wait, text) in refusals {
            let error = refusal.error(of: "https://api.test")
            #expect(error.kind == kind && error.retryAfter == wait && error.isRetryable)
            #expect(error.message.contains(text) && error.message.contains("https://api.test"))
            #expect(!error.requestMayHaveBeenProcessed)
        }
    }
}
