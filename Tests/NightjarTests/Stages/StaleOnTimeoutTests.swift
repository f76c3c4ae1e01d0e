import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import Nightjar

/// When the total timeout expires, the caller receives a stale response if stale-if-error allows it (RFC 5861
/// section 4). The tests cover the stages in which a call waits.
@Suite(.timeLimit(.minutes(1))) struct StaleOnTimeoutTests {
    private typealias Bench = CacheTests.Bench
    private typealias Results = CacheTests.Results
    private static let control = [("Cache-Control", "max-age=5, stale-if-error=600"), ("Age", "10"), ("ETag", "\"1\"")]

    /// A client that has stored a stale response for "/a". Its server then holds all responses until the release.
    private func bench(
        _ isOnDisk: Bool, _ folder: TemporaryDirectory, _ configure: (inout Configuration) -> Void
    ) throws -> Bench {
        let settings: CacheStorage.Settings =
            isOnDisk ? .init(memory: 0, disk: 1 << 20, folder: folder.file("c")) : .init()
        let bench = try Bench(settings, configure) { number, _ in
            .init(200, Self.control, number == 1 ? "content" : "new")
        }
        _ = try bench.get("/a")
        try bench.client.cache?.flush()
        bench.server.isHeld.store(true, ordering: .relaxed)
        return bench
    }

    private func request(_ target: String, total: Duration? = .milliseconds(50)) throws -> Request {
        var request = try Bench.request(.get, target)
        request.timeouts.total = total
        return request
    }

    private func expectStale(_ result: Result<Response, NightjarError>?) throws {
        let response = try #require(try result?.get())
        #expect(response.source == .stale)
        #expect(String(buffer: response.body) == "content")
        #expect(response.decisions.explanation.contains("stale-if-error"))
    }

    private func expectNoSlotsInUse(_ bench: Bench) {
        bench.run("the slots are free") { bench.client.limitStates().allSatisfy { $0.inFlight + $0.queued == 0 } }
    }

    @Test(arguments: [false, true]) func coalescedCallReceivesTheStaleResponseAndOthersWait(_ isOnDisk: Bool) throws {
        let folder = try TemporaryDirectory()
        let bench = try bench(isOnDisk, folder) { $0.coalesces = true }
        let results = Results()
        try bench.start(request("/a"), results, 0)
        try bench.start(request("/a"), results, 1)
        try bench.start(request("/a", total: .seconds(20)), results, 2)
        bench.run { results.count == 2 }
        try expectStale(results[0])
        try expectStale(results[1])
        #expect(bench.server.cancelled.load(ordering: .relaxed) == 0)
        bench.server.release()
        bench.run { results.count == 3 }
        #expect(String(buffer: try #require(try results[2]?.get()).body) == "new")
        #expect(bench.requested.count == 2)
    }

    @Test(arguments: [false, true]) func lastCoalescedCallReceivesTheStaleResponseAndEndsTheExchange(_ isOnDisk: Bool)
        throws
    {
        let folder = try TemporaryDirectory()
        let bench = try bench(isOnDisk, folder) { $0.coalesces = true }
        let results = Results()
        try bench.start(request("/a"), results)
        bench.run { results.count == 1 }
        try expectStale(results[0])
        #expect(bench.server.cancelled.load(ordering: .relaxed) == 1)
    }

    /// Every timeout of a server that does not respond counts, even if the caller gets a stale response.
    @Test(arguments: [false, true]) func circuitCountsTheTimeout(coalesces: Bool) throws {
        let bench = try bench(false, TemporaryDirectory()) {
            $0.coalesces = coalesces
            var breaker = CircuitBreaker.Settings()
            breaker.minimumCalls = 1
            breaker.failureRate = 0.4
            breaker.openDuration = .seconds(100)
            $0.limits.breaker = breaker
        }
        let results = Results()
        try bench.start(request("/a"), results)
        bench.run { results.count == 1 }
        try expectStale(results[0])
        #expect(bench.client.limitStates().first?.circuit == .open)
    }

    @Test(arguments: [false, true], [false, true])
    func callWaitingForASlotReceivesTheStaleResponse(_ isOnDisk: Bool, coalesces: Bool) throws {
        let folder = try TemporaryDirectory()
        let bench = try bench(isOnDisk, folder) {
            $0.limits.concurrency = 1
            $0.coalesces = coalesces
        }
        let results = Results()
        try bench.start(request("/b", total: .seconds(20)), results, 0)
        bench.run("the slot is taken") { bench.requested.count == 2 }
        try bench.start(request("/a"), results, 1)
        bench.run { results.count == 1 }
        try expectStale(results[1])
        bench.server.release()
        bench.run { results.count == 2 }
        #expect(String(buffer: try #require(try results[0]?.get()).body) == "new")
        // The call that has left the queue was not sent.
        #expect(bench.requested.map(\.target) == ["/a", "/b"])
        expectNoSlotsInUse(bench)
    }

    /// The rate limit would admit the call only after its timeout.
    @Test func callWaitingForTheRateLimitReceivesTheStaleResponse() throws {
        let bench = try bench(false, TemporaryDirectory()) {
            $0.limits.rate = RateLimiter.Rate(count: 1, per: .seconds(10))
        }
        let results = Results()
        try bench.start(request("/a"), results)
        bench.run { results.count == 1 }
        try expectStale(results[0])
        #expect(bench.requested.count == 1)
        expectNoSlotsInUse(bench)
    }
}
