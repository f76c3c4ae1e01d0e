import NIOCore
import Nightjar
import NightjarDemo
import NightjarTestSupport
import Synchronization
import Testing

/// Limits of calls to the demo API, checked with the statistics of the server.
@Suite struct LimitTests {
    private final class Demo: Sendable {
        let server = DemoServer()
        let port: Int

        init() throws { port = try server.start() }

        deinit { server.stop() }

        func client(_ options: String) throws -> Client {
            var configuration = Configuration.loopback
            configuration.baseURL = "http://127.0.0.1:\(port)/v1"
            configuration.timeouts.total = .seconds(30)
            configuration.retry = RetrySettings()
            try configuration.merge(json: options)
            return try Client(configuration)
        }

        func outage(_ kind: String) throws {
            var request = Request(.post, "http://127.0.0.1:\(port)/__control", body: #"{"outage": "\#(kind)"}"#)
            try request.headers.set("Content-Type", "application/json")
            _ = try client("{}").sendBlocking(request)
        }
    }

    private func all(_ api: Client, _ count: Int, _ target: String) async -> [Result<Response, NightjarError>] {
        await withTaskGroup(of: Result<Response, NightjarError>.self) { group in
            for _ in 0..<count {
                group.addTask {
                    do throws(NightjarError) {
                        return .success(try await api.send(Request(.get, target)))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func concurrencyIsLimited() async throws {
        let demo = try Demo()
        let api = try demo.client(#"{"concurrency": 3}"#)
        let results = await all(api, 12, "/slow?ms=20&key=c")
        #expect(results.allSatisfy { (try? $0.get().status) == 200 })
        #expect(demo.server.statistics.inProgressMax["/v1/slow?key=c"] == 3)
        let waited = results.compactMap { try? $0.get() }.flatMap(\.decisions).filter { $0.name == "waited" }
        #expect(waited.count == 9)
        #expect(waited.first?.description.contains("for the concurrency limit of http://127.0.0.1") == true)
    }

    @Test func queueIsBounded() async throws {
        let demo = try Demo()
        let api = try demo.client(#"{"concurrency": 1, "max_queued": 4}"#)
        let results = await all(api, 10, "/slow?ms=20&key=q")
        let errors = results.compactMap { result in if case .failure(let error) = result { error } else { nil } }
        #expect(errors.count == 5)
        #expect(errors.allSatisfy { $0.kind == .rateLimited && $0.attempts == 0 && !$0.requestMayHaveBeenProcessed })
    }

    @Test func rateIsLimited() async throws {
        let demo = try Demo()
        let api = try demo.client(#"{"rate_limit": {"requests": 20, "per": 0.2, "burst": 5}}"#)
        let start = ContinuousClock.now
        let results = await all(api, 25, "/limited?limit=1000&per=1&group=own")
        let elapsed = ContinuousClock.now - start
        #expect(results.allSatisfy { (try? $0.get().status) == 200 })
        // After the burst of 5 calls, the other 20 start 10 ms apart.
        #expect(elapsed >= .milliseconds(190))
    }

    @Test(arguments: ["draft8", "draft7", "x"]) func announcedQuotaIsRespectedBeforeA429(fields: String)
        async throws
    {
        let demo = try Demo()
        let api = try demo.client(#"{"rate_limit": true, "concurrency": 1}"#)
        let results = await all(api, 25, "/limited?limit=10&per=1&group=\(fields)&fields=\(fields)")
        #expect(results.allSatisfy { (try? $0.get().status) == 200 })
        #expect(demo.server.statistics.limited == 0)
    }

    @Test(arguments: ["seconds", "date"]) func retryAfterPausesAllCalls(form: String) async throws {
        let demo = try Demo()
        let api = try demo.client(#"{"concurrency": 2, "retry": {"base": 0.01}}"#)
        let results = await all(api, 12, "/limited?limit=5&per=1&group=\(form)&fields=none&retry_after=\(form)")
        #expect(results.allSatisfy { (try? $0.get().status) == 200 })
        // In each of three windows, at most the two calls in flight are rejected.
        #expect(demo.server.statistics.limited <= 6)
        let decisions = results.compactMap { try? $0.get() }.flatMap(\.decisions)
        #expect(decisions.contains { $0.description.contains("(Retry-After)") || $0.name == "retried" })
    }

    @Test func tooLongRetryAfterFailsPendingAndLaterCallsImmediately() throws {
        let demo = try Demo()
        let api = try demo.client(#"{"retry": {"max_wait": 5}}"#)
        for attempt in 0..<2 {
            let error = #expect(throws: NightjarError.self) {
                try api.sendBlocking(Request(.get, "/flaky?key=long&times=9&status=503&retry_after=60"))
            }
            #expect((error?.retryAfter ?? .zero) > .seconds(55))
            #expect(error?.attempts == 1 - attempt)
        }
    }

    @Test func circuitStaysOpenUntilAProbeSucceeds() throws {
        let demo = try Demo()
        let api = try demo.client(
            #"{"retry": false, "circuit_breaker": {"failure_rate": 0.5, "minimum_calls": 5, "window": 10, "open_duration": 0.2}}"#
        )
        #expect(try api.sendBlocking(Request(.get, "/articles")).status == 200)
        try demo.outage("503")
        var kinds: [String] = []
        for _ in 0..<20 {
            do throws(NightjarError) {
                _ = try api.sendBlocking(Request(.get, "/articles"))
            } catch {
                kinds.append(error.status == nil ? "refused" : "failed")
            }
        }
        #expect(kinds.filter { $0 == "failed" }.count < 10)
        #expect(kinds.last == "refused")
        #expect(api.limitStates().first?.circuit == .open)
        try demo.outage("none")
        let start = ContinuousClock.now
        var recovered = false
        while !recovered, ContinuousClock.now - start < .seconds(5) {
            recovered = (try? api.sendBlocking(Request(.get, "/articles")).status) == 200
        }
        #expect(recovered && ContinuousClock.now - start < .seconds(1.2))
        #expect(api.limitStates().first?.circuit == .closed)
    }

    @Test func groupHasItsOwnLimits() async throws {
        let demo = try Demo()
        let api = try demo.client(#"{"limit_groups": {"search": {"concurrency": 1}}}"#)
        var request = Request(.get, "/slow?ms=20&key=g")
        request.limitGroup = "search"
        try await withThrowingTaskGroup(of: Void.self) { [request] group in
            for _ in 0..<4 { group.addTask { _ = try await api.send(request) } }
            try await group.waitForAll()
        }
        #expect(demo.server.statistics.inProgressMax["/v1/slow?key=g"] == 1)
        var unknown = request
        unknown.limitGroup = "serch"
        let error = #expect(throws: NightjarError.self) { try api.sendBlocking(unknown) }
        #expect(error?.message == "the client has no limit group \"serch\"; did you mean \"search\"?")
    }

    @Test func queuedCallCanBeCancelled() throws {
        let demo = try Demo()
        let api = try demo.client(#"{"concurrency": 1}"#)
        let queue = CompletionQueue()
        let ended = Mutex<[String]>([])
        let tasks = try (0..<5).map { index in
            try api.start(
                Request(.get, "/slow?ms=100&key=w"), on: queue,
                TaskHandlers { _, result in
                    ended.withLock { $0.append((try? result.get()) == nil ? "cancelled" : "completed") }
                })
        }
        for _ in 0..<50 { queue.poll(timeout: .milliseconds(1)) }
        for task in tasks.dropFirst().dropLast() { task.cancel() }
        for _ in 0..<400 where ended.withLock({ $0.count }) < 5 { queue.poll(timeout: .milliseconds(10)) }
        #expect(ended.withLock { $0.sorted() } == ["cancelled", "cancelled", "cancelled", "completed", "completed"])
        #expect(demo.server.statistics.inProgressMax["/v1/slow?key=w"] == 1)
        #expect(api.limitStates().allSatisfy { $0.inFlight == 0 && $0.queued == 0 })
    }
}
