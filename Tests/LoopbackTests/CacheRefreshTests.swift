import NIOCore
import Nightjar
import NightjarDemo
import Synchronization
import Testing

/// Callbacks of background revalidations, and manual access to the cache.
@Suite(.timeLimit(.minutes(1))) struct CacheRefreshTests {
    /// Events in order.
    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock { $0 } }

        func note(_ line: String) { lines.withLock { $0.append(line) } }

        func note(_ name: String, _ result: Result<Response, NightjarError>) {
            switch result {
            case .success(let response): note("\(name) \(response.source.name) \(version(response))")
            case .failure(let error): note("\(name) \(error.kind.name)")
            }
        }
    }

    private static func version(_ response: Response) -> Int {
        (try? response.decode(Int.self, at: JSONPointer("/version"))) ?? -1
    }

    private final class Bench {
        let server = DemoServer()
        let client: Client
        let queue = CompletionQueue()
        let log = Log()

        init(_ configure: (inout Configuration) -> Void = { _ in }) throws {
            let port = try server.start(host: "127.0.0.1", port: 0)
            client = try LoopbackTests.client(port: port) { configuration in
                configuration.cacheSettings = CacheStorage.Settings()
                configure(&configuration)
            }
        }

        deinit { server.stop() }

        static func request(_ target: String, _ query: String = "control=max-age%3D0&etag=strong") -> Request {
            var request = Request(.get, "\(target)?\(query)")
            request.cachePolicy = .offlineFirst
            return request
        }

        func handlers() -> TaskHandlers {
            var handlers = TaskHandlers { [log] task, result in
                log.note("finished", result)
                log.note(task.isRefreshing ? "is refreshing" : "is not refreshing")
            }
            handlers.refreshed = { [log] in log.note("refreshed", $0) }
            return handlers
        }

        /// Sends the request and waits until the log has `count` lines.
        func run(_ request: Request, until count: Int) throws -> [String] {
            try client.start(request, on: queue, handlers())
            for _ in 0..<1000 where log.all.count < count { queue.poll(timeout: .milliseconds(10)) }
            return log.all
        }

        func write(_ target: String) throws { _ = try client.sendBlocking(Request(.post, target)) }
    }

    @Test func freshResponseIsDeliveredOnceAfterTheStaleOne() throws {
        let bench = try Bench()
        #expect(try bench.run(Bench.request("/cache/a"), until: 2) == ["finished network 1", "is not refreshing"])
        try bench.write("/cache/a")
        let lines = try bench.run(Bench.request("/cache/a"), until: 5)
        #expect(Array(lines.dropFirst(2)) == ["finished stale 1", "is refreshing", "refreshed network 2"])
        bench.queue.poll(timeout: .zero)
        #expect(bench.log.all.count == 5)
    }

    @Test func failedRefreshIsReported() throws {
        let bench = try Bench()
        _ = try bench.run(Bench.request("/cache/a"), until: 2)
        bench.server.stop()
        let lines = try bench.run(Bench.request("/cache/a"), until: 5)
        #expect(lines[2...4] == ["finished stale 1", "is refreshing", "refreshed connect"])
    }

    /// The redirect is also revalidated, but only the final response is reported.
    @Test func intermediateResponsesOfARefreshAreNotReported() throws {
        let bench = try Bench()
        let target = "/cache/t?control=max-age%3D0%26etag=strong"
        let request = Bench.request("/cache/r/redirect", "status=301&control=max-age%3D0&etag=strong&to=\(target)")
        #expect(try bench.run(request, until: 2).first?.hasPrefix("finished network") == true)
        let lines = try bench.run(request, until: 5)
        #expect(lines.filter { $0.hasPrefix("refreshed") } == ["refreshed revalidated 1"])
    }

    @Test func blockingCallReportsARefreshOnItsQueue() throws {
        let bench = try Bench()
        let request = Bench.request("/cache/a")
        _ = try bench.client.sendBlocking(request)
        let error = #expect(throws: NightjarError.self) {
            try bench.client.sendBlocking(request, handlers: bench.handlers())
        }
        #expect(error?.kind == .invalidRequest)
        #expect(bench.log.all.isEmpty)
        var handlers = bench.handlers()
        handlers.refreshQueue = bench.queue
        #expect(try bench.client.sendBlocking(request, handlers: handlers).source == .stale)
        for _ in 0..<1000 where bench.log.all.count < 3 { bench.queue.poll(timeout: .milliseconds(10)) }
        #expect(Set(bench.log.all) == ["finished stale 1", "is refreshing", "refreshed revalidated 1"])
    }

    @Test func refreshForAClosedQueueIsNotReported() throws {
        let bench = try Bench()
        let request = Bench.request("/cache/a")
        _ = try bench.client.sendBlocking(request)
        var handlers = bench.handlers()
        let closed = CompletionQueue()
        closed.close()
        handlers.refreshQueue = closed
        _ = try bench.client.sendBlocking(request, handlers: handlers)
        #expect(bench.log.all == ["finished stale 1", "is not refreshing"])
        #expect(try bench.run(request, until: 5).last == "refreshed revalidated 1")
    }

    @Test func independentCallIsNotifiedOfARefresh() throws {
        let sharing = try Bench { $0.coalesces = true }
        var request = Request(.get, "/")
        #expect(!sharing.client.mayRefresh(request))
        request.cachePolicy = .offlineFirst
        #expect(sharing.client.mayRefresh(request))
        request.usesCache = false
        #expect(!sharing.client.mayRefresh(request))
        let alone = try Bench()
        #expect(alone.client.mayRefresh(Request(.get, "/")))
        let without = try Bench { $0.cacheSettings = nil }
        #expect(!without.client.mayRefresh(Request(.get, "/")))
    }

    // MARK: Manual access

    @Test func lookupSendsNoRequest() throws {
        let bench = try Bench()
        for request in [Request(.post, "/cache/a"), Request(.put, "/cache/a", body: "x")] {
            let error = #expect(throws: NightjarError.self) { try bench.client.cached(request) }
            #expect(error?.kind == .invalidRequest)
        }
        var bodied = Request(.get, "/cache/a", body: "x")
        bodied.allowsBodyOnGet = true
        #expect(throws: NightjarError.self) { try bench.client.cached(bodied) }
        #expect(try bench.client.cached(Request(.get, "/cache/a")) == nil)
        // Versions begin at 1, and each write increments the version.
        try bench.write("/cache/a")
        #expect(Self.version(try bench.client.sendBlocking(Request(.get, "/cache/a"))) == 2)
    }

    @Test func lookupFindsStoredErrors() throws {
        let bench = try Bench()
        let request = Request(.get, "/cache/a/missing")
        #expect(throws: NightjarError.self) { try bench.client.sendBlocking(request) }
        #expect(try bench.client.cached(request)?.status == 404)
    }

    @Test func insertedEntryIsServedWithoutARequest() throws {
        let bench = try Bench()
        var request = Request(.get, "/cache/a")
        try request.headers.set("Cache-Control", "no-store")
        let error = #expect(throws: NightjarError.self) {
            try bench.client.insert(headers: Headers(), body: ByteBuffer(), for: request)
        }
        #expect(error?.message == "the response cannot be stored: the request has no-store")
        #expect(throws: NightjarError.self) {
            try bench.client.insert(99, headers: Headers(), body: ByteBuffer(), for: Request(.get, "/cache/a"))
        }
        #expect(try bench.client.sendBlocking(Request(.get, "/cache/a")).headers["Demo-Read"] == "1")
    }

    @Test func entriesBelowAPathAreRemoved() throws {
        let bench = try Bench()
        for target in ["/cache/a", "/cache/ab", "/cache/b"] {
            try bench.client.insert(headers: Headers(), body: ByteBuffer(string: target), for: Request(.get, target))
        }
        #expect(try bench.client.removeCached(Request(.get, "/cache/a")) == 1)
        #expect(try bench.client.removeCached(Request(.get, "/cache/a")) == 0)
        #expect(try bench.client.removeCached(beginningWith: Request(.get, "/cache/a")) == 1)
        #expect(try bench.client.cached(Request(.get, "/cache/b")) != nil)
    }
}
