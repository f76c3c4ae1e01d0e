import Dispatch
import NIOCore
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

/// A server in memory. It responds with the result of a closure, immediately or after `release()`.
final class ServerInMemory: HTTPTransport, @unchecked Sendable {
    struct Response: Sendable {
        var status = 200
        var headers: [(String, String)] = []
        var body = "content"
        var failure: NightjarError?
        /// The connection is lost after the first half of the body.
        var breaksOff = false

        init(_ status: Int = 200, _ headers: [(String, String)] = [], _ body: String = "content") {
            (self.status, self.headers, self.body) = (status, headers, body)
        }

        static func failing(_ kind: ErrorKind) -> Response {
            var reply = Response()
            reply.failure = NightjarError(kind, "the server has failed")
            return reply
        }
    }

    /// A received request.
    struct Requested: Sendable {
        let method: Method
        let target: String
        let headers: Headers
    }

    let requested = Mutex<[Requested]>([])
    let cancelled = Atomic<Int>(0)
    let isHeld = Atomic<Bool>(false)
    private let loop: any EventLoop
    private let reply: @Sendable (_ number: Int, Requested) -> Response
    private var held: [() -> Void] = []

    init(_ loop: any EventLoop, _ reply: @escaping @Sendable (Int, Requested) -> Response) {
        self.loop = loop
        self.reply = reply
    }

    func begin(
        _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
    ) -> any Exchange {
        let requested = Requested(method: request.method, target: request.url.target, headers: request.fields)
        let number = self.requested.withLock { all in
            all.append(requested)
            return all.count
        }
        let exchange = Held(self)
        let reply = reply(number, requested)
        receiver.exchangeStarted(on: nil, isReused: true, stream: nil)
        let give: () -> Void = { [loop] in
            loop.execute {
                guard !exchange.isCancelled else { return }
                if let failure = reply.failure { return receiver.exchangeFailed(failure) }
                var headers = Headers()
                for (name, value) in reply.headers { try? headers.add(name, value) }
                let hasBody = request.method != .head && reply.status != 304 && reply.status != 204
                receiver.exchangeReceived(
                    head: ResponseHead(
                        status: reply.status, headers: headers, contentLength: hasBody ? reply.body.utf8.count : 0))
                let body = reply.breaksOff ? String(reply.body.prefix(reply.body.utf8.count / 2)) : reply.body
                for part in hasBody ? body.parts(64 << 10) : [] where !exchange.isCancelled {
                    receiver.exchangeReceived(body: ByteBuffer(string: part))
                }
                if reply.breaksOff, !exchange.isCancelled {
                    return receiver.exchangeFailed(NightjarError(.connectionLost, "the connection was lost"))
                }
                if !exchange.isCancelled { receiver.exchangeFinished(trailers: Headers()) }
            }
        }
        if isHeld.load(ordering: .relaxed) { held.append(give) } else { give() }
        return exchange
    }

    /// Sends the held responses. Later responses are not held.
    func release() {
        loop.execute { [self] in
            isHeld.store(false, ordering: .relaxed)
            let all = held
            held = []
            for give in all { give() }
        }
    }

    // Breaks the reference cycle: held responses refer to the exchange, which refers to this server.
    func shutDown() { held = [] }

    final class Held: Exchange {
        private let server: ServerInMemory
        var isCancelled = false
        init(_ server: ServerInMemory) { self.server = server }
        func cancel() {
            isCancelled = true
            server.cancelled.add(1, ordering: .relaxed)
        }
        func pause() {}
        func resume() {}
        func send(_ part: ByteBuffer) {}
        func endBody() {}
    }
}

extension String {
    fileprivate func parts(_ size: Int) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while !rest.isEmpty {
            parts.append(String(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return parts
    }
}

@Suite struct CacheTests {
    /// A client with a cache, and its server.
    struct Bench: Sendable {
        let client: Client
        let server: ServerInMemory
        let queue = CompletionQueue()

        init(
            _ settings: CacheStorage.Settings = .init(), _ configure: (inout Configuration) -> Void = { _ in },
            _ reply: @escaping @Sendable (Int, ServerInMemory.Requested) -> ServerInMemory.Response
        ) throws {
            var configuration = Configuration()
            configuration.baseURL = "http://api.test"
            configuration.retry.maximumAttempts = 1
            configuration.cacheSettings = settings
            configure(&configuration)
            let made = Mutex<ServerInMemory?>(nil)
            client = try Client(configuration) { loop in
                let server = ServerInMemory(loop, reply)
                made.withLock { $0 = server }
                return server
            }
            server = try #require(made.withLock { $0 })
        }

        var requested: [ServerInMemory.Requested] { server.requested.withLock { $0 } }

        func get(
            _ target: String = "/a", policy: CachePolicy? = nil, _ headers: [(String, String)] = []
        ) throws -> Response {
            try client.sendBlocking(Bench.request(.get, target, policy, headers))
        }

        static func request(
            _ method: Method, _ target: String, _ policy: CachePolicy? = nil, _ headers: [(String, String)] = []
        ) throws -> Request {
            var request = Request(method, target)
            request.cachePolicy = policy
            request.expectedStatuses = [StatusRange(100, 499)]
            for (name, value) in headers { try request.headers.add(name, value) }
            return request
        }

        /// Starts a call on the bench's queue.
        @discardableResult
        func start(
            _ request: Request, _ results: Results, _ index: Int = 0,
            refreshed: (@Sendable (Result<Response, NightjarError>) -> Void)? = nil
        ) throws -> ClientTask {
            var handlers = TaskHandlers { _, result in results.all.withLock { $0[index] = result } }
            handlers.refreshed = refreshed
            return try client.start(request, on: queue, handlers)
        }

        /// Starts identical calls. The server responds to none of them before it is released.
        func startHeld(_ count: Int) throws -> Results {
            server.isHeld.store(true, ordering: .relaxed)
            let results = Results()
            for index in 0..<count { try start(Bench.request(.get, "/a"), results, index) }
            return results
        }

        func run(_ what: String = "the calls ended", until condition: () -> Bool) {
            for _ in 0..<2000 where !condition() { queue.poll(timeout: .milliseconds(5)) }
            #expect(condition(), "\(what)")
        }
    }

    final class Results: Sendable {
        let all = Mutex<[Int: Result<Response, NightjarError>]>([:])
        var count: Int { all.withLock { $0.count } }
        subscript(index: Int) -> Result<Response, NightjarError>? { all.withLock { $0[index] } }
        var responses: [Response] { all.withLock { $0.values.compactMap { try? $0.get() } } }
    }

    private static let fresh = [("Cache-Control", "max-age=600"), ("ETag", "\"1\"")]
    /// The fields of a response that is stale when it arrives.
    private static let stale = [("Cache-Control", "max-age=5"), ("Age", "10"), ("ETag", "\"1\"")]

    private func kind(_ body: () throws -> Void) -> ErrorKind? {
        do {
            try body()
            return nil
        } catch {
            return (error as? NightjarError)?.kind
        }
    }

    // MARK: RFC 9111

    @Test func freshResponseIsServedFromMemory() throws {
        let bench = try Bench { _, _ in .init(200, Self.fresh) }
        let first = try bench.get()
        #expect(first.source == .network)
        #expect(first.headers["Cache-Status"] == "nightjar; fwd=uri-miss; stored")
        let second = try bench.get()
        #expect(second.source == .cache && second.status == 200 && String(buffer: second.body) == "content")
        #expect(second.attempts == 0)
        #expect(second.headers["Age"] == "0")
        #expect(second.headers["Cache-Status"]?.hasPrefix("nightjar; hit; ttl=") == true)
        #expect(bench.requested.count == 1)
        let statistics = try #require(bench.client.cache).statistics
        #expect(statistics.hits == 1 && statistics.misses == 1 && statistics.bytesSaved == 7)
        #expect(second.decisions.explanation.contains("served from the cache: fresh, 0 s old"))
        #expect(second.decisions.explanation.contains("cache key: http://api.test/a"))
    }

    @Test func staleResponseIsValidated() throws {
        let bench = try Bench { number, _ in
            number == 1 ? .init(200, Self.stale) : .init(304, [("ETag", "\"1\""), ("Cache-Control", "max-age=600")])
        }
        _ = try bench.get()
        let second = try bench.get()
        #expect(second.source == .revalidated && second.status == 200 && String(buffer: second.body) == "content")
        #expect(bench.requested[1].headers["If-None-Match"] == "\"1\"")
        #expect(second.headers["Cache-Status"]?.contains("fwd=stale; fwd-status=304") == true)
        // The entry is fresh now.
        #expect(try bench.get().source == .cache)
        #expect(bench.requested.count == 2)
        #expect(bench.client.cache?.statistics.validations == 1)
    }

    @Test func changedResponseReplacesTheStaleOne() throws {
        let bench = try Bench { number, _ in
            number == 1 ? .init(200, Self.stale, "old") : .init(200, [("ETag", "\"2\""), Self.fresh[0]], "new")
        }
        _ = try bench.get()
        #expect(String(buffer: try bench.get().body) == "new")
        let third = try bench.get()
        #expect(String(buffer: third.body) == "new" && third.source == .cache)
    }

    @Test func uncacheableResponseIsNotStored() throws {
        let bench = try Bench { _, _ in .init(200, [("Cache-Control", "no-store"), ("ETag", "\"1\"")]) }
        _ = try bench.get()
        let second = try bench.get()
        #expect(second.source == .network && bench.requested.count == 2)
        #expect(bench.requested[1].headers["If-None-Match"] == nil)
        #expect(second.decisions.explanation.contains("not stored in the cache: the response has no-store"))
    }

    @Test func variantsAreServedToMatchingRequests() throws {
        let bench = try Bench { _, requested in
            .init(200, Self.fresh + [("Vary", "Accept-Language")], requested.headers["Accept-Language"] ?? "none")
        }
        for _ in 0..<2 {
            for language in ["de", "fr"] {
                #expect(String(buffer: try bench.get("/a", [("Accept-Language", language)]).body) == language)
            }
        }
        #expect(bench.requested.count == 2)
    }

    @Test func usersDoNotShareResponses() throws {
        let bench = try Bench { _, requested in
            .init(200, Self.fresh, requested.headers["Authorization"] ?? requested.headers["X-API-Key"] ?? "nobody")
        }
        for _ in 0..<2 {
            for headers in [
                [("Authorization", "Bearer a")], [("Authorization", "Bearer b")], [("X-API-Key", "a")], [],
            ] {
                let body = String(buffer: try bench.get("/a", headers).body)
                #expect(body == headers.first?.1 ?? "nobody")
            }
        }
        #expect(bench.requested.count == 4)
    }

    /// Each of these fields may contain credentials, so requests with different values must not share a response.
    @Test(arguments: ["X-JWT", "Api_Key", "Auth", "Access_Key", "X-Passwd", "X-PIN", "X-Otp", "SID", "Key"])
    func usersDoNotShareResponsesForAnyCredentialField(name: String) throws {
        let bench = try Bench { _, requested in .init(200, Self.fresh, requested.headers[name] ?? "nobody") }
        for _ in 0..<2 {
            for user in ["alice", "bob"] {
                #expect(String(buffer: try bench.get("/me", [(name, user)]).body) == user)
            }
        }
        #expect(bench.requested.count == 2)
    }

    @Test func tokenLikeValueIsACredential() throws {
        let bench = try Bench { _, requested in .init(200, Self.fresh, requested.headers["X-Whoever"] ?? "nobody") }
        for user in ["9f86d081884c7d659a2feaa0c55ad015", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"] {
            #expect(String(buffer: try bench.get("/me", [("X-Whoever", user)]).body) == user)
        }
        for user in ["de", "fr"] { _ = try bench.get("/other", [("X-Whoever", user)]) }
        #expect(bench.requested.count == 3)
    }

    @Test func writeInvalidatesTheEntry() throws {
        let bench = try Bench { _, requested in
            requested.method == .post
                ? .init(201, [("Location", "/list")]) : .init(200, Self.fresh)
        }
        for target in ["/a", "/list", "/other"] { _ = try bench.get(target) }
        var post = Request(.post, "/a")
        post.body = .bytes(ByteBuffer(string: "x"))
        _ = try bench.client.sendBlocking(post)
        for target in ["/a", "/list", "/other"] { _ = try bench.get(target) }
        #expect(bench.requested.map(\.target) == ["/a", "/list", "/other", "/a", "/a", "/list"])
    }

    /// The response may predate the write.
    @Test func responseRequestedBeforeAWriteIsValidated() throws {
        let bench = try Bench { number, requested in
            requested.method == .put ? .init(204) : .init(200, Self.fresh, "\(number)")
        }
        let results = Results()
        bench.server.isHeld.store(true, ordering: .relaxed)
        try bench.start(Bench.request(.get, "/a"), results, 0)
        bench.run { bench.requested.count == 1 }
        // The PUT receives its response first.
        bench.server.isHeld.store(false, ordering: .relaxed)
        var put = Request(.put, "/a")
        put.body = .bytes(ByteBuffer(string: "x"))
        _ = try bench.client.sendBlocking(put)
        bench.server.release()
        bench.run { results.count == 1 }
        #expect(try bench.get().source != .cache)
        #expect(bench.requested.last?.headers["If-None-Match"] == "\"1\"")
    }

    @Test(arguments: [ErrorKind.connect, .timeout, .connectionLost, .dns])
    func staleIfErrorServesAStaleResponseOnFailure(_ kind: ErrorKind) throws {
        let bench = try Bench { number, _ in
            number == 1
                ? .init(200, [("Cache-Control", "max-age=5, stale-if-error=600"), ("Age", "10")]) : .failing(kind)
        }
        _ = try bench.get()
        let second = try bench.get()
        #expect(second.source == .stale && String(buffer: second.body) == "content")
        #expect(second.decisions.explanation.contains("because the server failed (stale-if-error)"))
    }

    @Test func staleIfErrorServesAStaleResponseOnServerError() throws {
        let bench = try Bench { number, requested in
            let control = requested.target == "/a" ? "max-age=5, stale-if-error=600" : "max-age=5"
            return number <= 2
                ? .init(200, [("Cache-Control", control), ("Age", "10"), ("ETag", "\"1\"")]) : .init(503, [], "down")
        }
        _ = try bench.get("/a")
        _ = try bench.get("/b")
        #expect(try bench.get("/a").source == .stale)
        #expect(kind { _ = try bench.get("/b") } == .server)
    }

    @Test func unreadableErrorPageIsAFailure() throws {
        let bench = try Bench(.init(), { $0.maximumBody = 1000 }) { number, _ in
            number == 1
                ? .init(200, [("Cache-Control", "max-age=5, stale-if-error=600"), ("Age", "10")])
                : .init(503, [], String(repeating: "sorry ", count: 1000))
        }
        _ = try bench.get()
        let second = try bench.get()
        #expect(second.source == .stale && String(buffer: second.body) == "content")
    }

    @Test func rangesAndHeadsAreServedFromTheCompleteResponse() throws {
        let bench = try Bench { _, _ in .init(200, Self.fresh, "0123456789") }
        _ = try bench.get()
        let part = try bench.get("/a", [("Range", "bytes=2-5")])
        #expect(part.status == 206 && String(buffer: part.body) == "2345")
        #expect(part.headers["Content-Range"] == "bytes 2-5/10")
        let head = try bench.client.sendBlocking(Bench.request(.head, "/a"))
        #expect(head.source == .cache && head.body.readableBytes == 0)
        let own = try bench.get("/a", [("If-None-Match", "\"1\"")])
        #expect(own.status == 304 && own.source == .cache)
        #expect(bench.requested.count == 1)
    }

    @Test func redirectsAreStoredIndividually() throws {
        let bench = try Bench { _, requested in
            requested.target == "/a"
                ? .init(301, [("Location", "/b"), ("Cache-Control", "max-age=600")], "moved") : .init(200, Self.fresh)
        }
        for _ in 0..<3 { #expect(try bench.get().url == "http://api.test/b") }
        #expect(bench.requested.map(\.target) == ["/a", "/b"])
    }

    // MARK: Responses on the caller's thread

    @Test func invalidatedEntryIsNotServedOnTheCallersThread() throws {
        let bench = try Bench { number, requested in
            requested.method == .put ? .init(204) : .init(200, Self.fresh, "\(number)")
        }
        for _ in 0..<5 { #expect(String(buffer: try bench.get().body) == "1") }
        var put = Request(.put, "/a")
        put.body = .bytes(ByteBuffer(string: "x"))
        _ = try bench.client.sendBlocking(put)
        for _ in 0..<5 { #expect(String(buffer: try bench.get().body) == "3") }
        try bench.client.cache?.removeAll()
        for _ in 0..<5 { #expect(String(buffer: try bench.get().body) == "4") }
        #expect(bench.client.cache?.statistics.hits == 12)
    }

    @Test func ageIsCheckedOnTheCallersThread() throws {
        let bench = try Bench { _, _ in .init(200, Self.fresh) }
        _ = try bench.get()
        try eventually("the Age reached 2 s", within: .seconds(5)) { try bench.get().headers["Age"] == "2" }
        #expect(bench.requested.count == 1)
    }

    @Test func eachHitIsReportedOnItsQueue() throws {
        let bench = try Bench { _, _ in .init(200, Self.fresh) }
        for _ in 0..<3 { _ = try bench.get() }
        let other = try bench.get("/a", [("X-Other", "1")])
        #expect(other.source == .cache && other.request?.headers["X-Other"] == "1")
        let results = Results()
        for index in 0..<10 { try bench.start(Bench.request(.get, "/a"), results, index) }
        #expect(results.count == 0)
        bench.run { results.count == 10 }
        #expect(results.responses.allSatisfy { $0.source == .cache })
        bench.client.close()
        #expect(kind { _ = try bench.get() } == .closed)
    }

    // MARK: Logins

    /// Creates a client with a login whose token expires after `lifetime` seconds.
    private func bench(
        lifetime: Int = 3600, _ reply: @escaping @Sendable (Int, ServerInMemory.Requested) -> ServerInMemory.Response
    ) throws -> Bench {
        try Bench(
            .init(),
            {
                try? $0.merge(
                    json: """
                        {"auth": {"type": "oauth2", "token_url": "/token", "access_token": "a", "refresh_token": "r",
                        "expires_in": \(lifetime)}}
                        """)
            }, reply)
    }

    @Test func otherLoginReceivesNoEntriesOfTheFirst() throws {
        let bench = try bench { _, requested in .init(200, Self.fresh, requested.headers["Authorization"] ?? "nobody") }
        for _ in 0..<3 { #expect(String(buffer: try bench.get().body) == "Bearer a") }
        #expect(bench.requested.count == 1)
        try bench.client.setToken(Token(access: "b"))
        for _ in 0..<3 { #expect(String(buffer: try bench.get().body) == "Bearer b") }
        #expect(bench.requested.count == 2)
        try bench.client.logOutBlocking()
        try eventually("the client was logged out") { kind { _ = try bench.get() } == .unauthorized }
        #expect(kind { _ = try bench.get(policy: .cacheOnly) } == .unauthorized)
        #expect(bench.client.cache?.statistics.memoryEntries == 1)
    }

    @Test(arguments: [false, true]) func logoutRemovesResponsesToRequestsWithCookies(_ isOnDisk: Bool) throws {
        let folder = try TemporaryDirectory()
        let cookies = CookieStorage()
        let settings: CacheStorage.Settings =
            isOnDisk ? .init(memory: 0, disk: 1 << 20, folder: folder.file("c")) : .init()
        let bench = try Bench(
            settings,
            {
                $0.cookies = cookies
                try? $0.merge(json: #"{"auth": {"type": "oauth2", "token_url": "/token", "access_token": "a"}}"#)
            }
        ) { _, _ in .init(200, Self.fresh + [("Set-Cookie", "late=1")]) }
        _ = try bench.get("/a")
        try cookies.set("theme=dark; Path=/", for: RequestURL("http://api.test/"))
        _ = try bench.get("/b")
        #expect(try bench.get("/b").source == .cache)
        let count = { () throws -> Int in
            let statistics = try #require(bench.client.cache?.statistics)
            return isOnDisk ? statistics.diskEntries : statistics.memoryEntries
        }
        try eventually("both responses are stored") { try count() == 2 }
        try bench.client.logOutBlocking(clearingCookies: true)
        #expect(try count() == 0)
        #expect(cookies.all == [])
        #expect(bench.requested.map { $0.headers["Cookie"] } == [nil, "late=1; theme=dark"])
    }

    /// The client's loop is blocked while the login changes.
    @Test(arguments: [true, false]) func changedLoginReceivesNoEntryWhileTheLoopIsBusy(_ logsOut: Bool) throws {
        let bench = try bench { _, requested in .init(200, Self.fresh, requested.headers["Authorization"] ?? "nobody") }
        for _ in 0..<3 { #expect(String(buffer: try bench.get().body) == "Bearer a") }
        let (isBlocked, mayContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        try bench.client.start(
            Bench.request(.get, "/other"), on: nil,
            TaskHandlers { _, _ in
                isBlocked.signal()
                mayContinue.wait()
            })
        isBlocked.wait()
        if logsOut {
            try bench.client.logOut(on: nil) { _ in }
        } else {
            try bench.client.setToken(Token(access: "b"))
        }
        let results = Results()
        try bench.start(Bench.request(.get, "/a"), results)
        mayContinue.signal()
        bench.run { results.count == 1 }
        switch results[0] {
        case .success(let response): #expect(!logsOut && String(buffer: response.body) == "Bearer b")
        case .failure(let error): #expect(logsOut && error.kind == .unauthorized)
        case nil: Issue.record("the call has no result")
        }
    }

    @Test func refreshedTokenIsTheSameLogin() throws {
        let bench = try bench { _, requested in
            switch (requested.target, requested.headers["Authorization"]) {
            case ("/token", _): .init(200, [], #"{"access_token": "a2", "refresh_token": "r2", "expires_in": 600}"#)
            case (_, "Bearer a2"), ("/a", _): .init(200, Self.fresh, requested.headers["Authorization"] ?? "")
            default: .init(401)
            }
        }
        #expect(String(buffer: try bench.get("/a").body) == "Bearer a")
        #expect(String(buffer: try bench.get("/b").body) == "Bearer a2")
        // Responses that were received with the old token still belong to the same user.
        #expect(String(buffer: try bench.get("/a").body) == "Bearer a")
        #expect(bench.requested.map(\.target) == ["/a", "/b", "/token", "/b"])
    }

    /// The token has expired, and the token endpoint is unreachable.
    @Test func expiredLoginKeepsItsEntries() throws {
        let isOffline = Atomic<Bool>(false)
        let bench = try bench(lifetime: 1) { _, _ in
            isOffline.load(ordering: .relaxed) ? .failing(.connect) : .init(200, Self.fresh, "mine")
        }
        #expect(String(buffer: try bench.get().body) == "mine")
        isOffline.store(true, ordering: .relaxed)
        let tokens = bench.requested.count { $0.target == "/token" }
        try eventually("the token expired", within: .seconds(5)) {
            _ = try? bench.get("/b")
            return bench.requested.count { $0.target == "/token" } > tokens
        }
        for policy in [CachePolicy.offlineFirst, .cacheElseLoad, .cacheOnly] {
            #expect(String(buffer: try bench.get(policy: policy).body) == "mine", "\(policy)")
        }
    }

    @Test func cacheOnlySendsNoRequest() throws {
        let bench = try Bench(.init(), { $0.cachePolicy = .cacheOnly }) { _, _ in .init() }
        var post = Request(.post, "/a")
        post.body = .bytes(ByteBuffer(string: "x"))
        #expect(kind { _ = try bench.client.sendBlocking(post) } == .cacheMiss)
        #expect(bench.requested.isEmpty)
    }

    /// A stored 401 response would be returned after the token refresh.
    @Test func rejectedCredentialIsNotStored() throws {
        let bench = try Bench { number, _ in number == 1 ? .init(401, [("Cache-Control", "max-age=600")]) : .init() }
        #expect(try bench.get().status == 401)
        #expect(try bench.get().status == 200)
    }

    // MARK: Policies

    @Test func policiesDecideByFreshness() throws {
        let bench = try Bench { number, _ in .init(200, Self.stale, "\(number)") }
        #expect(kind { _ = try bench.get(policy: .cacheOnly) } == .cacheMiss)
        #expect(bench.requested.isEmpty)
        _ = try bench.get()
        // These policies serve the entry although it is stale.
        #expect(try bench.get(policy: .cacheElseLoad).source == .stale)
        #expect(try bench.get(policy: .cacheOnly).source == .stale)
        #expect(bench.requested.count == 1)
        #expect(String(buffer: try bench.get(policy: .reload).body) == "2")
        #expect(
            bench.requested[1].headers["If-None-Match"] == nil
                && bench.requested[1].headers["Cache-Control"] == "no-cache")
        #expect(String(buffer: try bench.get(policy: .cacheOnly).body) == "2")
        _ = try bench.get(policy: .revalidate)
        #expect(bench.requested[2].headers["If-None-Match"] == "\"1\"")
        var request = try Bench.request(.get, "/a")
        request.usesCache = false
        _ = try bench.client.sendBlocking(request)
        #expect(bench.requested.count == 4 && bench.requested[3].headers["If-None-Match"] == nil)
    }

    @Test func offlineFirstServesTheEntryAndReportsTheRefresh() throws {
        let bench = try Bench { number, _ in .init(200, number == 1 ? Self.stale : Self.fresh, "\(number)") }
        _ = try bench.get()
        let results = Results()
        let fresh = Mutex<Result<Response, NightjarError>?>(nil)
        try bench.start(Bench.request(.get, "/a", .offlineFirst), results) { result in fresh.withLock { $0 = result } }
        bench.run { results.count == 1 && fresh.withLock { $0 != nil } }
        #expect(try results[0]?.get().source == .stale)
        #expect(try fresh.withLock { try $0?.get() }.map { String(buffer: $0.body) } == "2")
        #expect(bench.requested.count == 2)
        // A fresh entry is not revalidated.
        fresh.withLock { $0 = nil }
        try bench.start(Bench.request(.get, "/a", .offlineFirst), results, 1) { result in fresh.withLock { $0 = result }
        }
        bench.run { results.count == 2 }
        #expect(try results[1]?.get().source == .cache)
        #expect(bench.requested.count == 2)
    }

    @Test func staleWhileRevalidateRefreshesOnceInTheBackground() throws {
        let control = [("Cache-Control", "max-age=5, stale-while-revalidate=600"), ("Age", "10")]
        let bench = try Bench { number, _ in .init(200, number == 1 ? control : Self.fresh, "\(number)") }
        _ = try bench.get()
        bench.server.isHeld.store(true, ordering: .relaxed)
        for _ in 0..<10 { #expect(String(buffer: try bench.get().body) == "1") }
        bench.server.release()
        try eventually("the refresh was stored") { String(buffer: try bench.get().body) == "2" }
        #expect(bench.requested.count == 2)
    }

    @Test func failedRefreshIsReportedAndKeepsTheStaleEntry() throws {
        let bench = try Bench { number, _ in number == 1 ? .init(200, Self.stale) : .init(500, [], "down") }
        _ = try bench.get()
        let results = Results()
        let fresh = Mutex<Result<Response, NightjarError>?>(nil)
        var request = try Bench.request(.get, "/a", .offlineFirst)
        request.expectedStatuses = []
        try bench.start(request, results) { result in fresh.withLock { $0 = result } }
        bench.run { results.count == 1 && fresh.withLock { $0 != nil } }
        #expect(kind { _ = try fresh.withLock { try $0?.get() } } == .server)
        #expect(String(buffer: try bench.get(policy: .cacheOnly).body) == "content")
    }

    // MARK: Sharing

    @Test func concurrentMissesShareOneFetch() throws {
        let bench = try Bench { _, _ in .init(200, Self.fresh) }
        let results = try bench.startHeld(100)
        bench.run { bench.requested.count == 1 }
        bench.server.release()
        bench.run { results.count == 100 }
        #expect(bench.requested.count == 1)
        #expect(results.responses.count { $0.source == .network } == 1)
        #expect(results.responses.count { $0.source == .coalesced } == 99)
        #expect(results.responses.contains { $0.headers["Cache-Status"]?.contains("collapsed") == true })
    }

    @Test func validationIsShared() throws {
        let bench = try Bench { number, _ in
            number == 1 ? .init(200, Self.stale) : .init(304, [("ETag", "\"1\""), ("Cache-Control", "max-age=600")])
        }
        _ = try bench.get()
        let results = try bench.startHeld(50)
        bench.run { bench.requested.count == 2 }
        bench.server.release()
        bench.run { results.count == 50 }
        #expect(bench.requested.count == 2)
        #expect(results.responses.allSatisfy { String(buffer: $0.body) == "content" })
    }

    @Test func uncacheableResponseIsAwaitedOnceThenFetchedByEach() throws {
        let bench = try Bench { _, _ in .init(200, [("Cache-Control", "no-store")]) }
        let results = try bench.startHeld(20)
        bench.run { bench.requested.count == 1 }
        bench.server.release()
        bench.run { results.count == 20 }
        #expect(bench.requested.count == 20)
        bench.server.isHeld.store(true, ordering: .relaxed)
        for index in 20..<40 { try bench.start(Bench.request(.get, "/a"), results, index) }
        bench.run("no call waits for another") { bench.requested.count == 40 }
        bench.server.release()
        bench.run { results.count == 40 }
    }

    @Test func cancelledLeaderIsReplacedByAFollower() throws {
        let bench = try Bench { _, _ in .init(200, Self.fresh) }
        bench.server.isHeld.store(true, ordering: .relaxed)
        let results = Results()
        let tasks = try (0..<5).map { try bench.start(Bench.request(.get, "/a"), results, $0) }
        bench.run { bench.requested.count == 1 }
        tasks[2].cancel()
        tasks[0].cancel()
        bench.run { bench.requested.count == 2 }
        bench.server.release()
        bench.run { results.count == 5 }
        #expect(bench.requested.count == 2)
        #expect(results.responses.count == 3)
    }

    @Test func failureReleasesAllFollowers() throws {
        let bench = try Bench { _, _ in .failing(.connect) }
        let results = try bench.startHeld(20)
        bench.run { bench.requested.count == 1 }
        bench.server.release()
        bench.run { results.count == 20 }
        #expect(bench.requested.count == 20)
    }

    // MARK: Streams and the disk

    private func stream(_ bench: Bench, _ target: String = "/a") throws -> (Response, String) {
        let text = Mutex("")
        var handlers = TaskHandlers { _, _ in }
        handlers.body = { _, part in text.withLock { $0 += String(buffer: part) } }
        let response = try bench.client.sendBlocking(Bench.request(.get, target), handlers: handlers)
        return (response, text.withLock { $0 })
    }

    @Test func streamIsStoredWhileItIsRead() throws {
        let bench = try Bench { _, _ in .init(200, Self.fresh, String(repeating: "abcdefgh", count: 20_000)) }
        let (first, text) = try stream(bench)
        #expect(first.source == .network && text.utf8.count == 160_000)
        let (second, again) = try stream(bench)
        #expect(second.source == .cache && again == text)
        #expect(try bench.get().body.readableBytes == 160_000)
        #expect(bench.requested.count == 1)
    }

    @Test func largeResponseIsServedFromDisk() throws {
        let folder = try TemporaryDirectory()
        let large = (0..<400_000).map { "\($0)" }.joined(separator: " ")
        let bench = try Bench(.init(disk: 100 << 20, folder: folder.file("cache"))) { _, _ in
            .init(200, Self.fresh, large)
        }
        let (first, text) = try stream(bench)
        #expect(first.source == .network && text == large)
        try bench.client.cache?.flush()
        #expect(bench.client.cache?.statistics.memoryEntries == 0)
        let (second, again) = try stream(bench)
        #expect(second.source == .cache && again == large)
        let third = try bench.get()
        #expect(third.source == .cache && String(buffer: third.body) == large)
        let part = try bench.get("/a", [("Range", "bytes=100-199")])
        #expect(part.status == 206 && String(buffer: part.body) == String(large.dropFirst(100).prefix(100)))
        #expect(bench.requested.count == 1)
    }

    @Test func diskEntryOutlivesTheClient() throws {
        let folder = try TemporaryDirectory()
        let settings = CacheStorage.Settings(disk: 10 << 20, folder: folder.file("cache"))
        let first = try Bench(settings) { _, _ in .init(200, Self.fresh) }
        _ = try first.get()
        first.client.close()
        let second = try Bench(settings) { _, _ in .failing(.connect) }
        let response = try second.get()
        #expect(response.source == .cache && String(buffer: response.body) == "content")
        #expect(second.requested.isEmpty)
    }

    @Test func ephemeralClientStoresNothingOnDisk() throws {
        let folder = try TemporaryDirectory()
        #expect(
            kind {
                _ = try Bench(.init(disk: 1 << 20, folder: folder.file("c")), { $0.isEphemeral = true }) { _, _ in
                    .init()
                }
            } == .invalidArgument)
    }

    // MARK: Manual access

    @Test func entriesAreInsertedLookedUpAndRemoved() throws {
        let bench = try Bench { _, _ in .init(200, Self.fresh, "server") }
        let request = Request(.get, "/a")
        #expect(try bench.client.cached(request) == nil)
        var headers = Headers()
        try headers.add("Cache-Control", "max-age=60")
        try bench.client.insert(headers: headers, body: ByteBuffer(string: "inserted"), for: request)
        #expect(try bench.client.cached(request).map { String(buffer: $0.body) } == "inserted")
        #expect(try bench.get().source == .cache)
        #expect(bench.requested.isEmpty)
        let cache = try #require(bench.client.cache)
        #expect(try cache.remove(url: RequestURL("http://api.test/a")) == 1)
        #expect(try bench.client.cached(request) == nil)
        for target in ["/v1/a", "/v1/b", "/v2/a"] { _ = try bench.get(target) }
        #expect(try cache.remove(prefix: "http://api.test/v1/") == 2)
        #expect(try cache.removeAll() == 1)
        try headers.set("Cache-Control", "no-store")
        #expect(
            kind { try bench.client.insert(headers: headers, body: ByteBuffer(), for: request) } == .invalidArgument)
    }

    @Test func requestWithABodyIsRejectedWithTheReason() throws {
        let bench = try Bench { _, _ in .init(200, Self.fresh, "server") }
        var request = Request(.get, "/a")
        request.body = .bytes(ByteBuffer(string: "b"))
        let looked = #expect(throws: NightjarError.self) { try bench.client.cached(request) }
        let rule = "looking up the cache failed: the request must be GET or HEAD without a body, got"
        #expect(looked?.kind == .invalidRequest && looked?.message == "\(rule) GET with a body")
        let posted = #expect(throws: NightjarError.self) { try bench.client.cached(Request(.post, "/a")) }
        #expect(posted?.message == "\(rule) POST")
        let inserted = #expect(throws: NightjarError.self) {
            try bench.client.insert(headers: Headers(), body: ByteBuffer(), for: request)
        }
        #expect(inserted?.message.hasSuffix("got GET with a body") == true)
    }

    @Test func bodyLimitAppliesToCachedResponses() throws {
        let bench = try Bench { _, _ in .init(200, Self.fresh, "0123456789") }
        _ = try bench.get()
        var request = try Bench.request(.get, "/a")
        request.maximumBody = 5
        #expect(kind { _ = try bench.client.sendBlocking(request) } == .tooLarge)
    }
}
