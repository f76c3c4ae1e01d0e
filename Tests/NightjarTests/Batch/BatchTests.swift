import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

@Suite struct BatchTests {
    private final class Site: Sendable {
        let client: Client
        private let kept = Kept()

        init(_ configure: (inout Configuration) -> Void = { _ in }) throws {
            var configuration = Configuration()
            configuration.baseURL = "http://api.test/v1"
            configuration.retry.maximumAttempts = 1
            configure(&configuration)
            client = try Client(configuration) { [kept] loop in
                let transport = PausedTransport(loop)
                kept.transport.withLock { $0 = transport }
                return transport
            }
        }

        private final class Kept: Sendable {
            let transport = Mutex<PausedTransport?>(nil)
        }

        var log: PausedTransport.Log {
            kept.transport.withLock { $0 }?.log.withLock { $0 } ?? PausedTransport.Log()
        }
    }

    private func requests(_ targets: [String]) -> [Request] { targets.map { Request(.get, $0) } }

    /// Records the callbacks of a batch in order.
    private final class Notifications: Sendable {
        let lines = Mutex<[String]>([])
        let end = Mutex<Result<Void, NightjarError>?>(nil)

        var handlers: BatchHandlers {
            BatchHandlers(
                ended: { _, index, task, result in
                    let word: String
                    switch result {
                    case .success(let response): word = String(response.status)
                    case .failure(let error): word = error.kind.name + (error.batchIndex == index ? "" : "?")
                    }
                    self.lines.withLock { $0.append("\(index) \(word)") }
                },
                finished: { batch, result in
                    self.lines.withLock { $0.append(batch.isFinished ? "finished" : "finished?") }
                    self.end.withLock { $0 = result }
                })
        }

        func wait(_ queue: CompletionQueue) throws {
            // A batch of 5000 calls takes several seconds.
            try eventually("the batch finished", within: .seconds(60)) {
                queue.poll(timeout: .milliseconds(10))
                return end.withLock { $0 } != nil
            }
        }

        func wait() throws { try eventually("the batch finished") { end.withLock { $0 } != nil } }
    }

    // MARK: Blocking

    @Test(arguments: [1, 4, 6, 100]) func responsesAreInTheOrderOfTheRequests(concurrency: Int) async throws {
        let site = try Site()
        let responses = try await site.client.batch(requests((0..<40).map { "/a/\($0)x" }), concurrency: concurrency)
        #expect(responses.map(\.text) == (0..<40).map { "/v1/a/\($0)x" })
        #expect(site.log.peak <= concurrency)
        #expect(site.log.started.count == 40)
    }

    @Test func concurrencyIsLimited() throws {
        let site = try Site()
        for (concurrency, started) in [(1, 1), (6, 6), (100, 40)] {
            let before = site.log.started.count
            let reported = Notifications()
            let calls = requests((0..<40).map { "/hold/\($0)" }).map { BatchCall($0) }
            let batch = try site.client.start(batch: calls, concurrency: concurrency, on: nil, reported.handlers)
            try eventually("all permitted calls are in flight") { site.log.inFlight == started }
            batch.cancel()
            try reported.wait()
            #expect(site.log.started.count - before == started)
        }
    }

    @Test func firstFailureIsThrownAndTheRestCancelled() async throws {
        let site = try Site()
        let targets = ["/hold/1", "/hold/2", "/status/503"] + (0..<50).map { "/never/\($0)x" }
        let error = await #expect(throws: NightjarError.self) {
            _ = try await site.client.batch(requests(targets), concurrency: 3)
        }
        #expect(error?.kind == .server)
        #expect(error?.batchIndex == 2)
        #expect(
            error?.description
                == "server: requests[2]: GET returned 503 Service Unavailable [http://api.test/v1/status/503]")
        #expect(site.log.started.count == 3)
        #expect(site.log.cancelled == 2)
        #expect(site.log.inFlight == 0)
    }

    @Test func collectedResultsAreIndependent() async throws {
        let site = try Site()
        let results = try await site.client.collect(requests(["/a", "/status/404", "ftp://a/", "/b"]), concurrency: 2)
        #expect(results.count == 4)
        #expect(try results[0].get().text == "/v1/a")
        #expect(throws: NightjarError.self) { try results[1].get() }
        guard case .failure(let missing) = results[1], case .failure(let bad) = results[2] else {
            Issue.record("no failures")
            return
        }
        #expect(missing.kind == .notFound)
        #expect(missing.batchIndex == 1)
        #expect(bad.kind == .invalidURL)
        #expect(bad.batchIndex == 2)
        #expect(try results[3].get().text == "/v1/b")
    }

    @Test func emptyListCompletesImmediately() async throws {
        let site = try Site()
        #expect(try await site.client.batch([]).isEmpty)
        #expect(try await site.client.collect([]).isEmpty)
        #expect(try site.client.batchBlocking([]).isEmpty)
    }

    @Test func zeroConcurrencyIsRejected() async throws {
        let site = try Site()
        let error = await #expect(throws: NightjarError.self) {
            _ = try await site.client.collect(requests(["/a"]), concurrency: 0)
        }
        #expect(error?.description == "invalid_argument: the concurrency of a batch must be 1 or more, got 0")
        #expect(throws: NightjarError.self) {
            try site.client.batchBlocking([BatchCall(Request(.get, "/a"))], concurrency: 0)
        }
        // The queue of the rejected batch can be reused.
        #expect(try site.client.batchBlocking([BatchCall(Request(.get, "/a"))]).count == 1)
    }

    @Test func cancellingTheSwiftTaskCancelsAll() async throws {
        let site = try Site()
        let all = requests((0..<20).map { "/hold/\($0)" })
        let task = Task { try await site.client.batch(all) }
        try await eventually("six are in flight") { site.log.inFlight == 6 }
        task.cancel()
        let result = await task.result
        let error = #expect(throws: NightjarError.self) { try result.get() }
        #expect(error?.description == "cancelled: the batch was cancelled")
        #expect(site.log.started.count == 6)
        #expect(site.log.cancelled == 6)

        let collecting = Task { try await site.client.collect(all, concurrency: 2) }
        try await eventually("two are in flight") { site.log.inFlight == 2 }
        collecting.cancel()
        let results = try await collecting.value
        #expect(results.count == 20)
        #expect(results.allSatisfy { if case .failure(let error) = $0 { error.kind == .cancelled } else { false } })
    }

    @Test func blockingBatchRunsTheHandlersOfItsCalls() throws {
        let site = try Site()
        let parts = Mutex<[String]>([])
        let calls = (0..<10).map { index in
            var handlers = TaskHandlers { _, _ in }
            handlers.body = { _, part in parts.withLock { $0.append(String(buffer: part)) } }
            return BatchCall(Request(.get, "/a/\(index)x"), handlers: handlers)
        }
        let responses = try site.client.batchBlocking(calls, concurrency: 3)
        #expect(responses.map(\.url) == (0..<10).map { "http://api.test/v1/a/\($0)x" })
        #expect(parts.withLock { $0.sorted() } == (0..<10).map { "/v1/a/\($0)x" })
        #expect(site.log.peak <= 3)
    }

    // MARK: Queues

    @Test func queueReportsEachResultThenTheEnd() throws {
        let site = try Site()
        let queue = CompletionQueue()
        let reported = Notifications()
        let calls = requests(["/a", "/status/500", "/b"]).map { BatchCall($0) }
        let batch = try site.client.start(
            batch: calls, concurrency: 1, collectsErrors: true, on: queue, reported.handlers)
        try reported.wait(queue)
        #expect(reported.lines.withLock { $0 } == ["0 200", "1 server", "2 200", "finished"])
        #expect(batch.isFinished)
        #expect(throws: Never.self) { try reported.end.withLock { $0 }?.get() }
    }

    @Test func eachRequestIsReportedOnceAfterAFailure() throws {
        let site = try Site()
        let queue = CompletionQueue()
        let reported = Notifications()
        let calls = requests(["/hold", "/status/500", "/b", "/c"]).map { BatchCall($0) }
        try site.client.start(batch: calls, concurrency: 2, on: queue, reported.handlers)
        try reported.wait(queue)
        #expect(
            reported.lines.withLock { $0 } == ["1 server", "0 cancelled", "2 cancelled", "3 cancelled", "finished"])
        guard case .failure(let error) = reported.end.withLock({ $0 }) else {
            Issue.record("no failure")
            return
        }
        #expect(error.batchIndex == 1)
        queue.poll(timeout: .zero)
        #expect(reported.lines.withLock { $0.count } == 5)
    }

    @Test func invalidRequestIsReportedOnTheQueue() throws {
        let site = try Site()
        let queue = CompletionQueue()
        let reported = Notifications()
        let calls = requests(["ftp://a/", "ftp://a/", "/a"]).map { BatchCall($0) }
        try site.client.start(batch: calls, concurrency: 1, collectsErrors: true, on: queue, reported.handlers)
        #expect(reported.lines.withLock { $0.isEmpty })
        try reported.wait(queue)
        #expect(reported.lines.withLock { $0 } == ["0 invalid_url", "1 invalid_url", "2 200", "finished"])
    }

    /// A call whose request is invalid fails when the batch would start it.
    @Test func callWithoutARequestFailsAtItsIndex() throws {
        let site = try Site()
        let wrong = BatchCall(.failure(NightjarError(.invalidRequest, "no such parameter")))
        let calls = [BatchCall(Request(.get, "/a")), wrong, BatchCall(Request(.get, "/b"))]
        let results = try site.client.collectBlocking(calls)
        #expect(results.map { (try? $0.get())?.status } == [200, nil, 200])
        let error = #expect(throws: NightjarError.self) { try results[1].get() }
        #expect(error?.kind == .invalidRequest && error?.batchIndex == 1)
        let first = #expect(throws: NightjarError.self) { try site.client.batchBlocking(calls) }
        #expect(first?.message == "no such parameter" && first?.batchIndex == 1)
    }

    @Test func emptyBatchIsReportedOnTheQueue() throws {
        let site = try Site()
        let queue = CompletionQueue()
        let reported = Notifications()
        try site.client.start(batch: [], on: queue, reported.handlers)
        #expect(reported.lines.withLock { $0.isEmpty })
        try reported.wait(queue)
        #expect(reported.lines.withLock { $0 } == ["finished"])
    }

    @Test func cancelledBatchEndsWithItsLastCall() throws {
        let site = try Site()
        let queue = CompletionQueue()
        let reported = Notifications()
        let calls = requests(["/hold/1", "/hold/2", "/c"]).map { BatchCall($0) }
        let batch = try site.client.start(batch: calls, concurrency: 2, on: queue, reported.handlers)
        batch.cancel()
        batch.cancel()
        try reported.wait(queue)
        #expect(reported.lines.withLock { $0.sorted() } == ["0 cancelled", "1 cancelled", "2 cancelled", "finished"])
        #expect(reported.lines.withLock { $0.last } == "finished")
        batch.cancel()
    }

    @Test func closingTheQueueEndsTheBatch() throws {
        let site = try Site()
        for collects in [false, true] {
            let queue = CompletionQueue()
            let reported = Notifications()
            let calls = requests(["/hold/1", "/hold/2", "/c", "/d"]).map { BatchCall($0) }
            try site.client.start(
                batch: calls, concurrency: 2, collectsErrors: collects, on: queue, reported.handlers)
            queue.close()
            #expect(reported.lines.withLock { $0.count } == 5)
            #expect(reported.lines.withLock { $0.last } == "finished")
        }
    }

    @Test func closedQueueRejectsABatch() throws {
        let site = try Site()
        let queue = CompletionQueue()
        queue.close()
        let handlers = BatchHandlers(
            ended: { _, _, _, _ in Issue.record("called") }, finished: { _, _ in Issue.record("called") })
        let error = #expect(throws: NightjarError.self) {
            try site.client.start(batch: [BatchCall(Request(.get, "/a/0"))], on: queue, handlers)
        }
        #expect(error?.kind == .closed)
    }

    @Test func closingTheClientEndsTheBatch() throws {
        let site = try Site()
        let queue = CompletionQueue()
        let reported = Notifications()
        let calls = requests(["/hold/1", "/c", "/d"]).map { BatchCall($0) }
        try site.client.start(batch: calls, concurrency: 1, collectsErrors: true, on: queue, reported.handlers)
        site.client.close()
        try reported.wait(queue)
        #expect(reported.lines.withLock { $0 } == ["0 cancelled", "1 closed", "2 closed", "finished"])
    }

    @Test func withoutAQueueTheLoopReports() throws {
        let site = try Site()
        let reported = Notifications()
        let calls = requests((0..<30).map { "/a/\($0)x" }).map { BatchCall($0) }
        try site.client.start(batch: calls, concurrency: 4, on: nil, reported.handlers)
        try reported.wait()
        #expect(reported.lines.withLock { $0.count } == 31)
        #expect(site.log.peak <= 4)
    }

    @Test func cachedResponsesCountTowardsTheConcurrency() throws {
        let site = try Site { $0.cacheSettings = CacheStorage.Settings(memory: 1 << 20) }
        let queue = CompletionQueue()
        let reported = Notifications()
        var headers = Headers()
        try headers.add("Cache-Control", "max-age=600")
        try site.client.insert(200, headers: headers, body: .init(), for: Request(.get, "/stored"))
        let calls = Array(repeating: BatchCall(Request(.get, "/stored")), count: 5000)
        try site.client.start(batch: calls, concurrency: 3, on: queue, reported.handlers)
        try reported.wait(queue)
        #expect(reported.lines.withLock { $0.count } == 5001)
        #expect(site.log.started.isEmpty)
    }

    /// Neither the stack nor the memory grows with the number of requests.
    @Test func tenThousandRequestsComplete() async throws {
        let site = try Site()
        let count = 10_000
        let ends = Mutex(0)
        let isOver = Mutex(false)
        let calls = (0..<count).map { BatchCall(Request(.get, $0 % 2 == 0 ? "/a/\($0)x" : "ftp://a/")) }
        let handlers = BatchHandlers(
            ended: { _, _, _, _ in ends.withLock { $0 += 1 } }, finished: { _, _ in isOver.withLock { $0 = true } })
        try site.client.start(batch: calls, collectsErrors: true, on: nil, handlers)
        try await eventually("the batch finished", within: .seconds(60)) { isOver.withLock { $0 } }
        #expect(ends.withLock { $0 } == count)
        #expect(site.log.peak <= 6)
    }

    /// A queue that is closed inside a callback still delivers the events of a batch without network requests.
    @Test(arguments: [[], ["ftp://a/", "ftp://b/"]])
    func batchOfCachedResponsesEndsOnAClosedQueue(targets: [String]) throws {
        let site = try Site()
        let queue = CompletionQueue()
        let (first, second) = (Notifications(), Notifications())
        var handlers = first.handlers
        let (finished, calls) = (handlers.finished, requests(targets).map { BatchCall($0) })
        handlers.finished = { batch, result in
            finished(batch, result)
            do throws(NightjarError) {
                try site.client.start(batch: calls, collectsErrors: true, on: queue, second.handlers)
            } catch {
                Issue.record(error)
            }
            queue.close()
            #expect(second.lines.withLock { $0.isEmpty })
        }
        try site.client.start(batch: [], on: queue, handlers)
        queue.poll(timeout: .seconds(5))
        #expect(second.lines.withLock { $0.count } == targets.count + 1)
        #expect(second.lines.withLock { $0.last } == "finished")
    }

    /// Other events that were posted before the queue was closed inside a callback are delivered, too.
    @Test func eventsPostedBeforeTheCloseRun() {
        let queue = CompletionQueue()
        let runs = Mutex(0)
        queue.run {
            queue.run { runs.withLock { $0 += 1 } }
            queue.close()
        }
        #expect(queue.poll(timeout: .zero) == 1)
        #expect(runs.withLock { $0 } == 1)
    }
}
