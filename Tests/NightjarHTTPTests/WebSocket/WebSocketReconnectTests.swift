import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct WebSocketReconnectTests {
    private struct Maximum: RandomNumberGenerator {
        mutating func next() -> UInt64 { .max }
    }

    private func verdict(
        _ closure: WebSocketClosure, _ settings: WebSocketReconnect.Settings = .init()
    ) -> WebSocketReconnect.Verdict {
        var policy = WebSocketReconnect(settings)
        var random = Maximum()
        return policy.closed(closure, now: 0, using: &random)
    }

    @Test func onlyTemporaryCodesAreRetried() {
        for code in UInt16(1000)...4999 {
            let code = WebSocketCloseCode(rawValue: code)
            let isRetried = [1001, 1006, 1011, 1012, 1013, 1014].contains(code.rawValue)
            let expected: WebSocketReconnect.Verdict =
                isRetried ? .again(after: .milliseconds(500)) : .stop(.code(code))
            #expect(verdict(WebSocketClosure(code)) == expected)
        }
    }

    @Test func listedCodesReplaceTheDefault() {
        var settings = WebSocketReconnect.Settings()
        settings.codes = [WebSocketCloseCode(rawValue: 4000)]
        #expect(
            verdict(WebSocketClosure(WebSocketCloseCode(rawValue: 4000)), settings) == .again(after: .milliseconds(500))
        )
        #expect(verdict(WebSocketClosure(.goingAway), settings) == .stop(.code(.goingAway)))
    }

    @Test func callerIsNotOverruled() {
        #expect(verdict(WebSocketClosure(.abnormal, isRequested: true)) == .stop(.closedByCaller))
    }

    @Test func waitsGrowUntilAConnectionIsStable() {
        var policy = WebSocketReconnect()
        var random = Maximum()
        var now: UInt64 = 0
        for wait in [500, 1000, 2000, 4000] {
            policy.opened(now: now)
            now += 9_999_999_999
            let verdict = policy.closed(WebSocketClosure(.abnormal), now: now, using: &random)
            #expect(verdict == .again(after: .milliseconds(wait)))
        }
        policy.opened(now: now)
        now += 10_000_000_000
        let verdict = policy.closed(WebSocketClosure(.abnormal), now: now, using: &random)
        #expect(verdict == .again(after: .milliseconds(500)))
    }

    @Test func failedAttemptsAreCounted() {
        var settings = WebSocketReconnect.Settings()
        settings.maximumAttempts = 3
        var policy = WebSocketReconnect(settings)
        var random = Maximum()
        let refused = NightjarError(.connect, "refused")
        #expect(
            policy.closed(WebSocketClosure(.goingAway), now: 0, using: &random) == .again(after: .milliseconds(500)))
        #expect(policy.failed(refused, using: &random) == .again(after: .seconds(1)))
        let busy = NightjarError(.rateLimited, "busy", retryAfter: .seconds(90))
        #expect(policy.failed(busy, using: &random) == .again(after: .seconds(90)))
        #expect(policy.failed(refused, using: &random) == .stop(.attemptsExhausted))
    }

    @Test func rejectedTokenIsReplacedOnceUntilAConnectionSucceeds() {
        var policy = WebSocketReconnect()
        policy.opened(now: 0)
        #expect(policy.tokenRejected(now: 1) == .again(after: .zero))
        policy.opened(now: 2)
        #expect(policy.tokenRejected(now: 3) == .stop(.tokenRejected))
    }

    @Test func contentOrAStableConnectionAcceptsTheToken() {
        var policy = WebSocketReconnect()
        policy.opened(now: 0)
        #expect(policy.tokenRejected(now: 1) == .again(after: .zero))
        policy.opened(now: 2)
        policy.delivered()
        #expect(policy.tokenRejected(now: 3) == .again(after: .zero))
        policy.opened(now: 4)
        #expect(policy.tokenRejected(now: 10_000_000_004) == .again(after: .zero))
        policy.opened(now: 10_000_000_005)
        #expect(policy.tokenRejected(now: 10_000_000_006) == .stop(.tokenRejected))
    }

    /// The connection was lost for another reason between two rejections.
    @Test func lostConnectionDoesNotAcceptTheToken() {
        var policy = WebSocketReconnect()
        var random = Maximum()
        policy.opened(now: 0)
        #expect(policy.tokenRejected(now: 1) == .again(after: .zero))
        policy.opened(now: 2)
        let verdict = policy.closed(WebSocketClosure(.abnormal), now: 3, using: &random)
        #expect(verdict == .again(after: .milliseconds(500)))
        policy.opened(now: 4)
        #expect(policy.tokenRejected(now: 5) == .stop(.tokenRejected))
    }

    @Test func longRequestedWaitStops() {
        var policy = WebSocketReconnect()
        var random = Maximum()
        let busy = NightjarError(.rateLimited, "busy", retryAfter: .seconds(301))
        #expect(policy.failed(busy, using: &random) == .stop(.serverRequestedLongWait(.seconds(301))))
    }

    @Test func permanentErrorStops() {
        var policy = WebSocketReconnect()
        var random = Maximum()
        #expect(policy.failed(NightjarError(.unauthorized, "no"), using: &random) == .stop(.permanent))
    }
}
