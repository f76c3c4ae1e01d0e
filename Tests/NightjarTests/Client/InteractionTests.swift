import Glibc
import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

/// Errors that arise only when several parts interact.
@Suite struct InteractionTests {
    /// A transport that responds with the result of a closure, or never if that is nil. It records the requests.
    private final class Responding: HTTPTransport, @unchecked Sendable {
        enum Response {
            case status(Int, String = "{}")
            case fails(ErrorKind, mayHaveBeenProcessed: Bool)
        }
        struct Requested {
            let line: String
            let authorization: String?
            let form: String
        }
        let requested = Mutex<[Requested]>([])
        private let reply: @Sendable (_ line: String, _ form: String) -> Response?

        init(_ reply: @escaping @Sendable (_ line: String, _ form: String) -> Response?) { self.reply = reply }

        func begin(
            _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
        ) -> any Exchange {
            var form = ""
            if case .bytes(let bytes) = request.body { form = String(buffer: bytes) }
            let line = "\(request.method) \(request.url.path)"
            requested.withLock {
                $0.append(Requested(line: line, authorization: request.fields["Authorization"], form: form))
            }
            receiver.exchangeStarted(on: nil, isReused: true, stream: nil)
            switch reply(line, form) {
            case nil: break
            case .status(let status, let body):
                receiver.exchangeReceived(head: ResponseHead(status: status))
                receiver.exchangeReceived(body: ByteBuffer(string: body))
                receiver.exchangeFinished(trailers: Headers())
            case .fails(let kind, let processed):
                receiver.exchangeFailed(NightjarError(kind, "scripted", requestMayHaveBeenProcessed: processed))
            }
            return ScriptedExchange(ScriptedTransport([]))
        }

        func shutDown() {}
        var all: [Requested] { requested.withLock { $0 } }
    }

    /// A token store that blocks like a file and fails on demand.
    private final class Disk: TokenStore {
        let memory = MemoryTokenStore()
        let rejectsTokens = Mutex(false)
        let firstLockTakes = Mutex<UInt32>(0)
        /// The duration of the next load under the lock, in microseconds.
        let underLock = Mutex<UInt32>(0)
        private let isLocked = Mutex(false)
        var name: String { "disk" }

        init(_ login: StoredLogin? = nil) throws { if let login { try memory.put(login) } }

        func load() throws(NightjarError) -> StoredLogin? {
            let isSlow = isLocked.withLock { $0 }
            let delay = underLock.withLock { (delay: inout UInt32) -> UInt32 in
                guard isSlow else { return 0 }
                defer { delay = 0 }
                return delay
            }
            usleep(delay)
            return try memory.load()
        }
        func save(_ login: StoredLogin, replacing version: LoginVersion?) throws(NightjarError) -> Bool {
            if login.pending == nil, rejectsTokens.withLock({ $0 }) { throw NightjarError(.storage, "full") }
            return try memory.save(login, replacing: version)
        }
        func tryLock() throws(NightjarError) -> (any TokenLock)? {
            let delay = firstLockTakes.withLock { delay in
                defer { delay = 0 }
                return delay
            }
            usleep(delay)
            let lock = try memory.tryLock()
            if lock != nil { isLocked.withLock { $0 = true } }
            return lock
        }
    }

    private func client(
        _ transport: any HTTPTransport & Sendable, _ source: TokenLogin.Source = .oauth2(OAuth2(tokenURL: "/token")),
        _ token: Token? = nil, store: (any TokenStore)? = nil, hook: LoginHook? = nil,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> Client {
        var login = TokenLogin(source, token: token, store: store)
        login.onLoginRequired = hook
        var configuration = Configuration()
        configuration.baseURL = "http://api.test/v1"
        configuration.auth = .login(login)
        configuration.retry.base = .zero
        configure(&configuration)
        return try Client(configuration) { _ in transport }
    }

    private static let token1 = #"{"access_token":"a1","refresh_token":"r1","expires_in":3600}"#
    private let old = Token(access: "a0", refresh: "r0")

    // MARK: Writes

    @Test func hanging401DoesNotAffectTheNextAttempt() throws {
        let transport = ScriptedTransport([
            [.head(401), .fail(.timeout)], [.head(200), .body(InteractionTests.token1), .end],
            [.head(200), .body("done"), .end], [.head(200), .body("twice"), .end],
        ])
        let response = try client(transport, .oauth2(OAuth2(tokenURL: "/token")), old)
            .sendBlocking(Request(.put, "/articles/1"))
        #expect(String(buffer: response.body) == "done")
        let lines = transport.log.withLock { $0.heads }.map { $0.prefix { $0 != "\r\n" } }
        #expect(
            lines == ["PUT /v1/articles/1 HTTP/1.1", "POST /v1/token HTTP/1.1", "PUT /v1/articles/1 HTTP/1.1"])
    }

    @Test func hangingChallengeDoesNotAffectTheNextAttempt() throws {
        let challenge = #"Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256"#
        let transport = ScriptedTransport([
            [.head(401, [("WWW-Authenticate", challenge)]), .fail(.timeout)], [.head(200), .body("done"), .end],
            [.head(200), .body("twice"), .end],
        ])
        let api = try Nightjar.Client(
            {
                var configuration = Configuration()
                configuration.baseURL = "http://api.test/v1"
                configuration.retry.base = .zero
                configuration.auth = .digest(user: "u", password: "p")
                return configuration
            }()
        ) { _ in transport }
        let response = try api.sendBlocking(Request(.put, "/articles/1"))
        #expect(String(buffer: response.body) == "done")
        #expect(transport.log.withLock { $0.heads.count } == 2)
    }

    /// A call that ends frees a slot. While the client closes, the slot must not start a queued call.
    @Test(arguments: [true, false]) func closingStartsNoRequests(isShuffled: Bool) throws {
        let transport = Responding { _, _ in nil }
        var configuration = Configuration()
        configuration.baseURL = "http://api.test"
        configuration.limits.concurrency = 1
        let api = try Client(configuration) { _ in transport }
        let queue = CompletionQueue()
        let ended = Mutex(0)
        let handlers = TaskHandlers { _, _ in ended.withLock { $0 += 1 } }
        let other = try api.start(Request(.post, "http://elsewhere.test/"), on: queue, handlers)
        _ = try api.start(Request(.post, "/first"), on: queue, handlers)
        _ = try api.start(Request(.post, "/second"), on: queue, handlers)
        for _ in 0..<400 where transport.all.count < 2 { queue.poll(timeout: .milliseconds(5)) }
        if isShuffled {
            other.cancel()
            for _ in 0..<400 where ended.withLock({ $0 }) < 1 { queue.poll(timeout: .milliseconds(5)) }
        }
        api.close()
        for _ in 0..<400 where ended.withLock({ $0 }) < 3 { queue.poll(timeout: .milliseconds(5)) }
        #expect(ended.withLock { $0 } == 3)
        #expect(transport.all.map(\.line) == ["POST /", "POST /first"])
    }

    // MARK: Closing

    @Test(.timeLimit(.minutes(1))) func hookMayCloseTheClient() throws {
        for before in [true, false] {
            let transport = Responding { _, _ in .status(200) }
            let box = Mutex<Client?>(nil)
            let close: @Sendable () -> Void = { box.withLock { $0 }?.close() }
            var configuration = Configuration()
            configuration.baseURL = "http://api.test"
            configuration.hooks = CallHooks(
                before: before ? { @Sendable (_) throws(NightjarError) in close() } : nil,
                after: before ? nil : { @Sendable _, _ in close() })
            let api = try Client(configuration) { _ in transport }
            box.withLock { $0 = api }
            let queue = CompletionQueue()
            let ended = Mutex(0)
            _ = try api.start(Request(.get, "/a"), on: queue, TaskHandlers { _, _ in ended.withLock { $0 += 1 } })
            for _ in 0..<400 where ended.withLock({ $0 }) < 1 { queue.poll(timeout: .milliseconds(5)) }
            api.close()
            queue.poll(timeout: .milliseconds(50))
            #expect(ended.withLock { $0 } == 1)
            box.withLock { $0 = nil }
        }
    }

    @Test func foreignLockDoesNotDelayTheClose() throws {
        let store = try Disk(StoredLogin(token: old, generation: 1))
        let lock = try store.tryLock()
        let transport = Responding { _, _ in .status(401) }
        let api = try client(transport, store: store)
        let queue = CompletionQueue()
        defer { queue.close() }
        _ = try api.start(Request(.get, "/a"), on: queue, TaskHandlers { _, _ in })
        for _ in 0..<400 where transport.all.isEmpty { queue.poll(timeout: .milliseconds(5)) }
        queue.poll(timeout: .milliseconds(50))
        let begin = ContinuousClock.now
        api.close()
        #expect(ContinuousClock.now - begin < .seconds(5))
        lock?.unlock()
    }

    /// The client closes while a worker thread loads the login under the lock.
    @Test func closedClientReleasesTheLock() throws {
        let store = try Disk(StoredLogin(token: old, generation: 1))
        store.underLock.withLock { $0 = 300_000 }
        let transport = Responding { _, _ in .status(401) }
        let api = try client(transport, store: store)
        let queue = CompletionQueue()
        defer { queue.close() }
        _ = try api.start(Request(.get, "/a"), on: queue, TaskHandlers { _, _ in })
        for _ in 0..<400 where store.underLock.withLock({ $0 }) > 0 { queue.poll(timeout: .milliseconds(5)) }
        api.close()
        var lock: (any TokenLock)?
        for _ in 0..<400 where lock == nil {
            usleep(5000)
            lock = try store.memory.tryLock()
        }
        #expect(lock != nil)
    }

    // MARK: Callbacks

    @Test func loginHookRunsOnTheQueueOfTheHandlers() throws {
        let here = UInt(pthread_self())
        let there = Mutex<UInt>(0)
        let transport = Responding { line, _ in
            line == "POST /v1/token" ? .status(400, #"{"error":"invalid_grant"}"#) : .status(401)
        }
        let hook = LoginHook(runsOnLoop: false) { there.withLock { $0 = UInt(pthread_self()) } }
        let api = try client(transport, .oauth2(OAuth2(tokenURL: "/token")), old, hook: hook)
        #expect(throws: NightjarError.self) { try api.sendBlocking(Request(.get, "/a")) }
        #expect(there.withLock { $0 } == here)
    }

    @Test func sharedExchangeRequestsADecisionOnTheHandlersQueue() throws {
        let here = UInt(pthread_self())
        let there = Mutex<UInt>(0)
        let provider = TokenProvider(runsOnLoop: false) { tokenRequest in
            there.withLock { $0 = UInt(pthread_self()) }
            tokenRequest.respond(.success(Token(access: "a0")))
        }
        let api = try client(Responding { _, _ in .status(200) }, .provider(provider)) { $0.coalesces = true }
        #expect(try api.sendBlocking(Request(.get, "/a")).status == 200)
        #expect(there.withLock { $0 } == here)
    }

    // MARK: Identities

    @Test func loginIsNotSharedWithTheNext() throws {
        let transport = Responding { _, _ in nil }
        let api = try client(transport, .oauth2(OAuth2(tokenURL: "/token")), old) { $0.coalesces = true }
        let queue = CompletionQueue()
        defer { queue.close() }
        _ = try api.start(Request(.get, "/me"), on: queue, TaskHandlers { _, _ in })
        try api.setToken(Token(access: "b0"))
        _ = try api.start(Request(.get, "/me"), on: queue, TaskHandlers { _, _ in })
        for _ in 0..<400 where transport.all.count < 2 { queue.poll(timeout: .milliseconds(5)) }
        #expect(transport.all.map(\.authorization) == ["Bearer a0", "Bearer b0"])
        api.close()
    }

    @Test func credentialsAreNotRestoredAfterAnotherOrigin() throws {
        for status in [401, 503] {
            let transport = ScriptedTransport([
                [.head(302, [("Location", "http://b.test/x")]), .end],
                [.head(302, [("Location", "http://api.test/v1/admin")]), .end], [.head(status), .end],
                [.head(200), .body(InteractionTests.token1), .end], [.head(200), .end],
            ])
            let api = try client(transport, .oauth2(OAuth2(tokenURL: "/token")), old)
            _ = try? api.sendBlocking(Request(.get, "/a"))
            let heads = transport.log.withLock { $0.heads }
            #expect(heads[0].contains("Authorization: Bearer a0"))
            #expect(!heads.dropFirst().contains { $0.contains("Authorization") || $0.contains("POST") })
            #expect(heads.count == (status == 401 ? 3 : 4))
        }
    }

    // MARK: Tokens

    @Test func expiredLoginIsKept() throws {
        let store = try Disk(StoredLogin(token: old, generation: 1))
        let api = try client(Responding { _, _ in .status(200) }, store: store)
        #expect(try api.sendBlocking(Request(.get, "/a")).status == 200)
        store.firstLockTakes.withLock { $0 = 100_000 }
        try api.logOutBlocking()
        try api.setToken(Token(access: "b0", refresh: "rb"))
        api.close()
        #expect(try store.load()?.token?.access == "b0")
    }

    @Test func refreshAfterALoginUsesIt() throws {
        let transport = Responding { line, form in
            guard line == "POST /v1/token" else { return .status(200) }
            return form.contains("refresh_token=rb")
                ? .status(200, InteractionTests.token1) : .status(400, #"{"error":"invalid_grant"}"#)
        }
        let store = try Disk(StoredLogin(token: old, generation: 1))
        let api = try client(transport, store: store)
        store.firstLockTakes.withLock { $0 = 100_000 }
        let past = Timestamp(secondsSince1970: Int64(1_000_000_000))
        try api.setToken(Token(access: "b0", refresh: "rb", expiry: past))
        #expect(try api.sendBlocking(Request(.get, "/a")).status == 200)
        #expect(transport.all.last?.authorization == "Bearer a1")
    }

    @Test func unsavedTokenIsRefreshed() throws {
        let transport = Responding { line, form in
            if line == "GET /v1/refused" { return .status(401) }
            guard line == "POST /v1/token" else { return .status(200) }
            return form.contains("refresh_token=r0")
                ? .status(200, InteractionTests.token1) : .status(400, #"{"error":"x"}"#)
        }
        let store = try Disk(StoredLogin(token: old, generation: 1))
        let api = try client(transport, store: store)
        store.rejectsTokens.withLock { $0 = true }
        _ = try? api.sendBlocking(Request(.get, "/refused"))
        #expect(try store.load()?.pending != nil)
        store.rejectsTokens.withLock { $0 = false }
        _ = try? api.sendBlocking(Request(.get, "/refused"))
        let forms = transport.all.filter { $0.line == "POST /v1/token" }.map(\.form)
        #expect(forms.count == 2 && forms.last?.contains("refresh_token=r1") == true)
        #expect(try store.load()?.token?.refresh == "r1")
    }

    /// Client A refreshes its token and cannot save it. Then client B logs in as another user, or logs out. A's next
    /// 401 response must not undo that.
    @Test(arguments: [true, false]) func clientWithAnOldLoginKeepsTheNewOne(logsIn: Bool) throws {
        let transport = Responding { line, form in
            if line == "GET /v1/refused" { return .status(401) }
            guard line == "POST /v1/token" else { return .status(200) }
            return form.contains("refresh_token=r0")
                ? .status(200, InteractionTests.token1) : .status(400, #"{"error":"x"}"#)
        }
        let store = try Disk(StoredLogin(token: old, lineage: 1, generation: 1))
        let api = try client(transport, store: store)
        store.rejectsTokens.withLock { $0 = true }
        _ = try? api.sendBlocking(Request(.get, "/refused"))
        store.rejectsTokens.withLock { $0 = false }
        let generation = try #require(try store.load()?.generation)
        let end = StoredLogin(.loggedOut, lineage: 1, generation: generation + 1)
        try store.memory.put(end)
        let bob = StoredLogin(token: Token(access: "b0", refresh: "rb"), lineage: 2, generation: generation + 2)
        if logsIn { try store.memory.put(bob) }
        _ = try? api.sendBlocking(Request(.get, "/refused"))
        let forms = transport.all.filter { $0.line == "POST /v1/token" }.map(\.form)
        #expect(!forms.contains { $0.contains("refresh_token=r1") })
        if logsIn {
            #expect(try store.load()?.lineage == 2)
            #expect(try store.load()?.token?.access == "b0")
            #expect(transport.all.last?.authorization == "Bearer b0")
        } else {
            #expect(try store.load() == end)
            #expect(throws: NightjarError.self) { try api.sendBlocking(Request(.get, "/a")) }
        }
        api.close()
    }

    /// A logout does not need the lock, which another process may hold, and is not lost when the client closes.
    @Test func logoutReachesALockedStore() throws {
        let store = try Disk(StoredLogin(token: old, lineage: 1, generation: 1))
        let lock = try store.tryLock()
        let api = try client(Responding { _, _ in .status(200) }, store: store)
        try api.logOutBlocking()
        api.close()
        #expect(try store.load() == StoredLogin(.loggedOut, lineage: 1, generation: 2))
        lock?.unlock()
    }

    @Test func unsavedLogoutIsReported() throws {
        let store = try Disk(StoredLogin(token: old, lineage: 1, generation: 1))
        store.rejectsTokens.withLock { $0 = true }
        let errors = Mutex<[String]>([])
        let api = try client(Responding { _, _ in .status(200) }, store: store) {
            $0.log = LogSink(level: .error) { line in errors.withLock { $0.append(line.message) } }
        }
        let error = #expect(throws: NightjarError.self) { try api.logOutBlocking() }
        #expect(error?.kind == .storage)
        #expect(error?.message.hasPrefix("this client is logged out, but its store may still have the login: ") == true)
        // The client stays logged out. The next call tries to save the logout again and does not send the old token.
        let rejected = #expect(throws: NightjarError.self) { try api.sendBlocking(Request(.get, "/a")) }
        #expect(rejected?.kind == .storage)
        api.close()
        #expect(errors.withLock { $0 }.contains { $0.hasPrefix("saving the logout failed") })
    }

    /// Runs with both sources of an automatic login: the tokens of the configuration, or the client's own credentials.
    @Test(arguments: [true, false]) func logoutFromASharedStoreIsFinal(hasCredentials: Bool) throws {
        let transport = Responding { line, _ in
            line == "POST /v1/token" ? .status(200, InteractionTests.token1) : .status(200)
        }
        var server = OAuth2(tokenURL: "/token")
        if hasCredentials { server.grant = .clientCredentials }
        let store = MemoryTokenStore()
        let token = hasCredentials ? nil : old
        let api = try client(transport, .oauth2(server), token, store: store)
        #expect(try api.sendBlocking(Request(.get, "/a")).status == 200)
        try api.logOutBlocking()
        let requested = transport.all.count
        for _ in 0..<2 { #expect(throws: NightjarError.self) { try api.sendBlocking(Request(.get, "/a")) } }
        // The logout also applies to other processes and to the next run.
        let other = try client(transport, .oauth2(server), token, store: store)
        #expect(throws: NightjarError.self) { try other.sendBlocking(Request(.get, "/a")) }
        #expect(transport.all.count == requested)
        #expect(try store.load()?.ending == .loggedOut)
        try other.setToken(Token(access: "b0"))
        #expect(try other.sendBlocking(Request(.get, "/a")).status == 200)
        #expect(transport.all.last?.authorization == "Bearer b0")
    }

    @Test func intentOfAnEndedProcessOutlivesAFailedOwnOne() throws {
        for reply in [
            Responding.Response.fails(.connect, mayHaveBeenProcessed: false),
            .status(400, #"{"error":"invalid_client"}"#),
        ] {
            let transport = Responding { line, _ in line == "POST /v1/token" ? reply : .status(401) }
            let pending = PendingExchange(key: "key-of-the-dead", began: WallClock.now())
            let store = MemoryTokenStore(StoredLogin(token: old, generation: 1, pending: pending))
            let api = try client(transport, store: store) { $0.retry.maximumAttempts = 1 }
            _ = try? api.sendBlocking(Request(.get, "/a"))
            _ = try? api.sendBlocking(Request(.get, "/a"))
            #expect(transport.all.contains { $0.line == "POST /v1/token" })
            #expect(try store.load()?.pending?.key == "key-of-the-dead")
        }
    }

    @Test func gatewayErrorKeepsTheIntent() throws {
        let transport = Responding { line, _ in
            line == "POST /v1/token" ? .status(503, #"{"error":"invalid_grant"}"#) : .status(401)
        }
        let store = MemoryTokenStore(StoredLogin(token: old, generation: 1))
        let api = try client(transport, store: store) { $0.retry.maximumAttempts = 1 }
        _ = try? api.sendBlocking(Request(.get, "/a"))
        #expect(try store.load()?.token?.refresh == "r0")
        #expect(try store.load()?.pending != nil)
    }

    // MARK: Limits

    /// Each admitted call ends immediately and admits the next one. The client must do that in a loop, not recursively.
    @Test(.timeLimit(.minutes(2))) func longQueueThatFailsAtOnceUsesLittleStack() throws {
        let transport = Responding { line, _ in line == "GET /held" ? nil : .status(200) }
        var configuration = Configuration()
        configuration.baseURL = "http://api.test"
        configuration.limits.concurrency = 1
        configuration.limits.maximumQueued = 30_000
        let client = try Client(configuration) { _ in transport }
        let queue = CompletionQueue()
        let held = try client.start(Request(.get, "/held"), on: queue, TaskHandlers { _, _ in })
        let responseCount = Atomic<Int>(0)
        for _ in 0..<30_000 {
            _ = try client.start(
                Request(.get, "/next"), on: queue,
                TaskHandlers { _, result in
                    if case .success = result { responseCount.add(1, ordering: .relaxed) }
                })
        }
        held.cancel()
        while responseCount.load(ordering: .relaxed) < 30_000 { queue.poll(timeout: .seconds(1)) }
        #expect(client.limitStates().allSatisfy { $0.inFlight == 0 && $0.queued == 0 })
        client.close()
    }
}
