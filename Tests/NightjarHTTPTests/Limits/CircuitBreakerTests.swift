import Testing

@testable import NightjarHTTP

@Suite struct CircuitBreakerTests {
    private static let second: UInt64 = 1_000_000_000

    /// Makes a call that ends immediately.
    private func call(_ breaker: inout CircuitBreaker, _ ending: CircuitBreaker.Ending, at now: UInt64) {
        guard case .permit(let permit) = breaker.admit(now: now) else {
            Issue.record("the call was refused at \(now)")
            return
        }
        breaker.ended(permit, ending, now: now)
    }

    private func opened(at now: UInt64 = 0) -> CircuitBreaker {
        var breaker = CircuitBreaker()
        for _ in 0..<20 { call(&breaker, .failed, at: now) }
        return breaker
    }

    @Test func fewFailuresDoNotOpenTheCircuit() {
        var breaker = CircuitBreaker()
        for _ in 0..<19 { call(&breaker, .failed, at: 0) }
        #expect(breaker.visible == .closed)
        call(&breaker, .failed, at: 0)
        #expect(breaker.visible == .open)
    }

    @Test func failureRatioOpensTheCircuit() {
        var breaker = CircuitBreaker()
        for _ in 0..<100 { call(&breaker, .succeeded, at: 0) }
        for _ in 0..<99 { call(&breaker, .failed, at: 0) }
        #expect(breaker.visible == .closed)
        call(&breaker, .failed, at: 0)
        #expect(breaker.visible == .open)
    }

    @Test func oldFailuresExpire() {
        var breaker = CircuitBreaker()
        for _ in 0..<19 { call(&breaker, .failed, at: 0) }
        call(&breaker, .failed, at: 10 * CircuitBreakerTests.second)
        #expect(breaker.visible == .closed)
    }

    @Test func cancelledCallsAreNotCounted() {
        var breaker = CircuitBreaker()
        for _ in 0..<100 { call(&breaker, .inconclusive, at: 0) }
        #expect(breaker.visible == .closed)
    }

    @Test func openCircuitReportsItsRemainingTime() {
        var breaker = opened()
        #expect(breaker.admit(now: 2 * CircuitBreakerTests.second) == .refuse(retryAfter: .seconds(3)))
    }

    @Test func singleProbeClosesTheCircuit() {
        var breaker = opened()
        let then = 5 * CircuitBreakerTests.second
        guard case .permit(let probe) = breaker.admit(now: then) else {
            Issue.record("the probe was refused")
            return
        }
        #expect(probe.isProbe)
        #expect(breaker.visible == .halfOpen)
        #expect(breaker.admit(now: then) == .refuse(retryAfter: .zero))
        #expect(breaker.ended(probe, .succeeded, now: then) == true)
        #expect(breaker.visible == .closed)
        // Earlier failures no longer count.
        call(&breaker, .failed, at: then)
        #expect(breaker.visible == .closed)
    }

    @Test func failedProbeReopensTheCircuit() {
        var breaker = opened()
        call(&breaker, .failed, at: 5 * CircuitBreakerTests.second)
        #expect(breaker.visible == .open)
        #expect(breaker.admit(now: 6 * CircuitBreakerTests.second) == .refuse(retryAfter: .seconds(4)))
    }

    @Test func cancelledProbeAllowsAnotherProbe() {
        var breaker = opened()
        call(&breaker, .inconclusive, at: 5 * CircuitBreakerTests.second)
        #expect(breaker.visible == .halfOpen)
        call(&breaker, .succeeded, at: 5 * CircuitBreakerTests.second)
        #expect(breaker.visible == .closed)
    }

    @Test func lateResultsAreIgnored() {
        var breaker = CircuitBreaker()
        guard case .permit(let old) = breaker.admit(now: 0) else {
            Issue.record("a closed circuit refused the call")
            return
        }
        for _ in 0..<20 { call(&breaker, .failed, at: 0) }
        breaker.ended(old, .succeeded, now: 1)
        #expect(breaker.visible == .open)
        guard case .permit(let probe) = breaker.admit(now: 5 * CircuitBreakerTests.second) else {
            Issue.record("the probe was refused")
            return
        }
        breaker.ended(old, .failed, now: 5 * CircuitBreakerTests.second)
        #expect(breaker.visible == .halfOpen)
        breaker.ended(probe, .succeeded, now: 5 * CircuitBreakerTests.second)
        breaker.ended(probe, .failed, now: 5 * CircuitBreakerTests.second)
        #expect(breaker.visible == .closed)
    }
}
