import Testing

@testable import NightjarHTTP

@Suite struct RateLimiterTests {
    private static let second: UInt64 = 1_000_000_000

    private func headers(_ fields: [(String, String)]) throws -> Headers {
        var headers = Headers()
        for (name, value) in fields { try headers.add(name, value) }
        return headers
    }

    /// Returns when each of `count` requests is sent, in milliseconds after `start`. All requests arrive at `start`.
    private func departures(_ limiter: inout RateLimiter, _ count: Int, from start: UInt64) -> [UInt64] {
        var now = start
        return (0..<count).map { _ in
            // After the reported wait, the request is admitted.
            let wait = limiter.take(now: now)
            if wait > .zero {
                now = now.later(by: wait)
                #expect(limiter.take(now: now) == .zero)
            }
            return (now - start) / 1_000_000
        }
    }

    // MARK: The configured rate

    @Test func burstIsImmediateAndTheRestIsSpread() throws {
        let rate = try #require(RateLimiter.Rate(count: 10, per: .seconds(1), burst: 3))
        var limiter = RateLimiter(rate)
        let start = 5 * RateLimiterTests.second
        #expect(departures(&limiter, 7, from: start) == [0, 0, 0, 100, 200, 300, 400])
        // An idle period fills the bucket, but not beyond its capacity.
        #expect(departures(&limiter, 4, from: 60 * RateLimiterTests.second) == [0, 0, 0, 100])
    }

    @Test func waitingCallConsumesNoTokens() throws {
        let rate = try #require(RateLimiter.Rate(count: 1, per: .seconds(1)))
        var limiter = RateLimiter(rate)
        #expect(limiter.take(now: 0) == .zero)
        for _ in 0..<100 { #expect(limiter.take(now: 0) == .seconds(1)) }
        #expect(limiter.take(now: RateLimiterTests.second) == .zero)
    }

    @Test func absurdRatesDoNotTrap() throws {
        #expect(RateLimiter.Rate(count: 0, per: .seconds(1)) == nil)
        #expect(RateLimiter.Rate(count: 1, per: .zero) == nil)
        #expect(RateLimiter.Rate(count: 1, per: .seconds(1), burst: 0) == nil)
        let extremes = [
            RateLimiter.Rate(count: .max, per: .nanoseconds(1)), RateLimiter.Rate(count: 1, per: .seconds(Int64.max)),
            RateLimiter.Rate(count: 1, per: .seconds(Int64.max), burst: .max),
        ]
        for rate in extremes {
            var limiter = RateLimiter(rate)
            for now in [0, 1, UInt64.max] { _ = limiter.take(now: now) }
        }
    }

    // MARK: Limits from the server

    @Test func pauseAppliesToAllCalls() throws {
        var limiter = RateLimiter()
        limiter.received(status: 429, try headers([("Retry-After", "3")]), now: 0, wallClock: 0)
        limiter.received(status: 429, try headers([("Retry-After", "1")]), now: 0, wallClock: 0)
        #expect(limiter.take(now: RateLimiterTests.second) == .seconds(2))
        #expect(limiter.take(now: 3 * RateLimiterTests.second) == .zero)
    }

    /// A 503 and a long 429 pause only one resource. An invalid or excessive value has no effect.
    @Test(arguments: [
        (301, "3"), (503, "3"), (429, "61"), (429, "86400"), (429, "soon"), (429, "1700000000"), (429, "0"),
    ])
    func onlyAShort429PausesTheOrigin(status: Int, value: String) throws {
        var limiter = RateLimiter()
        limiter.received(status: status, try headers([("Retry-After", value)]), now: 0, wallClock: 0)
        #expect(limiter.take(now: 0) == .zero)
    }

    @Test func ignoredRetryAfterDoesNotPause() throws {
        var limiter = RateLimiter()
        limiter.received(
            status: 429, try headers([("Retry-After", "3")]), respectsRetryAfter: false, now: 0, wallClock: 0)
        #expect(limiter.take(now: 0) == .zero)
    }

    @Test func successOfALaterRequestEndsThePause() throws {
        var limiter = RateLimiter()
        limiter.received(status: 429, try headers([("Retry-After", "30")]), now: 5, wallClock: 0)
        // The success of a request that was sent before the pause began does not end the pause.
        limiter.succeeded(since: 4, now: 10)
        #expect(limiter.admits > 10)
        limiter.succeeded(since: 6, now: 10)
        #expect(limiter.take(now: 10) == .zero)
    }

    @Test func callIgnoringThePauseRespectsTheRate() throws {
        let rate = try #require(RateLimiter.Rate(count: 1, per: .seconds(1)))
        var limiter = RateLimiter(rate)
        limiter.received(status: 429, try headers([("Retry-After", "30")]), now: 0, wallClock: 0)
        #expect(limiter.take(now: 0) == .seconds(30))
        #expect(limiter.take(now: 0, ignoresPause: true) == .zero)
        #expect(limiter.take(now: 0, ignoresPause: true) == .seconds(1))
    }

    @Test func lastRequestsAreSpreadOverTheWindow() throws {
        var limiter = RateLimiter()
        let fields = [("X-RateLimit-Limit", "100"), ("X-RateLimit-Remaining", "4"), ("X-RateLimit-Reset", "8")]
        limiter.received(status: 200, try headers(fields), now: 0, wallClock: 0)
        #expect(departures(&limiter, 5, from: 0) == [0, 2000, 4000, 6000, 8000])
    }

    @Test func longWindowDoesNotCauseLongDelays() throws {
        var limiter = RateLimiter()
        let fields = [("X-RateLimit-Limit", "100"), ("X-RateLimit-Remaining", "3"), ("X-RateLimit-Reset", "3600")]
        limiter.received(status: 200, try headers(fields), now: 0, wallClock: 0)
        #expect(departures(&limiter, 4, from: 0) == [0, 5000, 10_000, 3_600_000])
    }

    @Test func estimatedDelayIsAccurate() throws {
        let rate = try #require(RateLimiter.Rate(count: 4, per: .seconds(1), burst: 2))
        for pause in 0...2 {
            var limiter = RateLimiter(rate)
            limiter.received(status: 429, try headers([("Retry-After", "\(pause)")]), now: 0, wallClock: 0)
            if pause == 0 { _ = departures(&limiter, 2, from: 0) }
            let estimates = (0..<6).map { limiter.estimate(place: $0, now: 0) / 1_000_000 }
            #expect(departures(&limiter, 6, from: 0) == estimates)
        }
    }

    @Test func sufficientQuotaCausesNoDelay() throws {
        var limiter = RateLimiter()
        let fields = [("X-RateLimit-Limit", "100"), ("X-RateLimit-Remaining", "60"), ("X-RateLimit-Reset", "8")]
        limiter.received(status: 200, try headers(fields), now: 0, wallClock: 0)
        #expect(departures(&limiter, 49, from: 0).allSatisfy { $0 == 0 })
    }

    @Test func exhaustedQuotaDelaysUntilTheReset() throws {
        var limiter = RateLimiter()
        limiter.received(status: 200, try headers([("RateLimit", #""a";r=0;t=5"#)]), now: 0, wallClock: 0)
        #expect(limiter.take(now: RateLimiterTests.second) == .seconds(4))
        #expect(limiter.take(now: 5 * RateLimiterTests.second) == .zero)
    }

    @Test func outdatedResponseRestoresNoQuota() throws {
        var limiter = RateLimiter()
        limiter.received(status: 200, try headers([("RateLimit", #""a";r=0;t=5"#)]), now: 0, wallClock: 0)
        limiter.received(status: 200, try headers([("RateLimit", #""a";r=9;t=5"#)]), now: 1, wallClock: 0)
        #expect(limiter.take(now: RateLimiterTests.second) == .seconds(4))
    }

    @Test func requestsInFlightReduceTheQuota() throws {
        var limiter = RateLimiter()
        let fields = try headers([("RateLimit-Policy", #""a";q=20;w=5"#), ("RateLimit", #""a";r=4;t=5"#)])
        for _ in 0..<5 { #expect(limiter.take(now: 0) == .zero) }
        for _ in 0..<2 {
            limiter.settled(isCounted: limiter.received(status: 200, fields, now: 0, wallClock: 0))
        }
        // The server may not have counted the 3 requests in flight, so only 1 of the 4 remaining requests is allowed.
        #expect(limiter.take(now: 0) == .zero)
        #expect(limiter.admits == 5 * RateLimiterTests.second && limiter.serverAdmits == 0)
        // The later responses show that the server had already counted the requests in flight.
        for _ in 0..<3 {
            limiter.settled(isCounted: limiter.received(status: 200, fields, now: 0, wallClock: 0))
        }
        #expect(limiter.admits == 0)
    }

    /// Without this assumption, all waiting requests would be sent at the reset.
    @Test func nextWindowIsAssumedEqual() throws {
        var limiter = RateLimiter()
        let fields = [("X-RateLimit-Limit", "3"), ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "8")]
        limiter.received(status: 200, try headers(fields), now: 0, wallClock: 0)
        #expect(limiter.take(now: 0) == .seconds(8))
        let next = 8 * RateLimiterTests.second
        for _ in 0..<3 {
            #expect(limiter.take(now: limiter.admits) == .zero)
            limiter.settled(isCounted: false)
        }
        #expect(limiter.admits == 2 * next)
        // The server has reported nothing about the second window, so the third window is not limited.
        for _ in 0..<100 { #expect(limiter.take(now: 2 * next) == .zero) }
    }

    @Test func newWindowResetsTheCount() throws {
        var limiter = RateLimiter()
        limiter.received(status: 200, try headers([("RateLimit", #""a";r=0;t=5"#)]), now: 0, wallClock: 0)
        let later = 4 * RateLimiterTests.second
        limiter.received(status: 200, try headers([("RateLimit", #""a";r=50;t=60"#)]), now: later, wallClock: 0)
        #expect(limiter.take(now: later) == .zero)
    }
}
