import Glibc
import NIOCore
import Nightjar
import NightjarAPI
import NightjarDemo
import NightjarHTTP
import NightjarStorage
import NightjarTestSupport
import Synchronization
import Testing

/// Logins at the demo API, checked with the statistics of the server.
@Suite struct LoginTests {
    /// A demo server that runs until this object is released.
    fileprivate final class Demo: Sendable {
        let server = DemoServer()
        let port: Int

        init() throws { port = try server.start() }

        deinit { server.stop() }

        func client(
            _ auth: String, _ configure: (inout Configuration) throws -> Void = { _ in }
        ) throws -> Client {
            var configuration = Configuration.loopback
            configuration.baseURL = "http://127.0.0.1:\(port)/v1"
            configuration.retry = RetrySettings()
            try configuration.merge(json: #"{"auth": \#(auth)}"#)
            try configure(&configuration)
            return try Client(configuration)
        }

        /// Returns a client without credentials.
        func clientWithoutCredentials() throws -> Client { try client("false") }

        /// Returns a client that is used like a browser. Without TLS, browsers use HTTP/1.1, as does the login's listener.
        func browser() throws -> Client { try client("false") { $0.transport.versions = [.http1_1] } }

        func control(_ json: String) throws {
            var request = Request(.post, "http://127.0.0.1:\(port)/__control", body: json)
            try request.headers.set("Content-Type", "application/json")
            _ = try clientWithoutCredentials().sendBlocking(request)
        }

        var auth: DemoStatistics.Auth { server.statistics.auth }
    }

    private let password = #"{"email":"ada@example.org","password":"moonlight"}"#
    private var login: String {
        #"{"type":"login","url":"/auth/login","json":\#(password),"refresh":{"url":"/auth/refresh"}}"#
    }

    private func status(_ api: Client, _ target: String) throws -> Int {
        try api.sendBlocking(Request(.get, target)).status
    }

    @Test func customLoginRequestObtainsAToken() throws {
        let demo = try Demo()
        let api = try demo.client(login)
        #expect(try status(api, "/me") == 200)
        #expect(try status(api, "/me") == 200)
        #expect(demo.auth.logins == 1)
        try demo.control(#"{"expire_access_tokens": true}"#)
        #expect(try status(api, "/me") == 200)
        #expect(demo.auth.logins == 1 && demo.auth.refreshes == 1)
    }

    @Test func thousandCallsWithAnExpiredTokenShareOneRefresh() async throws {
        let demo = try Demo()
        let api = try demo.client(login) { $0.timeouts = .long }
        #expect(try await api.send(Request(.get, "/me")).status == 200)
        try demo.control(#"{"expire_access_tokens": true}"#)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<1000 { group.addTask { try await api.send(Request(.get, "/me")).status } }
            for try await status in group { #expect(status == 200) }
        }
        #expect(demo.auth.refreshes == 1 && demo.auth.refreshReuses == 0)
    }

    @Test func revokedTokenFamilyCausesANewLogin() throws {
        let demo = try Demo()
        let api = try demo.client(login)
        #expect(try status(api, "/me") == 200)
        try demo.control(#"{"reset": true}"#)
        #expect(try status(api, "/me") == 200)
    }

    @Test func wrongCredentialsAreAnUnauthorizedError() throws {
        let demo = try Demo()
        let reported = Mutex(0)
        let api = try demo.client(
            #"{"type":"login","url":"/auth/login","json":{"email":"ada@example.org","password":"x"}}"#
        ) {
            guard case .login(var login) = $0.auth else { return }
            login.onLoginRequired = LoginHook { reported.withLock { $0 += 1 } }
            $0.auth = .login(login)
        }
        for _ in 0..<2 {
            let error = #expect(throws: NightjarError.self) { try status(api, "/me") }
            #expect(error?.kind == .unauthorized)
        }
        #expect(reported.withLock { $0 } == 1)
        #expect(demo.auth.logins == 0)
    }

    @Test(arguments: ["basic", "post"]) func clientCredentialsObtainAToken(way: String) throws {
        let demo = try Demo()
        let api = try demo.client(
            #"{"type":"oauth2","token_url":"/oauth/token","grant":"client_credentials","client_id":"demo","client_secret":"demo-secret","client_auth":"\#(way)"}"#
        )
        #expect(try status(api, "/me") == 200)
        try demo.control(#"{"expire_access_tokens": true}"#)
        #expect(try status(api, "/me") == 200)
    }

    @Test func deviceCodeLoginSucceeds() throws {
        let demo = try Demo()
        let api = try demo.client(
            #"{"type":"oauth2","token_url":"/oauth/token","device_url":"/oauth/device?interval=0.05","grant":"device_code","client_id":"demo"}"#
        )
        let rejected = #expect(throws: NightjarError.self) { try status(api, "/me") }
        #expect(rejected?.kind == .unauthorized)
        let shown = Mutex<String?>(nil)
        try api.logInBlocking { prompt in
            guard case .device(let code, _, _) = prompt else { return }
            shown.withLock { $0 = code }
            _ = try? demo.decide(code, true)
        }
        #expect(shown.withLock { $0 } != nil)
        #expect(try status(api, "/me") == 200)
        let denied = #expect(throws: NightjarError.self) {
            try api.logInBlocking { prompt in
                if case .device(let code, _, _) = prompt { _ = try? demo.decide(code, false) }
            }
        }
        #expect(denied?.message == "the login failed: the user denied access")
    }

    @Test func loginIsAnAsynchronousFunction() async throws {
        let demo = try Demo()
        let api = try demo.client(
            #"{"type":"oauth2","token_url":"/oauth/token","device_url":"/oauth/device?interval=0.05","grant":"device_code","client_id":"demo"}"#
        )
        try await api.logIn { prompt in
            guard case .device(let code, _, _) = prompt else { return }
            _ = try? demo.decide(code, true)
        }
        #expect(try await api.send(Request(.get, "/me")).status == 200)
        try await api.logOut()
        let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.get, "/me")) }
        #expect(error?.kind == .unauthorized)
        // The user does not decide. Cancelling the task ends the login.
        let prompted = Latch()
        let login = Task { try await api.logIn { _ in prompted.open() } }
        try await eventually("the user is asked", within: longTimeout) { prompted.isOpen }
        login.cancel()
        let cancelled = await #expect(throws: NightjarError.self) { try await login.value }
        #expect(cancelled?.kind == .cancelled)
    }

    @Test func browserLoginSucceeds() throws {
        let demo = try Demo()
        let directory = try TemporaryDirectory()
        let auth =
            #"{"type":"oauth2","token_url":"/oauth/token","authorize_url":"/oauth/authorize","grant":"authorization_code","client_id":"demo","store":"file:\#(directory.path)/login"}"#
        let api = try demo.client(auth)
        let browser = Mutex<Int?>(nil)
        try api.logInBlocking { prompt in
            guard case .browser(let url) = prompt else { return }
            // The final status is that of the callback page, to which the authorization server redirects.
            let status = try? demo.browser().sendBlocking(Request(.get, url)).status
            browser.withLock { $0 = status }
        }
        #expect(browser.withLock { $0 } == 200)
        #expect(try status(api, "/me") == 200)
        // Another client finds the stored login.
        #expect(try status(demo.client(auth), "/me") == 200)
        #expect(demo.auth.logins == 1)
        try api.logOutBlocking()
        let error = #expect(throws: NightjarError.self) { try status(api, "/me") }
        #expect(error?.kind == .unauthorized)
        api.close()
        let other = #expect(throws: NightjarError.self) { try status(demo.client(auth), "/me") }
        #expect(other?.kind == .unauthorized)
    }

    /// Other programs on this machine may connect to the login's listener and send nothing.
    @Test func idleConnectionsDoNotBlockABrowser() throws {
        let demo = try Demo()
        let api = try demo.client(
            #"{"type":"oauth2","token_url":"/oauth/token","authorize_url":"/oauth/authorize","grant":"authorization_code","client_id":"demo"}"#
        )
        let idle = Mutex<[Int32]>([])
        defer { for descriptor in idle.withLock({ $0 }) { close(descriptor) } }
        let began = ContinuousClock.now
        try api.logInBlocking { prompt in
            guard case .browser(let url) = prompt,
                let place = url.range(of: "127.0.0.1%3A", after: "redirect_uri="),
                let port = UInt16(url[place...].prefix { $0.isNumber })
            else { return }
            for _ in 0..<40 { idle.withLock { $0.append(connectToThisMachine(port)) } }
            _ = try? demo.browser().sendBlocking(Request(.get, url))
        }
        #expect(ContinuousClock.now - began < .seconds(8))
        #expect(try status(api, "/me") == 200)
    }

    /// The scope is sent in the authorization request (RFC 6749 section 4.1.1) and in the token request of the client
    /// credentials grant (section 4.4.2).
    @Test func scopesOfTheDescriptionAreRequested() throws {
        let demo = try Demo()
        var catalog = Catalog()
        for flow in [SecurityScheme.Flow.authorizationCode, .clientCredentials] {
            catalog.security.append(
                SecurityScheme(
                    "oauth",
                    .oauth2(
                        flow: flow, authorizationURL: "http://127.0.0.1:\(demo.port)/v1/oauth/authorize",
                        tokenURL: "http://127.0.0.1:\(demo.port)/v1/oauth/token", scopes: [])))
        }
        var me = Operation("me", .get, "/me")
        me.security = [SecurityRequirement([.init("oauth", scopes: ["read", "write"])])]
        catalog.set(me)
        func client(_ auth: String) throws -> Client {
            var configuration = Configuration.loopback
            configuration.baseURL = "http://127.0.0.1:\(demo.port)/v1"
            configuration.catalog = catalog
            try configuration.merge(json: #"{"auth": \#(auth)}"#)
            return try Client(configuration)
        }
        let page = Mutex("")
        let person = try client(#"{"client_id":"demo"}"#)
        try person.logInBlocking { prompt in
            guard case .browser(let url) = prompt else { return }
            page.withLock { $0 = url }
            _ = try? demo.browser().sendBlocking(Request(.get, url))
        }
        #expect(page.withLock { $0 }.contains("&scope=read+write&"))
        #expect(try status(person, "/me") == 200)
        #expect(demo.auth.scope == "")  // the token request with a code has no scope (section 4.1.3)
        let itself = try client(
            #"{"client_id":"demo","client_secret":"demo-secret","grant":"client_credentials"}"#)
        #expect(try status(itself, "/me") == 200)
        #expect(demo.auth.scope == "read write")
    }

    /// The client has two logins and an API key. Both tokens expire before 200 concurrent calls.
    @Test func eachOfSeveralLoginsIsRefreshedOnce() async throws {
        let demo = try Demo()
        let api = try demo.client(
            #"{"schemes":{"one":\#(login),"two":\#(login),"key":{"type":"api_key","key":"demo-key"}}}"#)
        func request(_ path: String, _ scheme: String) -> Request {
            var request = Request(.get, path)
            request.security = [SecurityRequirement(scheme)]
            return request
        }
        for scheme in ["one", "two"] { #expect(try await api.send(request("/me", scheme)).status == 200) }
        #expect(demo.auth.logins == 2)
        try demo.control(#"{"expire_access_tokens": true}"#)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<200 {
                let request = number % 2 == 0 ? request("/me", "one") : request("/me", "two")
                group.addTask { try await api.send(request).status }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(demo.auth.refreshes == 2 && demo.auth.logins == 2 && demo.auth.refreshReuses == 0)
        #expect(try await api.send(request("/api-key", "key")).status == 200)
        #expect(try await api.send(Request(.get, "http://127.0.0.1:\(demo.port)/echo")).status == 200)
    }

    @Test func loginCanBeCancelled() throws {
        let demo = try Demo()
        for grant in ["device_code", "authorization_code"] {
            let api = try demo.client(
                #"{"type":"oauth2","token_url":"/oauth/token","authorize_url":"/oauth/authorize","device_url":"/oauth/device","grant":"\#(grant)","client_id":"demo"}"#
            )
            let queue = CompletionQueue()
            let ended = Mutex<NightjarError?>(nil)
            let task = Mutex<ClientOperation?>(nil)
            let started = try api.logIn(on: queue, prompt: { _ in task.withLock { $0 }?.cancel() }) { result in
                if case .failure(let error) = result { ended.withLock { $0 = error } }
            }
            task.withLock { $0 = started }
            for _ in 0..<400 where ended.withLock({ $0 }) == nil { queue.poll(timeout: .milliseconds(10)) }
            #expect(ended.withLock { $0 }?.kind == .cancelled)
            api.close()
        }
    }

    @Test(arguments: ["SHA-256", "MD5", "SHA-256-sess", "both"]) func digestChallengeIsReusedForLaterRequests(
        algorithm: String
    )
        throws
    {
        let demo = try Demo()
        let api = try demo.client(#"{"type":"digest","user":"demo","password":"secret"}"#)
        // Servers disagree on the -sess key after a new nonce, so -sess algorithms are tested without `next`.
        let target = "/digest?algorithm=\(algorithm)" + (algorithm.hasSuffix("-sess") ? "" : "&next=1")
        let first = try api.sendBlocking(Request(.get, target))
        #expect(first.status == 200 && first.attempts == 2)
        #expect(first.decisions.map(\.name) == ["challenged"])
        for _ in 0..<5 {
            let next = try api.sendBlocking(Request(.get, target))
            #expect(next.status == 200 && next.attempts == 1)
        }
        let wrong = try demo.client(#"{"type":"digest","user":"demo","password":"wrong"}"#)
        let error = #expect(throws: NightjarError.self) { try status(wrong, "/digest") }
        #expect(error?.kind == .unauthorized && error?.attempts == 2)
        let stale = try demo.client(#"{"type":"digest","user":"demo","password":"secret"}"#)
        for _ in 0..<5 { #expect(try status(stale, "/digest?uses=2") == 200) }
    }

    @Test func basicCredentialsAndKeysAreSentWithoutAChallenge() throws {
        let demo = try Demo()
        let basic = try demo.client(#"{"type":"basic","user":"demo","password":"secret"}"#)
        #expect(try basic.sendBlocking(Request(.get, "/basic")).attempts == 1)
        let header = try demo.client(#"{"type":"api_key","key":"demo-key"}"#)
        #expect(try status(header, "/api-key") == 200)
        let query = try demo.client(#"{"type":"api_key","key":"demo-key","query":"api_key"}"#)
        let response = try query.sendBlocking(Request(.get, "/api-key?page=1"))
        #expect(response.status == 200)
        #expect(!response.url.contains("demo-key") && response.curl()?.contains("demo-key") == false)
        var without = Request(.get, "/api-key")
        without.usesAuth = false
        let error = #expect(throws: NightjarError.self) { try query.sendBlocking(without) }
        #expect(error?.kind == .unauthorized)
    }

    /// The timeout of a call does not cancel a refresh, and closing the client waits until the new token is stored.
    @Test func closingWaitsForARefresh() throws {
        let demo = try Demo()
        let directory = try TemporaryDirectory()
        let (access, refresh) = try demo.tokens(password)
        try demo.control(#"{"expire_access_tokens": true}"#)
        let store = FileTokenStore(path: "\(directory.path)/login")
        let api = try demo.client(
            #"{"type":"oauth2","token_url":"/auth/refresh?delay=0.5","access_token":"\#(access)","refresh_token":"\#(refresh)","store":"file:\#(directory.path)/login"}"#
        )
        var hasty = Request(.get, "/me")
        hasty.timeouts.total = .milliseconds(200)
        let error = #expect(throws: NightjarError.self) { try api.sendBlocking(hasty) }
        #expect(error?.kind == .timeout)
        api.close()
        #expect(demo.auth.refreshes == 1)
        let kept = try #require(try store.load())
        #expect(kept.pending == nil && kept.token?.access != access)
    }
}

extension LoginTests.Demo {
    fileprivate func decide(_ code: String, _ allow: Bool) throws -> Int {
        var request = Request(.post, "/oauth/device/decide", body: #"{"user_code":"\#(code)","allow":\#(allow)}"#)
        try request.headers.set("Content-Type", "application/json")
        return try clientWithoutCredentials().sendBlocking(request).status
    }

    fileprivate func tokens(_ login: String) throws -> (access: String, refresh: String) {
        var request = Request(.post, "/auth/login", body: login)
        try request.headers.set("Content-Type", "application/json")
        let json = try JSONValue(parsing: String(buffer: try clientWithoutCredentials().sendBlocking(request).body))
        guard case .string(let access)? = json["access_token"], case .string(let refresh)? = json["refresh_token"]
        else { throw NightjarError(.decoding, "no tokens") }
        return (access, refresh)
    }
}

extension LoginTests {
    @Test func loginOfAnotherClientIsLoadedFromTheStore() async throws {
        let demo = try Demo()
        let directory = try TemporaryDirectory()
        let auth = #"{"type":"oauth2","token_url":"/auth/refresh","store":"file:\#(directory.path)/login"}"#
        let (one, other) = (try demo.client(auth), try demo.client(auth))
        let error = await #expect(throws: NightjarError.self) { try await one.send(Request(.get, "/me")) }
        #expect(error?.kind == .unauthorized)
        let (access, refresh) = try demo.tokens(#"{"email":"ada@example.org","password":"moonlight"}"#)
        try other.setToken(Token(access: access, refresh: refresh))
        #expect(try await other.send(Request(.get, "/me")).status == 200)
        var status: Int?
        for _ in 0..<40 where status == nil {
            status = try? await one.send(Request(.get, "/me")).status
            if status == nil { try await Task.sleep(for: .milliseconds(50)) }
        }
        #expect(status == 200)
    }
}

extension LoginTests {
    /// Observers are notified of login calls, but without the bodies.
    @Test func observersSeeNoTokens() throws {
        let demo = try Demo()
        let seen = Mutex("")
        let observer = CallObserver { event in
            guard case .exchanged(let report) = event else { return }
            var writer = HARWriter()
            let entry = String(buffer: writer.entry(HAREntry(report)))
            seen.withLock { $0 += entry + (report.body.map { String(buffer: $0) } ?? "") }
        }
        let api = try demo.client(login) { $0.observers = [observer] }
        #expect(try status(api, "/me") == 200)
        let text = seen.withLock { $0 }
        #expect(text.contains("/v1/auth/login") && text.contains("/v1/me"))
        #expect(!text.contains("moonlight") && !text.contains("_token"))
    }
}

private func connectToThisMachine(_ port: UInt16) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    _ = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    return descriptor
}

extension String {
    /// Returns the index after the first `text` that follows the first `start`.
    fileprivate func range(of text: String, after start: String) -> Index? {
        guard let from = firstRange(of: start), let found = self[from.upperBound...].firstRange(of: text) else {
            return nil
        }
        return found.upperBound
    }
}
