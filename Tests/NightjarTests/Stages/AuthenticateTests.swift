import Glibc
import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

@Suite struct AuthenticateTests {
    private static let base = "http://api.test/v1"

    /// A transport that acts as the API and the token server. It checks access tokens and records requests.
    private final class Server: HTTPTransport, @unchecked Sendable {
        struct State {
            var lines: [String] = []
            var refreshes = 0
            var valid = "a0"
            var refresh = "r0"
            var refusal: String?
            var failsRefresh = false
            /// The status of token responses, without a token.
            var failure: Int?
            var lifetime = 3600
            /// Rejects every request.
            var rejectsAll = false
        }
        let state = Mutex(State())
        /// Whether refresh responses are held back.
        let holdsRefresh: Bool
        private var held: [() -> Void] = []

        init(holdsRefresh: Bool = false) { self.holdsRefresh = holdsRefresh }

        func begin(
            _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
        ) -> any Exchange {
            let exchange = ScriptedExchange(ScriptedTransport([]))
            receiver.exchangeStarted(on: nil, isReused: true, stream: nil)
            let authorization = request.fields["Authorization"] ?? "-"
            state.withLock { $0.lines.append("\(request.method) \(request.url.path) \(authorization)") }
            guard request.url.path == "/v1/token" else {
                let isGood = state.withLock { !$0.rejectsAll && authorization == "Bearer \($0.valid)" }
                respond(receiver, isGood ? 200 : 401, "{}")
                return exchange
            }
            if holdsRefresh {
                held.append { [self] in refresh(request, receiver) }
            } else {
                refresh(request, receiver)
            }
            return exchange
        }

        private func refresh(_ request: PreparedRequest, _ receiver: any ExchangeReceiver) {
            guard case .bytes(let form) = request.body else { return }
            let text = String(buffer: form)
            enum Reply { case token(Int, lifetime: Int), refused(String), failed(Int), lost }
            let reply: Reply = state.withLock { state in
                if state.failsRefresh { return .lost }
                if let failure = state.failure { return .failed(failure) }
                if let refusal = state.refusal { return .refused(refusal) }
                guard text.contains("refresh_token=\(state.refresh)") else { return .refused("invalid_grant") }
                state.refreshes += 1
                (state.valid, state.refresh) = ("a\(state.refreshes)", "r\(state.refreshes)")
                return .token(state.refreshes, lifetime: state.lifetime)
            }
            switch reply {
            case .token(let number, let lifetime):
                respond(
                    receiver, 200,
                    #"{"access_token":"a\#(number)","refresh_token":"r\#(number)","token_type":"bearer","expires_in":\#(lifetime)}"#
                )
            case .refused(let code): respond(receiver, 400, #"{"error":"\#(code)"}"#)
            case .failed(let status): respond(receiver, status, "later", [("Retry-After", "0")])
            case .lost:
                receiver.exchangeFailed(NightjarError(.connectionLost, "gone", requestMayHaveBeenProcessed: true))
            }
        }

        private func respond(
            _ receiver: any ExchangeReceiver, _ status: Int, _ body: String, _ fields: [(String, String)] = []
        ) {
            var headers = Headers()
            for (name, value) in fields { try? headers.add(name, value) }
            receiver.exchangeReceived(
                head: ResponseHead(status: status, reason: "", headers: headers, contentLength: body.utf8.count))
            receiver.exchangeReceived(body: ByteBuffer(string: body))
            receiver.exchangeFinished(trailers: Headers())
        }

        func shutDown() {}

        var lines: [String] { state.withLock { $0.lines } }
    }

    private func client(
        _ server: Server, _ token: Token? = Token(access: "old", refresh: "r0"), store: (any TokenStore)? = nil,
        log: LogSink? = nil, _ configure: (inout TokenLogin) -> Void = { _ in }
    ) throws -> Client {
        var login = TokenLogin(.oauth2(OAuth2(tokenURL: "/token")), token: token, store: store)
        configure(&login)
        var configuration = Configuration()
        configuration.baseURL = AuthenticateTests.base
        configuration.auth = .login(login)
        configuration.retry.base = .zero
        configuration.log = log
        return try Client(configuration) { _ in server }
    }

    @Test func rejectedTokenIsReplacedOnceForAllCalls() async throws {
        let server = Server()
        let api = try client(server)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<1000 {
                group.addTask { try await api.send(Request(.get, "/articles/\(index)")).status }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(server.state.withLock { $0.refreshes } == 1)
        #expect(server.lines.filter { $0.hasPrefix("POST") } == ["POST /v1/token -"])
    }

    @Test func responseReportsTheTokenWait() async throws {
        let server = Server()
        let api = try client(server)
        let response = try await api.send(Request(.get, "/articles"))
        #expect(response.attempts == 2)
        #expect(response.decisions.map(\.name) == ["token_awaited", "replayed"])
        #expect(
            server.lines == ["GET /v1/articles Bearer old", "POST /v1/token -", "GET /v1/articles Bearer a1"])
        let next = try await api.send(Request(.get, "/articles"))
        #expect(next.attempts == 1 && next.decisions.isEmpty)
    }

    @Test func expiredTokenIsNotSent() async throws {
        let server = Server()
        let past = Timestamp(secondsSince1970: Int64(1_000_000_000))
        let api = try client(server, Token(access: "old", refresh: "r0", expiry: past))
        let response = try await api.send(Request(.get, "/articles"))
        #expect(response.attempts == 1)
        let reported = response.decisions.first?.description ?? ""
        #expect(reported.contains("or was about to expire; waited 0.") && reported.contains(" s for refresh 1"))
        #expect(server.lines == ["POST /v1/token -", "GET /v1/articles Bearer a1"])
    }

    @Test func second401EndsTheCall() async throws {
        let server = Server()
        server.state.withLock { $0.rejectsAll = true }
        let api = try client(server)
        let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.get, "/articles")) }
        #expect(error?.kind == .unauthorized && error?.attempts == 2 && error?.status == 401)
        #expect(server.lines.count == 3)
    }

    /// The window is long enough for a slow machine. TokenRefreshTests covers its length.
    @Test func atMostFiveRefreshesInAWindow() async throws {
        let server = Server()
        server.state.withLock { $0.rejectsAll = true }
        let api = try client(server) { $0.refresh.refreshWindow = .seconds(3600) }
        var last: NightjarError?
        for _ in 0..<12 {
            do throws(NightjarError) { _ = try await api.send(Request(.get, "/articles")) } catch { last = error }
        }
        #expect(server.state.withLock { $0.refreshes } == 5)
        #expect(last?.message.contains("too many token refreshes") == true)
    }

    @Test func endedLoginIsReportedOnceAndClearsTheStore() async throws {
        let server = Server()
        server.state.withLock { $0.refusal = "invalid_grant" }
        let reported = Mutex(0)
        let store = MemoryTokenStore()
        try store.put(StoredLogin(token: Token(access: "old", refresh: "r0"), generation: 1))
        let api = try client(server, nil, store: store) { login in
            login.onLoginRequired = LoginHook { reported.withLock { $0 += 1 } }
        }
        for _ in 0..<3 {
            let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.get, "/articles")) }
            #expect(error?.kind == .unauthorized)
        }
        #expect(reported.withLock { $0 } == 1)
        #expect(try store.load()?.ending == .refused)
        #expect(server.lines.count == 2)

        server.state.withLock { ($0.refusal, $0.valid) = (nil, "fresh") }
        try api.setToken(Token(access: "fresh", refresh: "r0"))
        #expect(try await api.send(Request(.get, "/articles")).status == 200)
        #expect(try store.load()?.token?.access == "fresh")
        try api.logOutBlocking()
        let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.get, "/articles")) }
        #expect(error?.kind == .unauthorized)
        #expect(try store.load()?.ending == .loggedOut)
    }

    @Test func networkFailureKeepsTheLogin() async throws {
        let server = Server()
        server.state.withLock { $0.failsRefresh = true }
        let store = MemoryTokenStore()
        try store.put(StoredLogin(token: Token(access: "old", refresh: "r0"), generation: 1))
        let api = try client(server, nil, store: store)
        let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.get, "/articles")) }
        #expect(error?.kind == .connectionLost)
        #expect(error?.message.contains("the login is kept") == true)
        // The token request may have reached the server, so the pending exchange and its key are kept.
        #expect(try store.load()?.token?.refresh == "r0")
        #expect(try store.load()?.pending != nil)
        server.state.withLock { $0.failsRefresh = false }
        #expect(try await api.send(Request(.get, "/articles")).status == 200)
        #expect(try store.load()?.pending == nil)
        #expect(try store.load()?.token?.refresh == "r1")
    }

    @Test(arguments: [(429, ErrorKind.rateLimited), (500, .server), (503, .server)])
    func failureOfTheTokenServerIsReportedAsSuch(status: Int, kind: ErrorKind) async throws {
        let server = Server()
        server.state.withLock { $0.failure = status }
        let api = try client(server)
        let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.get, "/articles")) }
        #expect(error?.kind == kind && error?.isRetryable == true && error?.retryAfter == .zero)
        #expect(error?.message.contains("the login is kept") == true)
        #expect(error?.message.contains("POST returned \(status)") == true)
        server.state.withLock { $0.failure = nil }
        #expect(try await api.send(Request(.get, "/articles")).status == 200)
    }

    @Test func tokenRotatedByAnotherClientIsUsed() async throws {
        let server = Server()
        let store = MemoryTokenStore()
        try store.put(StoredLogin(token: Token(access: "a0", refresh: "r0"), generation: 1))
        let (one, other) = (try client(server, nil, store: store), try client(server, nil, store: store))
        #expect(try await one.send(Request(.get, "/articles")).status == 200)
        #expect(try await other.send(Request(.get, "/articles")).status == 200)
        server.state.withLock { $0.valid = "x" }
        #expect(try await one.send(Request(.get, "/articles")).status == 200)
        #expect(try await other.send(Request(.get, "/articles")).status == 200)
        #expect(server.state.withLock { $0.refreshes } == 1)
    }

    /// Another process logs in again and stores a new token.
    @Test func rejectedTokenWithoutRefreshIsLookedUpInTheStore() async throws {
        let server = Server()
        let reported = Mutex(0)
        let store = MemoryTokenStore()
        try store.put(StoredLogin(token: Token(access: "a0"), generation: 1))
        let api = try client(server, nil, store: store) { login in
            login.onLoginRequired = LoginHook { reported.withLock { $0 += 1 } }
        }
        #expect(try await api.send(Request(.get, "/articles")).status == 200)
        server.state.withLock { $0.valid = "b0" }
        try store.put(StoredLogin(token: Token(access: "b0"), generation: 2))
        #expect(try await api.send(Request(.get, "/articles")).status == 200)
        #expect(reported.withLock { $0 } == 0)
        #expect(server.lines.map { $0.suffix(9) } == ["Bearer a0", "Bearer a0", "Bearer b0"])
        // No other process has logged in.
        server.state.withLock { $0.valid = "c0" }
        for _ in 0..<2 {
            let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.get, "/articles")) }
            #expect(error?.message == "there is no login, or the server has ended the login; log in again")
        }
        #expect(reported.withLock { $0 } == 1)
        #expect(server.lines.count == 4)
        #expect(try store.load()?.token?.access == "b0")
    }

    /// The client does not refresh the token for each call, and logs one warning.
    @Test func tokenWithoutLifetimeIsUsedUntilItIsRejected() async throws {
        let server = Server()
        server.state.withLock { $0.lifetime = 0 }
        let lines = Mutex<[String]>([])
        let log = LogSink(level: .warning) { line in lines.withLock { $0.append(line.message) } }
        let api = try client(server, log: log)
        for _ in 0..<12 { #expect(try await api.send(Request(.get, "/articles")).status == 200) }
        #expect(server.state.withLock { $0.refreshes } == 1)
        #expect(
            lines.withLock { $0 } == [
                "the server reported that its new token has already expired; the token is used until the server "
                    + "rejects it"
            ])
        server.state.withLock { $0.valid = "other" }
        #expect(try await api.send(Request(.get, "/articles")).status == 200)
        #expect(server.state.withLock { $0.refreshes } == 2)
    }

    @Test func credentialsAreSentOnlyToTheirOrigin() async throws {
        let server = Server()
        let api = try client(server, Token(access: "a0", refresh: "r0"))
        _ = try? await api.send(Request(.get, "http://elsewhere.test/v1/articles"))
        var without = Request(.get, "/articles")
        without.usesAuth = false
        _ = try? await api.send(without)
        var own = Request(.get, "/articles")
        try own.headers.set("Authorization", "Bearer mine")
        _ = try? await api.send(own)
        #expect(
            server.lines == [
                "GET /v1/articles -", "GET /v1/articles -", "GET /v1/articles Bearer mine",
            ])
    }

    @Test func programProvidesAToken() throws {
        let server = Server()
        let requested = Mutex<[Bool]>([])
        let provider = TokenProvider(runsOnLoop: false) { tokenRequest in
            requested.withLock { $0.append(tokenRequest.wasRejected) }
            tokenRequest.respond(.success(Token(access: requested.withLock { $0.count } == 1 ? "stale" : "a0")))
        }
        var configuration = Configuration()
        configuration.baseURL = AuthenticateTests.base
        configuration.auth = .login(TokenLogin(.provider(provider)))
        let api = try Client(configuration) { _ in server }
        #expect(try api.sendBlocking(Request(.get, "/articles")).status == 200)
        #expect(requested.withLock { $0 } == [false, true])
        #expect(
            server.lines == ["GET /v1/articles Bearer stale", "GET /v1/articles Bearer a0"])
    }

    @Test func staticCredentialsAreSentToTheirOrigin() async throws {
        for (auth, field) in [
            (Authentication.bearer("t0"), "Bearer t0"),
            (.basic(user: "Aladdin", password: "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ] {
            let server = Server()
            var configuration = Configuration()
            configuration.baseURL = AuthenticateTests.base
            configuration.auth = auth
            configuration.retry.maximumAttempts = 1
            let api = try Client(configuration) { _ in server }
            _ = try? await api.send(Request(.get, "/articles"))
            _ = try? await api.send(Request(.get, "http://elsewhere.test/v1/articles"))
            var without = Request(.get, "/articles")
            without.usesAuth = false
            _ = try? await api.send(without)
            #expect(server.lines == ["GET /v1/articles \(field)", "GET /v1/articles -", "GET /v1/articles -"])
        }
    }

    @Test func credentialsRequireABaseURL() {
        var configuration = Configuration()
        configuration.auth = .bearer("t0")
        let error = #expect(throws: NightjarError.self) { try Client(configuration) }
        #expect(error?.kind == .invalidArgument)
        configuration.baseURL = "http://user:password@api.test"
        let twice = #expect(throws: NightjarError.self) { try Client(configuration) }
        #expect(twice?.message.contains("set twice") == true)
    }

    @Test(arguments: ["file", "sqlite"]) func ephemeralClientRejectsATokenStoreInAFile(place: String) throws {
        let folder = try TemporaryDirectory()
        var configuration = Configuration()
        try configuration.merge(
            json: """
                {"base_url": "http://api.test", "ephemeral": true, "auth": {"type": "oauth2", "token_url": "/token",
                 "refresh_token": "r", "store": {"\(place)": "\(folder.file("tokens"))"}}}
                """)
        let error = #expect(throws: NightjarError.self) { try Client(configuration) }
        #expect(error?.kind == .invalidArgument && error?.message.contains("an ephemeral client") == true)
        #expect(access(folder.file("tokens"), F_OK) != 0)
        configuration.isEphemeral = false
        try Client(configuration).close()
    }

    @Test func secretsAreMasked() {
        var login = TokenLogin(.oauth2(OAuth2(tokenURL: "/token")), token: Token(access: "s3cret", refresh: "s3cret"))
        login.store = MemoryTokenStore()
        for auth in [Authentication.bearer("s3cret"), .basic(user: "u", password: "s3cret"), .login(login)] {
            var text = "\(auth) \(String(reflecting: auth))"
            dump(auth, to: &text)
            #expect(!text.contains("s3cret"))
        }
    }
}

extension TokenStore {
    /// Replaces the stored login.
    func put(_ login: StoredLogin) throws {
        let isSaved = try save(login, replacing: load()?.version)
        guard isSaved else { throw NightjarError(.storage, "another client saved a login first") }
    }
}
