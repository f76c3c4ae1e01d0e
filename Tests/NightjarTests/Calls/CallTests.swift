import NIOCore
import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

@Suite struct CallTests {
    /// A 303 means that the server has processed the POST. A later failure must not report the opposite.
    @Test func redirectedWriteIsRemembered() async throws {
        let transport = ScriptedTransport([[.head(303, [("Location", "/done")]), .end], [.fail(.connect)]])
        let api = try client(transport)
        let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.post, "/articles")) }
        #expect(error?.kind == .connect)
        #expect(error?.attempts == 2)
        #expect(error?.requestMayHaveBeenProcessed == true)
        let untouched = try client(ScriptedTransport([[.fail(.connect)]]))
        let first = await #expect(throws: NightjarError.self) { try await untouched.send(Request(.post, "/articles")) }
        #expect(first?.requestMayHaveBeenProcessed == false)
    }

    @Test func responseIsDelivered() async throws {
        let transport = ScriptedTransport([[.head(200, [("ETag", "\"1\"")]), .body("he"), .body("llo"), .end]])
        let response = try await client(transport).send(Request(.get, "/articles"))
        #expect(response.status == 200)
        #expect(response.headers["etag"] == "\"1\"")
        #expect(response.text == "hello")
        #expect(response.url == "http://api.test/v1/articles")
        #expect(response.attempts == 1)
        #expect(transport.log.withLock { $0.heads[0].hasPrefix("GET /v1/articles HTTP/1.1\r\n") })
    }

    @Test(arguments: [
        (401, ErrorKind.unauthorized), (403, .forbidden), (404, .notFound), (429, .rateLimited), (418, .client),
        (500, .server), (503, .server), (302, .client),
    ])
    func unexpectedStatusIsAnErrorWithItsResponse(status: Int, kind: ErrorKind) async throws {
        let transport = ScriptedTransport([[.head(status), .body("why"), .end]])
        let error = await #expect(throws: NightjarError.self) {
            try await client(transport).send(Request(.get, "/x"))
        }
        #expect(error?.kind == kind)
        #expect(error?.status == status)
        #expect(error?.response?.text == "why")
        #expect(error?.url == "http://api.test/v1/x")
        #expect(error?.attempts == 1)
    }

    @Test func expectedStatusIsAResponse() async throws {
        let transport = ScriptedTransport([[.head(404), .end], [.head(200), .end]])
        let client = try client(transport)
        var request = Request(.get, "/x")
        request.expectedStatuses = [StatusRange(404)]
        #expect(try await client.send(request).status == 404)
        await #expect(throws: NightjarError.self) { try await client.send(request) }
    }

    @Test func bodyBeyondTheLimitFails() async throws {
        let transport = ScriptedTransport([[.head(200), .body("12345"), .body("6"), .end]])
        let error = await #expect(throws: NightjarError.self) {
            try await client(transport) { $0.maximumBody = 5 }.send(Request(.get, "/x"))
        }
        #expect(error?.kind == .tooLarge)
        #expect(transport.log.withLock { $0.cancelled } == 1)
    }

    @Test func totalTimeoutEndsACallWithoutAResponse() async throws {
        let transport = ScriptedTransport([])
        let error = await #expect(throws: NightjarError.self) {
            try await client(transport) { $0.timeouts.total = .milliseconds(20) }.send(Request(.get, "/x"))
        }
        #expect(error?.kind == .timeout)
        #expect(error?.phase == .total)
        #expect(error?.message == "no complete response within 0.02 s; raise timeout.total, or set it to 0")
    }

    @Test func idleTimeoutEndsAStalledResponse() async throws {
        let transport = ScriptedTransport([[.head(200), .body("half")]])
        let error = await #expect(throws: NightjarError.self) {
            try await client(transport) { $0.timeouts.idle = .milliseconds(20) }.send(Request(.get, "/x"))
        }
        #expect(error?.phase == .idle)
        #expect(error?.requestMayHaveBeenProcessed == true)
        #expect(transport.log.withLock { $0.cancelled } == 1)
    }

    @Test func cancellingEndsTheCallOnce() throws {
        let transport = ScriptedTransport([])
        let queue = CompletionQueue()
        let client = try client(transport)
        let ends = Mutex(0)
        let task = try client.start(
            Request(.get, "/x"), on: queue,
            TaskHandlers { _, result in
                ends.withLock { $0 += 1 }
                guard case .failure(let error) = result else {
                    Issue.record("the call succeeded")
                    return
                }
                #expect(error.kind == .cancelled)
                #expect(error.userMessage == nil)
            })
        task.cancel()
        task.cancel()
        while !task.isFinished || ends.withLock({ $0 }) == 0 { queue.poll(timeout: .seconds(5)) }
        task.cancel()
        client.close()
        #expect(queue.poll(timeout: .zero) == 0)
        #expect(ends.withLock { $0 } == 1)
    }

    @Test func closingTheClientFinishesEveryCall() throws {
        let transport = ScriptedTransport([])
        let queue = CompletionQueue()
        let client = try client(transport)
        let kinds = Mutex<[ErrorKind]>([])
        for _ in 0..<100 {
            try client.start(
                Request(.get, "/x"), on: queue,
                TaskHandlers { _, result in
                    if case .failure(let error) = result { kinds.withLock { $0.append(error.kind) } }
                })
        }
        client.close()
        client.close()
        while queue.poll(timeout: .zero) > 0 {}
        #expect(kinds.withLock { $0 } == Array(repeating: .cancelled, count: 100))
        #expect(transport.log.withLock { $0.shutDowns } == 1)
        let error = #expect(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/x")) }
        #expect(error?.kind == .closed)
    }

    @Test func closingTheQueueFinishesItsTasksInsideTheClose() throws {
        let transport = ScriptedTransport([])
        let queue = CompletionQueue()
        let client = try client(transport)
        let ends = Mutex(0)
        for _ in 0..<10 {
            try client.start(
                Request(.get, "/x"), on: queue, TaskHandlers { _, _ in ends.withLock { $0 += 1 } })
        }
        queue.close()
        #expect(ends.withLock { $0 } == 10)
        let error = #expect(throws: NightjarError.self) {
            try client.start(Request(.get, "/x"), on: queue, TaskHandlers { _, _ in })
        }
        #expect(error?.kind == .closed)
    }

    @Test func queueMayBeClosedFromItsOwnEvent() throws {
        let transport = ScriptedTransport([[.head(200), .end]])
        let queue = CompletionQueue()
        let client = try client(transport)
        let ends = Mutex(0)
        try client.start(
            Request(.get, "/first"), on: queue,
            TaskHandlers { _, _ in
                ends.withLock { $0 += 1 }
                #expect(queue.poll(timeout: .seconds(5)) == 0)
                queue.close()
            })
        try client.start(Request(.get, "/never"), on: queue, TaskHandlers { _, _ in ends.withLock { $0 += 1 } })
        while ends.withLock({ $0 }) < 2 { queue.poll(timeout: .seconds(5)) }
        #expect(ends.withLock { $0 } == 2)
    }

    @Test func descriptorIsReadableWhileAnEventIsPending() throws {
        let transport = ScriptedTransport([[.head(200), .end], [.head(200), .end]])
        let queue = CompletionQueue()
        let client = try client(transport)
        #expect(!isReadable(queue.descriptor, within: 0))
        for _ in 0..<2 {
            try client.start(Request(.get, "/x"), on: queue, TaskHandlers { _, _ in })
        }
        #expect(isReadable(queue.descriptor, within: 5000))
        var events = 0
        while events < 2 { events += queue.poll(timeout: .seconds(5)) }
        #expect(!isReadable(queue.descriptor, within: 0))
    }

    @Test func errorBodyIsBufferedForStreamingCallers() throws {
        let transport = ScriptedTransport([[.head(500), .body("why"), .end]])
        var handlers = TaskHandlers { _, _ in }
        handlers.head = { _, _ in Issue.record("an error has no head event") }
        handlers.body = { _, _ in Issue.record("an error has no body event") }
        let error = #expect(throws: NightjarError.self) {
            try client(transport).sendBlocking(Request(.get, "/x"), handlers: handlers)
        }
        #expect(error?.response?.text == "why")
    }

    @Test func slowConsumerAppliesBackpressure() throws {
        let part = String(repeating: "x", count: 100 * 1024)
        let transport = ScriptedTransport([[.head(200), .body(part), .body(part), .body(part)]])
        let queue = CompletionQueue()
        let client = try client(transport)
        let received = Mutex(0)
        var handlers = TaskHandlers { _, _ in }
        handlers.body = { _, bytes in received.withLock { $0 += bytes.readableBytes } }
        handlers.creditsAreManual = true
        let task = try client.start(Request(.get, "/x"), on: queue, handlers)
        while received.withLock({ $0 }) < 300 * 1024 { queue.poll(timeout: .seconds(5)) }
        #expect(transport.log.withLock { $0.pauses } == 1)
        task.consumed(100 * 1024)
        #expect(transport.log.withLock { $0.resumes } == 0)
        task.consumed(100 * 1024)
        while transport.log.withLock({ $0.resumes }) == 0 { queue.poll(timeout: .milliseconds(1)) }
        queue.close()
    }

    @Test func cancellingTheSwiftTaskCancelsTheCall() async throws {
        let transport = ScriptedTransport([])
        let client = try client(transport)
        let pending = Task { try await client.send(Request(.get, "/x")) }
        pending.cancel()
        let result = await pending.result
        #expect(throws: NightjarError.self) { try result.get() }
    }

    @Test func logNamesTheCallWithoutSecrets() throws {
        let transport = ScriptedTransport([[.head(200), .end]])
        let queue = CompletionQueue()
        let lines = Mutex<[String]>([])
        let client = try client(transport) {
            $0.log = LogSink(level: .debug, queue: queue) { line in lines.withLock { $0.append(line.message) } }
        }
        let request = Request(.get, "http://user:hunter2@api.test/x?access_token=hunter2")
        _ = try client.sendBlocking(request)
        client.close()
        queue.poll(timeout: .zero)
        let text = lines.withLock { $0.joined(separator: "\n") }
        #expect(text.contains("GET http://api.test/x?access_token=*** 200"))
        #expect(!text.contains("hunter2"))
    }
}
