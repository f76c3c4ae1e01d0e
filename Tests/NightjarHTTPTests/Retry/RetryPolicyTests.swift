import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// Always returns the same number: the minimum or maximum of the random range.
private struct Constant: RandomNumberGenerator {
    let value: UInt64
    mutating func next() -> UInt64 { value }
}

@Suite struct RetryPolicyTests {
    private typealias Outcome = RetryPolicy.Outcome
    private let get = RetryPolicy.Attempt(.get, hasIdempotencyKey: false, bodyIsReplayable: true)

    private func verdict(
        _ outcome: RetryPolicy.Outcome, method: Method = .get, key: Bool = false, body: Bool = true,
        gone: Bool = false, deadline: UInt64? = nil, settings: RetrySettings = RetrySettings()
    ) -> RetryPolicy.Verdict {
        var policy = RetryPolicy(settings, deadline: deadline)
        let attempt = RetryPolicy.Attempt(
            method, hasIdempotencyKey: key, bodyIsReplayable: body, responseWasDelivered: gone)
        var budget = RetryBudget()
        var random = Constant(value: .max)
        return policy.ended(outcome, attempt, now: 0, budget: &budget, using: &random)
    }

    // MARK: Retried failures

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
    func transientStatusesAreRetried(status: Int) {
        #expect(verdict(Outcome(status: status, retryAfter: nil)) == .again(after: .milliseconds(500)))
    }

    @Test(arguments: [200, 304, 400, 401, 404, 409, 501, 505, 511])
    func otherStatusesAreResponses(status: Int) {
        #expect(verdict(Outcome(status: status, retryAfter: .zero)) == .stop(.notTransient))
    }

    @Test(arguments: [Method.post, .patch])
    func writeIsRetriedOnlyIfItWasNotProcessed(method: Method) {
        let lost = NightjarError(.connectionLost, "lost", requestMayHaveBeenProcessed: true)
        let unsent = NightjarError(.connect, "refused")
        #expect(verdict(Outcome(lost), method: method) == .stop(.mayHaveBeenProcessed))
        #expect(verdict(Outcome(lost), method: method, key: true) == .again(after: .milliseconds(500)))
        #expect(verdict(Outcome(unsent), method: method) == .again(after: .milliseconds(500)))
        for status in [408, 500, 502, 503, 504] {
            let outcome = Outcome(status: status, retryAfter: nil)
            #expect(verdict(outcome, method: method) == .stop(.mayHaveBeenProcessed))
            #expect(verdict(outcome, method: method, key: true) == .again(after: .milliseconds(500)))
        }
        for status in [425, 429] {
            let outcome = Outcome(status: status, retryAfter: nil)
            #expect(verdict(outcome, method: method) == .again(after: .milliseconds(500)))
        }
    }

    @Test(arguments: [Method.get, .head, .put, .delete, .options])
    func idempotentRequestIsRetried(method: Method) {
        let lost = NightjarError(.connectionLost, "lost", requestMayHaveBeenProcessed: true)
        #expect(verdict(Outcome(lost), method: method) == .again(after: .milliseconds(500)))
    }

    @Test func consumedBodyIsNotSentAgain() {
        let outcome = Outcome(status: 503, retryAfter: nil)
        #expect(verdict(outcome, method: .put, body: false) == .stop(.bodyWasConsumed))
        #expect(verdict(outcome, method: .post, key: true, body: false) == .stop(.bodyWasConsumed))
    }

    @Test func startedResponseIsNotRetried() {
        let lost = Outcome(NightjarError(.connectionLost, "lost", requestMayHaveBeenProcessed: true))
        #expect(verdict(lost, gone: true) == .stop(.responseWasDelivered))
    }

    @Test(arguments: [ErrorKind.cancelled, .tls, .pinMismatch, .protocol, .tooLarge, .closed, .invalidURL])
    func permanentErrorsAreNotRetried(kind: ErrorKind) {
        #expect(verdict(Outcome(NightjarError(kind, "no"))) == .stop(.notTransient))
    }

    @Test func timeoutsExceptTheTotalOneAreRetried() {
        #expect(verdict(Outcome(NightjarError(.timeout, "late", phase: .total))) == .stop(.notTransient))
        for phase in [ErrorPhase.connect, .idle] {
            let again = RetryPolicy.Verdict.again(after: .milliseconds(500))
            #expect(verdict(Outcome(NightjarError(.timeout, "late", phase: phase))) == again)
        }
    }

    // MARK: Delays

    @Test func backoffDoublesUpToTheMaximum() {
        var settings = RetrySettings()
        settings.maximumAttempts = 80
        var policy = RetryPolicy(settings, deadline: nil)
        var budget = RetryBudget()
        var most = Constant(value: .max)
        var waits: [RetryPolicy.Verdict] = []
        for _ in 0..<79 {
            budget.succeeded(retries: 1)
            let outcome = RetryPolicy.Outcome(status: 503, retryAfter: nil)
            waits.append(policy.ended(outcome, get, now: 0, budget: &budget, using: &most))
        }
        let seconds = [0.5, 1, 2, 4, 8, 16, 30, 30].map { RetryPolicy.Verdict.again(after: .seconds($0)) }
        #expect(Array(waits.prefix(8)) == seconds)
        #expect(waits.last == .again(after: .seconds(30)))
    }

    @Test func jitterCoversTheCompleteRange() {
        var random = SeededRandom(seed: 7)
        var halves = [0, 0]
        for _ in 0..<1000 {
            var policy = RetryPolicy(RetrySettings(), deadline: nil)
            var budget = RetryBudget()
            let outcome = RetryPolicy.Outcome(status: 503, retryAfter: nil)
            guard
                case .again(let wait) = policy.ended(
                    outcome, get, now: 0, budget: &budget, using: &random)
            else {
                Issue.record("expected a retry after 503")
                return
            }
            #expect(.zero <= wait && wait <= .milliseconds(500))
            halves[wait < .milliseconds(250) ? 0 : 1] += 1
        }
        #expect(halves.allSatisfy { (430...570).contains($0) }, "seed 7: \(halves)")
    }

    @Test func retryAfterIsAMinimum() {
        #expect(verdict(Outcome(status: 503, retryAfter: .seconds(7))) == .again(after: .seconds(7)))
        #expect(verdict(Outcome(status: 429, retryAfter: .zero)) == .again(after: .milliseconds(500)))
        #expect(verdict(Outcome(status: 429, retryAfter: .seconds(60))) == .again(after: .seconds(60)))
        let long = RetryPolicy.Verdict.stop(.serverRequestedLongWait(.seconds(61)))
        #expect(verdict(Outcome(status: 429, retryAfter: .seconds(61))) == long)
    }

    @Test func retryRespectsTheDeadline() {
        let outcome = Outcome(status: 503, retryAfter: .seconds(5))
        #expect(verdict(outcome, deadline: 5_000_000_000) == .stop(.pastDeadline(.seconds(5))))
        #expect(verdict(outcome, deadline: 5_000_000_001) == .again(after: .seconds(5)))
        #expect(verdict(outcome, deadline: 0) == .stop(.pastDeadline(.seconds(5))))
    }

    @Test func absurdSettingsDoNotTrap() {
        var settings = RetrySettings()
        settings.base = .seconds(Int64.max)
        settings.cap = .seconds(Int64.max)
        let outcome = Outcome(status: 503, retryAfter: nil)
        #expect(verdict(outcome, settings: settings) == .again(after: .nanoseconds(Int64.max)))
        settings.base = .seconds(-1)
        #expect(verdict(outcome, settings: settings) == .again(after: .zero))
        settings.maximumAttempts = -1
        #expect(verdict(outcome, settings: settings) == .stop(.attemptsExhausted))
    }

    // MARK: Number of attempts

    @Test func threeAttemptsAreTheDefault() {
        var policy = RetryPolicy(RetrySettings(), deadline: nil)
        var budget = RetryBudget()
        var none = Constant(value: 0)
        let verdicts = (0..<3).map { _ in
            policy.ended(
                RetryPolicy.Outcome(status: 500, retryAfter: nil), get, now: 0, budget: &budget, using: &none)
        }
        #expect(verdicts == [.again(after: .zero), .again(after: .zero), .stop(.attemptsExhausted)])
        #expect(policy.attempts == 3)
        #expect(budget.available == 8)
    }

    @Test func verdictIsExplained() {
        #expect("\(RetryPolicy.Verdict.again(after: .milliseconds(500)))" == "retried after 0.5 s")
        let stop = RetryPolicy.Verdict.stop(.serverRequestedLongWait(.seconds(61)))
        #expect(
            "\(stop)" == "not retried: the server requested a wait of 61.0 s, which is longer than the maximum wait")
    }
}
