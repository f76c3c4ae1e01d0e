import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar
@testable import NightjarHTTP

/// A URL whose responses cannot be stored takes a shorter path through the cache. The shorter path must store, report
/// and explain the same as the complete path.
@Suite struct UncacheableTests {
    private static let noStore = [("Cache-Control", "no-store")]
    private static let fresh = [("Cache-Control", "max-age=600")]

    @Test func eachResponseIsCountedAndExplained() throws {
        let bench = try CacheTests.Bench { _, _ in .init(200, Self.noStore) }
        for _ in 0..<3 {
            let response = try bench.get()
            #expect(response.source == .network)
            #expect(response.decisions.explanation.contains("not stored in the cache: the response has no-store"))
        }
        #expect(bench.requested.count == 3)
        let statistics = try #require(bench.client.cache).statistics
        #expect(statistics.misses == 3 && statistics.hits == 0)
    }

    @Test func storableResponseIsStoredAgain() throws {
        let bench = try CacheTests.Bench { number, _ in .init(200, number <= 2 ? Self.noStore : Self.fresh) }
        for _ in 0..<2 { _ = try bench.get() }
        let third = try bench.get()
        #expect(third.headers["Cache-Status"] == "nightjar; fwd=uri-miss; stored")
        #expect(try bench.get().source == .cache)
        #expect(bench.requested.count == 3)
    }

    @Test(arguments: ["no-store, must-understand", "private", "max-age=0"])
    func otherReasonsAreReportedUnchanged(_ cacheControl: String) throws {
        let bench = try CacheTests.Bench { number, _ in
            .init(200, number == 1 ? Self.noStore : [("Cache-Control", cacheControl)])
        }
        let plain = try CacheTests.Bench { _, _ in .init(200, [("Cache-Control", cacheControl)]) }
        _ = try bench.get()
        #expect(
            try bench.get().headers["Cache-Status"] == plain.get().headers["Cache-Status"], "\(cacheControl)")
    }

    @Test func writeDuringTheFetchIsRespected() throws {
        let bench = try CacheTests.Bench { number, _ in
            .init(200, number == 1 ? Self.noStore : Self.fresh)
        }
        _ = try bench.get()
        bench.server.isHeld.store(true, ordering: .relaxed)
        let results = CacheTests.Results()
        try bench.start(CacheTests.Bench.request(.get, "/a"), results)
        bench.run("the request is sent") { bench.requested.count == 2 }
        _ = try #require(bench.client.cache).remove(url: RequestURL("http://api.test/a"))
        bench.server.release()
        bench.run { results.count == 1 }
        #expect(try bench.get().source == .network, "a response that was requested before the removal is not stored")
    }

    @Test func storedResponseIsFoundAndValidated() throws {
        let storage = try CacheStorage()
        let bench = try CacheTests.Bench(.init(), { $0.cache = storage }) { number, _ in
            .init(200, number == 1 ? Self.noStore : Self.fresh)
        }
        let other = try CacheTests.Bench(.init(), { $0.cache = storage }) { _, _ in .init(200, Self.fresh) }
        _ = try bench.get()
        // Another client of the same cache stores a response.
        _ = try other.get()
        #expect(try bench.get().source == .cache)
        #expect(bench.requested.count == 1)
    }

    @Test func conditionalRequestUsesTheCompletePath() throws {
        let bench = try CacheTests.Bench { number, _ in number == 1 ? .init(200, Self.noStore) : .init(304, []) }
        _ = try bench.get()
        let response = try bench.get("/a", policy: nil, [("If-None-Match", "\"1\"")])
        #expect(response.status == 304)
    }

    @Test func failureIsExplained() throws {
        let bench = try CacheTests.Bench { number, _ in
            number == 1 ? .init(200, Self.noStore) : .failing(.connectionLost)
        }
        _ = try bench.get()
        let error = try #require(throws: NightjarError.self) { try bench.get() }
        #expect(error.decisions.explanation.contains("no response was stored for the URL"))
    }
}
