import NightjarHTTP
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

/// The queue on which the token provider runs.
@Suite struct TokenProviderTests {
    private static let rounds = 400

    private func client(
        _ responses: Int, coalesces: Bool = false, _ provide: @escaping @Sendable (TokenProvider.Request) -> Void
    ) throws -> Client {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test/v1"
        configuration.coalesces = coalesces
        configuration.auth = .login(TokenLogin(.provider(TokenProvider(runsOnLoop: false, provide))))
        let transport = ScriptedTransport(Array(repeating: [.head(200), .end], count: responses))
        return try Client(configuration) { _ in transport }
    }

    private func poll(_ queue: CompletionQueue, until isDone: () -> Bool) {
        for _ in 0..<Self.rounds where !isDone() { queue.poll(timeout: .milliseconds(5)) }
    }

    /// Runs with and without coalescing. One of the two queues is not polled at first.
    @Test(arguments: [true, false], [true, false])
    func tokenProviderRunsOnThePolledQueue(coalesces: Bool, firstIsIdle: Bool) throws {
        let requested = Mutex(0)
        let api = try client(2, coalesces: coalesces) { tokenRequest in
            requested.withLock { $0 += 1 }
            tokenRequest.respond(.success(Token(access: "t")))
        }
        let queues = [CompletionQueue(), CompletionQueue()]
        let ended = Mutex<[Int]>([])
        for index in 0..<2 {
            let handlers = TaskHandlers { _, result in
                ended.withLock { $0.append(((try? result.get())?.status ?? 0) + index) }
            }
            _ = try api.start(Request(.get, "/articles"), on: queues[index], handlers)
        }
        let (idle, busy) = firstIsIdle ? (0, 1) : (1, 0)
        poll(queues[busy]) { ended.withLock { !$0.isEmpty } }
        #expect(ended.withLock { $0 } == [200 + busy])
        // The event that is still pending on the idle queue does not call the provider again.
        poll(queues[idle]) { ended.withLock { $0.count > 1 } }
        #expect(ended.withLock { $0 } == [200 + busy, 200 + idle])
        #expect(requested.withLock { $0 } == 1)
    }

    @Test func cancelledCallDoesNotCancelTheTokenRequest() throws {
        let requested = Mutex(0)
        let api = try client(2) { tokenRequest in
            requested.withLock { $0 += 1 }
            tokenRequest.respond(.success(Token(access: "t")))
        }
        let ended = Mutex<[Int]>([])
        let handlers = TaskHandlers { _, result in ended.withLock { $0.append((try? result.get())?.status ?? 0) } }
        let first = CompletionQueue()
        let task = try api.start(Request(.get, "/articles"), on: first, handlers)
        task.cancel()
        let second = CompletionQueue()
        _ = try api.start(Request(.get, "/comments"), on: second, handlers)
        poll(second) { ended.withLock { !$0.isEmpty } }
        #expect(ended.withLock { $0 } == [200])
        #expect(requested.withLock { $0 } == 1)
        first.close()
        #expect(ended.withLock { $0 } == [200, 0])
        #expect(requested.withLock { $0 } == 1)
    }

    @Test func closedClientRequestsNoToken() throws {
        let requested = Mutex(0)
        let api = try client(1) { _ in requested.withLock { $0 += 1 } }
        let queue = CompletionQueue()
        let ended = Mutex(0)
        _ = try api.start(Request(.get, "/articles"), on: queue, TaskHandlers { _, _ in ended.withLock { $0 += 1 } })
        api.close()
        poll(queue) { ended.withLock { $0 > 0 } }
        #expect(ended.withLock { $0 } == 1 && requested.withLock { $0 } == 0)
    }

    /// No server takes part in the request to the provider.
    @Test(
        arguments: [
            (.failure(NightjarError(.script, "no network here")), "no network here"),
            (
                .success(Token(access: "x\n")),
                "the token provider returned a token that is empty or has a character that is not allowed in a header"
            ),
        ] as [(Result<Token, NightjarError>, String)])
    func failedProviderIsNotReportedAsARejection(token: Result<Token, NightjarError>, reason: String) throws {
        let api = try client(1) { $0.respond(token) }
        let message = Mutex<String?>(nil)
        let handlers = TaskHandlers { _, result in
            if case .failure(let error) = result { message.withLock { $0 = error.message } }
        }
        let queue = CompletionQueue()
        _ = try api.start(Request(.get, "/articles"), on: queue, handlers)
        poll(queue) { message.withLock { $0 != nil } }
        #expect(
            message.withLock { $0 }
                == "the token was not refreshed and the login is kept: the token provider failed: \(reason)")
    }

    /// The first call's 401 response starts the refresh. The second call joins the refresh before it is sent.
    @Test func aCallThatJoinsARefreshReportsItsCause() throws {
        let pending = Mutex<TokenProvider.Request?>(nil)
        var configuration = Configuration()
        configuration.baseURL = "http://api.test/v1"
        configuration.auth = .login(
            TokenLogin(
                .provider(TokenProvider(runsOnLoop: false) { request in pending.withLock { $0 = request } }),
                token: Token(access: "old")))
        let transport = ScriptedTransport([[.head(401), .end], [.head(200), .end], [.head(200), .end]])
        let api = try Client(configuration) { _ in transport }
        let queue = CompletionQueue()
        let decisions = Mutex<[[String]]>([])
        let handlers = TaskHandlers { _, result in
            decisions.withLock { $0.append((try? result.get())?.decisions.map(\.description) ?? []) }
        }
        _ = try api.start(Request(.get, "/articles"), on: queue, handlers)
        poll(queue) { pending.withLock { $0 != nil } }
        let request = try #require(pending.withLock { $0 })
        #expect(request.wasRejected)
        // The loop handles messages in order, so the call waits before the token arrives.
        _ = try api.start(Request(.get, "/comments"), on: queue, handlers)
        request.respond(.success(Token(access: "new")))
        poll(queue) { decisions.withLock { $0.count == 2 } }
        let ended = decisions.withLock { $0 }
        #expect(ended.map(\.count).sorted() == [1, 2])
        for decisions in ended { #expect(decisions.first?.contains("the server refused the token (401)") == true) }
    }
}
