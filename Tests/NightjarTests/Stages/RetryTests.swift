import NIOCore
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Testing

@testable import Nightjar

@Suite struct RetryTests {
    /// A client without delays between attempts. RetryPolicyTests covers the delays.
    private func retrying(
        _ transport: ScriptedTransport, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> Client {
        try client(transport) { configuration in
            configuration.retry = RetrySettings()
            configuration.retry.base = .zero
            configure(&configuration)
        }
    }

    private let unavailable: [ScriptedTransport.Step] = [.head(503), .body("{}"), .end]
    private let fine: [ScriptedTransport.Step] = [.head(200), .body("fine"), .end]

    @Test func temporaryFailureIsRetried() async throws {
        let transport = ScriptedTransport([[.fail(.connectionLost)], unavailable, fine])
        let response = try await retrying(transport).send(Request(.get, "/articles"))
        #expect(response.status == 200)
        #expect(response.attempts == 3)
        #expect(String(buffer: response.body) == "fine")
        #expect(response.decisions.map(\.name) == ["retried", "retried"])
        #expect(response.decisions.explanation.contains("connection_lost: scripted; retried after 0.0 s"))
        #expect(Set(transport.log.withLock { $0.heads }).count == 1)
    }

    @Test func lastErrorListsEarlierOnes() async throws {
        let transport = ScriptedTransport([[.fail(.connect)], unavailable, [.fail(.connectionLost)], fine])
        let api = try retrying(transport)
        let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.get, "/articles")) }
        #expect(error?.kind == .connectionLost)
        #expect(error?.attempts == 3)
        #expect(error?.earlier.map(\.kind) == [.connect, .server])
        #expect(error?.earlier.map(\.attempts) == [1, 2])
        #expect(error?.decisions.last?.name == "not_retried")
        #expect(error?.decisions.last?.description.hasSuffix("not retried: this was the last attempt") == true)
    }

    @Test func postIsRetriedOnlyWithAnIdempotencyKey() async throws {
        let plain = ScriptedTransport([unavailable, fine])
        let api = try retrying(plain)
        let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.post, "/articles")) }
        #expect(error?.status == 503)
        #expect(error?.attempts == 1)
        #expect(error?.decisions.first?.description.contains("idempotency key") == true)

        let keyed = ScriptedTransport([unavailable, fine])
        var request = Request(.post, "/articles")
        request.idempotencyKey = .generated
        let response = try await retrying(keyed).send(request)
        #expect(response.attempts == 2)
        let keys = keyed.log.withLock { $0.heads }.map { head in
            head.split(separator: "\r\n").first { $0.hasPrefix("Idempotency-Key: ") }.map(String.init)
        }
        #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
    }

    /// A server that responds with 429 has not processed the request. After a 503, the outcome is unknown.
    @Test func rejectedRequestWasNotProcessed() async throws {
        for (status, isUnknown) in [(429, false), (503, true)] {
            let transport = ScriptedTransport([[.head(status), .end]] + Array(repeating: [.fail(.connect)], count: 2))
            let api = try retrying(transport)
            var request = Request(.post, "/articles")
            request.idempotencyKey = .generated
            let error = await #expect(throws: NightjarError.self) { try await api.send(request) }
            #expect(error?.kind == .connect && error?.attempts == 3)
            #expect(error?.requestMayHaveBeenProcessed == isUnknown)
        }
    }

    @Test func expectedStatusIsNotRetried() async throws {
        var request = Request(.get, "/articles")
        request.expectedStatuses = [StatusRange(503)]
        let response = try await retrying(ScriptedTransport([unavailable, fine])).send(request)
        #expect(response.status == 503 && response.attempts == 1)
    }

    @Test func callMayHaveItsOwnSettings() async throws {
        var request = Request(.get, "/articles")
        request.retry = RetryChanges()
        request.retry?.maximumAttempts = 1
        let api = try retrying(ScriptedTransport([unavailable, fine]))
        let error = await #expect(throws: NightjarError.self) { try await api.send(request) }
        #expect(error?.attempts == 1)
    }

    @Test func partialResponseIsNotRetried() throws {
        let api = try retrying(ScriptedTransport([[.head(200), .body("ha"), .fail(.connectionLost)], fine]))
        var handlers = TaskHandlers { _, _ in }
        handlers.body = { _, _ in }
        let error = #expect(throws: NightjarError.self) {
            try api.sendBlocking(Request(.get, "/articles"), handlers: handlers)
        }
        #expect(error?.kind == .connectionLost && error?.attempts == 1)
        #expect(error?.decisions.first?.name == "not_retried")
    }

    @Test func tooLongRetryAfterFailsImmediately() async throws {
        let transport = ScriptedTransport([[.head(503, [("Retry-After", "3600")]), .end], fine])
        let api = try retrying(transport)
        let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.get, "/articles")) }
        #expect(error?.retryAfter == .seconds(3600) && error?.attempts == 1)
    }

    @Test func callerDecides() throws {
        var handlers = TaskHandlers { _, _ in }
        handlers.retry = { _, tokenRequest in
            tokenRequest.error.status == 503 ? .stop : .again(after: .zero)
        }
        let api = try retrying(ScriptedTransport([[.fail(.protocol)], fine, unavailable, fine]))
        // The policy would decide otherwise both times.
        let response = try api.sendBlocking(Request(.post, "/articles"), handlers: handlers)
        #expect(response.status == 200 && response.attempts == 2)
        let error = #expect(throws: NightjarError.self) {
            try api.sendBlocking(Request(.get, "/articles"), handlers: handlers)
        }
        #expect(error?.status == 503)
    }

    @Test func onlyTheFailedRedirectTargetIsRetried() async throws {
        let transport = ScriptedTransport([
            [.head(303, [("Location", "/v1/done")]), .end], [.fail(.connectionLost)], fine,
        ])
        let response = try await retrying(transport).send(Request(.post, "/articles"))
        #expect(response.status == 200)
        let lines = transport.log.withLock { $0.heads }.map { $0.prefix { $0 != "\r\n" } }
        #expect(lines == ["POST /v1/articles HTTP/1.1", "GET /v1/done HTTP/1.1", "GET /v1/done HTTP/1.1"])
        #expect(response.decisions.map(\.name) == ["redirected", "retried"])
    }

    @Test func outageDoesNotCauseARetryStorm() async throws {
        let transport = ScriptedTransport(Array(repeating: [.fail(.connect)], count: 400))
        let api = try retrying(transport)
        for _ in 0..<100 { _ = try? await api.send(Request(.get, "/articles")) }
        #expect(transport.log.withLock { $0.heads.count } == 110)
    }

    // MARK: The budget

    /// Limits the budget to its reserve of one retry.
    private func oneRetry(_ configuration: inout Configuration) {
        configuration.retryBudget.reserve = 1
        configuration.retryBudget.successesPerRetry = 100
    }

    @Test func declinedRetryIsNotCharged() throws {
        let api = try retrying(ScriptedTransport([unavailable, unavailable, fine])) { oneRetry(&$0) }
        var handlers = TaskHandlers { _, _ in }
        handlers.retry = { _, _ in .stop }
        #expect(throws: NightjarError.self) { try api.sendBlocking(Request(.get, "/a"), handlers: handlers) }
        #expect(try api.sendBlocking(Request(.get, "/a")).attempts == 2)
    }

    /// The call ends while the caller decides, or during the delay before the retry. Both refund the retry.
    @Test(arguments: [false, true]) func unstartedRetryIsNotCharged(isDecided: Bool) async throws {
        let api = try retrying(ScriptedTransport([unavailable, unavailable, fine])) { oneRetry(&$0) }
        var handlers = TaskHandlers { _, _ in }
        let requested = Latch()
        handlers.retry = { _, _ in
            requested.open()
            return isDecided ? .again(after: .seconds(100_000)) : .later
        }
        var request = Request(.get, "/a")
        // On a busy machine, minutes may pass before this test cancels the call.
        request.timeouts.total = .seconds(1_000_000)
        let task = try api.start(request, on: nil, handlers)
        try await eventually("the decision was requested") { requested.isOpen }
        task.cancel()
        try await eventually("the call ended") { task.isFinished }
        #expect(try await api.send(Request(.get, "/a")).attempts == 2)
    }

    /// A retry that only the caller requested was never charged, so it is not refunded.
    @Test func unchargedRetryIsNotRefunded() throws {
        let scripts = [unavailable, unavailable, unavailable, fine, unavailable, fine]
        let api = try retrying(ScriptedTransport(scripts)) {
            oneRetry(&$0)
            $0.retry.maximumAttempts = 2
        }
        // Uses up the reserve.
        #expect(throws: NightjarError.self) { try api.sendBlocking(Request(.get, "/a")) }
        var handlers = TaskHandlers { _, _ in }
        handlers.retry = { _, tokenRequest in
            #expect(tokenRequest.verdict == .stop(.budgetSpent))
            return .again(after: .zero)
        }
        #expect(try api.sendBlocking(Request(.get, "/a"), handlers: handlers).attempts == 2)
        let error = #expect(throws: NightjarError.self) { try api.sendBlocking(Request(.get, "/a")) }
        #expect(error?.attempts == 1)
    }
}
