import NIOCore
import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

@Suite struct HooksTests {
    /// Returns the result of a call on a queue of this test.
    private func outcome(
        _ client: Client, _ request: Request,
        _ redirect: (@Sendable (ClientTask, ProposedRedirect) -> TaskHandlers.RedirectAction)? = nil,
        configure: (inout TaskHandlers) -> Void = { _ in }
    ) throws -> Result<Response, NightjarError> {
        let queue = CompletionQueue()
        let result = Mutex<Result<Response, NightjarError>?>(nil)
        var handlers = TaskHandlers { _, outcome in result.withLock { $0 = outcome } }
        handlers.redirect = redirect
        configure(&handlers)
        try client.start(request, on: queue, handlers)
        while result.withLock({ $0 == nil }) { queue.poll(timeout: .seconds(5)) }
        return try #require(result.withLock { $0 })
    }

    private static let redirecting: [ScriptedTransport.Step] = [
        .head(302, [("Location", "/there")]), .body("moved"), .end,
    ]

    // MARK: Before and after

    @Test(arguments: [true, false])
    func hooksChangeTheRequestAndReceiveTheResponse(runsOnLoop: Bool) throws {
        let transport = ScriptedTransport([[.head(200), .end], [.head(404), .end]])
        let seen = Mutex<[String]>([])
        let client = try client(transport) {
            $0.hooks = CallHooks(
                runOnLoop: runsOnLoop,
                before: { request throws(NightjarError) in
                    try request.setHeader("X-Signature", "\(request.method) \(request.url.path)")
                    try request.setHeader("User-Agent", nil)
                },
                after: { _, result in
                    let word = (try? result.get().status).map(String.init) ?? "failed"
                    seen.withLock { $0.append(word) }
                })
        }
        _ = try client.sendBlocking(Request(.get, "/x"))
        _ = try outcome(client, Request(.get, "/y"))
        let heads = transport.log.withLock { $0.heads }
        #expect(heads[0].contains("X-Signature: GET /v1/x\r\n"))
        #expect(!heads[0].contains("User-Agent"))
        #expect(heads[1].contains("X-Signature: GET /v1/y\r\n"))
        client.close()
        #expect(seen.withLock { $0 } == ["200", "failed"])
    }

    @Test(arguments: [true, false])
    func hooksReadTheWholeRequest(runsOnLoop: Bool) throws {
        let transport = ScriptedTransport([[.head(200), .end], [.head(404), .end], [.head(200), .end]])
        let seen = Mutex<[String]>([])
        let calls = Mutex<[Int]>([])
        let client = try client(transport) {
            $0.hooks = CallHooks(
                runOnLoop: runsOnLoop,
                before: { request throws(NightjarError) in
                    let text =
                        "\(request.method) \(request.url.target) \(request.body.map { String(buffer: $0) } ?? "-")"
                    let names = request.headers.map(\.name).filter { $0 == "Host" || $0 == "Content-Length" }
                    calls.withLock { $0.append(request.callID) }
                    seen.withLock { $0 += [text + " " + names.joined(separator: ","), request.bodySHA256 ?? "-"] }
                    try request.setHeader("X-Signature", "s")
                },
                after: { request, result in
                    calls.withLock { $0.append(request.callID) }
                    let status = (try? result.get().status).map(String.init) ?? "failed"
                    seen.withLock {
                        $0.append(
                            "\(request.method) \(request.url.target) \(request.headers["X-Signature"] ?? "-") \(status)"
                        )
                    }
                })
        }
        var post = Request(.post, "/x?a=b")
        post.body = .bytes(ByteBuffer(string: "abc"))
        _ = try client.sendBlocking(post)
        _ = try outcome(client, Request(.get, "/y"))
        var streamed = Request(.put, "/z")
        streamed.body = .stream(length: nil)
        _ = try outcome(client, streamed, configure: { $0.provideBody = { _, _ in .end } })
        client.close()
        #expect(
            seen.withLock { $0 } == [
                "POST /v1/x?a=b abc Host,Content-Length",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "POST /v1/x?a=b s 200",
                "GET /v1/y  Host", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                "GET /v1/y s failed", "PUT /v1/z - Host", "-", "PUT /v1/z s 200",
            ])
        let numbers = calls.withLock { $0 }
        try #require(numbers.count == 6)
        #expect(numbers[0] == numbers[1] && numbers[2] == numbers[3] && numbers[4] == numbers[5])
        #expect(Set(numbers).count == 3)
    }

    @Test func taskTraceAndHooksHaveTheSameNumber() throws {
        let numbers = Mutex<[Int]>([])
        let client = try client(ScriptedTransport([[.head(200), .end]])) {
            $0.hooks = CallHooks(before: { request throws(NightjarError) in
                numbers.withLock { $0.append(request.callID) }
            })
            $0.observers = [
                CallObserver { event in
                    if case .ended(let report, _) = event { numbers.withLock { $0.append(report.number) } }
                }
            ]
        }
        let task = Mutex<Int>(0)
        let queue = CompletionQueue()
        let started = try client.start(
            Request(.get, "/x"), on: queue, TaskHandlers { call, _ in task.withLock { $0 = call.callID } })
        while task.withLock({ $0 == 0 }) { queue.poll(timeout: .seconds(5)) }
        client.close()
        #expect(numbers.withLock { $0 } == [started.callID, started.callID])
        #expect(task.withLock { $0 } == started.callID && started.callID > 0)
    }

    @Test func deferredHookRespondsOnce() throws {
        let transport = ScriptedTransport([[.head(200), .end]])
        let pending = Mutex<CallHooks.Pending?>(nil)
        let client = try client(transport) {
            $0.hooks = CallHooks(deferred: { hook in pending.withLock { $0 = hook } })
        }
        let queue = CompletionQueue()
        let status = Mutex(0)
        _ = try client.start(
            Request(.get, "/x"), on: queue,
            TaskHandlers { _, result in status.withLock { $0 = (try? result.get().status) ?? -1 } })
        while pending.withLock({ $0 == nil }) { queue.poll(timeout: .seconds(5)) }
        let hook = try #require(pending.withLock { $0 })
        var request = hook.request
        try request.setHeader("X-Signature", "late")
        hook.respond(.success(request))
        hook.respond(.failure(NightjarError(.forbidden, "too late")))
        while status.withLock({ $0 == 0 }) { queue.poll(timeout: .seconds(5)) }
        #expect(status.withLock { $0 } == 200)
        #expect(transport.log.withLock { $0.heads[0].contains("X-Signature: late\r\n") })
    }

    @Test(arguments: [true, false])
    func throwingHookFailsTheCall(runsOnLoop: Bool) throws {
        let transport = ScriptedTransport([[.head(200), .end]])
        let client = try client(transport) {
            $0.hooks = CallHooks(runOnLoop: runsOnLoop) { _ throws(NightjarError) in
                throw NightjarError(.forbidden, "not today")
            }
        }
        let error = try #require(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/x")) }
        #expect(error.kind == .forbidden && error.message == "not today")
        #expect(error.attempts == 0)
        #expect(transport.log.withLock { $0.heads.isEmpty })
    }

    @Test(arguments: [("Content-Length", "1"), ("X", "a\r\nb"), ("Host", nil), ("Host", "a b"), ("a b", "c")])
    func invalidRequestOfAHookIsRejected(name: String, value: String?) throws {
        let client = try client(ScriptedTransport([[.head(200), .end]])) {
            $0.hooks = CallHooks { request throws(NightjarError) in try request.setHeader(name, value) }
        }
        let error = try #require(throws: NightjarError.self) { try client.sendBlocking(Request(.get, "/x")) }
        #expect(error.kind == .invalidRequest)
    }

    @Test func totalTimeoutAppliesWithoutPolling() throws {
        let transport = ScriptedTransport([[.head(200), .end]])
        let client = try client(transport) {
            $0.hooks = CallHooks(runOnLoop: false) { _ throws(NightjarError) in }
            $0.timeouts.total = .milliseconds(20)
        }
        let queue = CompletionQueue()
        let kind = Mutex<ErrorKind?>(nil)
        let task = try client.start(
            Request(.get, "/x"), on: queue,
            TaskHandlers { _, result in
                if case .failure(let error) = result { kind.withLock { $0 = error.kind } }
            })
        while !task.isFinished { queue.wake() }
        #expect(transport.log.withLock { $0.heads.isEmpty })
        while kind.withLock({ $0 == nil }) { queue.poll(timeout: .seconds(1)) }
        #expect(kind.withLock { $0 } == .timeout)
    }

    // MARK: Redirects

    @Test func acceptedRedirectIsFollowed() throws {
        let transport = ScriptedTransport([HooksTests.redirecting, [.head(200), .end]])
        let requested = Mutex<[String]>([])
        let result = try outcome(client(transport), Request(.get, "/here")) { _, proposed in
            requested.withLock {
                $0.append("\(proposed.status) \(proposed.method) \(proposed.from.path) \(proposed.url.path)")
            }
            return .follow
        }
        #expect(try result.get().url == "http://api.test/there")
        #expect(requested.withLock { $0 } == ["302 GET /v1/here /there"])
    }

    @Test func callerMayChangeTheTarget() throws {
        let transport = ScriptedTransport([HooksTests.redirecting, [.head(200), .end]])
        var request = Request(.get, "/here")
        try request.headers.set("Authorization", "Bearer secret")
        let result = try outcome(client(transport), request) { _, _ in .followTo("http://other.test/x") }
        #expect(try result.get().url == "http://other.test/x")
        // The new target determines the credentials.
        #expect(!transport.log.withLock { $0.heads[1].contains("Authorization") })
    }

    @Test(arguments: ["ftp://a/", "/v1/here", "http://[/"])
    func invalidTargetOfTheCallerIsRejected(url: String) throws {
        let result = try outcome(client(ScriptedTransport([HooksTests.redirecting])), Request(.get, "/here")) { _, _ in
            .followTo(url)
        }
        let error = try #require(throws: NightjarError.self) { try result.get() }
        #expect(error.kind == .protocol || error.kind == .invalidURL)
    }

    @Test func stoppedRedirectIsTheResponse() throws {
        var request = Request(.get, "/here")
        request.expectedStatuses = [StatusRange(302)]
        let response = try outcome(client(ScriptedTransport([HooksTests.redirecting])), request) { _, _ in .stop }.get()
        #expect(response.status == 302)
        #expect(response.text == "moved")
        #expect(response.redirects.isEmpty)
    }

    @Test func bodyOfAStoppedRedirectIsDelivered() throws {
        var request = Request(.get, "/here")
        request.expectedStatuses = [StatusRange(302)]
        let content = Mutex<[String]>([])
        let result = try outcome(client(ScriptedTransport([HooksTests.redirecting])), request, { _, _ in .stop }) {
            $0.head = { _, response in content.withLock { $0.append(String(response.status)) } }
            $0.body = { _, bytes in content.withLock { $0.append(String(buffer: bytes)) } }
        }
        #expect(try result.get().body.readableBytes == 0)
        #expect(content.withLock { $0 } == ["302", "moved"])
    }

    @Test func rejectedRedirectFailsTheCall() throws {
        let client = try client(ScriptedTransport([HooksTests.redirecting]))
        let result = try outcome(client, Request(.get, "/here")) { _, _ in .refuse("not there") }
        let error = try #require(throws: NightjarError.self) { try result.get() }
        #expect(error.kind == .cancelled)
        #expect(error.message == "the caller rejected the redirect (302) to http://api.test/there: not there")
    }

    @Test func decisionMayBeDeferred() throws {
        let transport = ScriptedTransport([HooksTests.redirecting, [.head(200), .end]])
        let result = try outcome(client(transport), Request(.get, "/here")) { task, _ in
            task.redirect(.follow)
            task.redirect(.stop)  // too late: the decision is no longer requested
            return .later
        }
        #expect(try result.get().status == 200)
    }

    @Test func callWaitingForADecisionCanBeCancelled() throws {
        let transport = ScriptedTransport([HooksTests.redirecting])
        let result = try outcome(client(transport), Request(.get, "/here")) { task, _ in
            task.cancel()
            task.redirect(.follow)
            return .later
        }
        let error = try #require(throws: NightjarError.self) { try result.get() }
        #expect(error.kind == .cancelled)
    }

    @Test func truncatedRedirectRequestsADecision() throws {
        let broken: [ScriptedTransport.Step] = [.head(302, [("Location", "/there")]), .fail(.connectionLost)]
        let followed = try outcome(client(ScriptedTransport([broken, [.head(200), .end]])), Request(.get, "/x")) {
            _, _ in .follow
        }
        #expect(try followed.get().status == 200)
        let stopped = try outcome(client(ScriptedTransport([broken])), Request(.get, "/x")) { _, _ in .stop }
        #expect(try #require(throws: NightjarError.self) { try stopped.get() }.kind == .connectionLost)
    }
}
