import NIOCore
import NightjarAPI
import NightjarHTTP
import NightjarStorage
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

/// The credentials that a server receives from a client with several security schemes.
@Suite struct SchemeTests {
    private let done: [ScriptedTransport.Step] = [.head(200), .end]

    private func make(
        _ transport: ScriptedTransport, _ schemes: ExactDictionary<Authentication>,
        _ configure: (inout Configuration) throws -> Void = { _ in }
    ) throws -> Client {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test/v1"
        configuration.retry.maximumAttempts = 1
        configuration.auth = .schemes(schemes)
        try configure(&configuration)
        return try Client(configuration) { _ in transport }
    }

    private func transport(_ count: Int) -> ScriptedTransport {
        ScriptedTransport(Array(repeating: done, count: count))
    }

    private func operation(_ alternatives: [SecurityRequirement]?, _ path: String = "/a") -> NightjarAPI.Operation {
        var operation = Operation("read", .get, path)
        operation.security = alternatives
        operation.requiresAuth = alternatives.flatMap(SecurityRequirement.requiresAuth)
        return operation
    }

    private func send(_ api: Client, _ alternatives: [SecurityRequirement]?, _ path: String = "/a") throws {
        _ = try api.sendBlocking(Endpoint<NightjarHTTP.Response>(operation(alternatives, path)))
    }

    /// The target and credentials of each request.
    private func seen(_ transport: ScriptedTransport) -> [String] {
        transport.log.withLock { log in
            log.heads.map { head in
                let lines = head.split(separator: "\r\n")
                let fields = lines.dropFirst().filter { line in
                    ["authorization:", "x-key:", "cookie:"].contains { line.lowercased().hasPrefix($0) }
                }
                return ([lines[0].split(separator: " ")[1]] + fields).joined(separator: " | ")
            }
        }
    }

    private func all() throws -> ExactDictionary<Authentication> {
        [
            "token": .bearer("t"), "user": .basic(user: "u", password: "p"),
            "key": .apiKey(try APIKey("k", in: .header("X-Key"))),
            "inQuery": .apiKey(try APIKey("q", in: .query("api"))),
            "inCookie": .apiKey(try APIKey("c", in: .cookie("sid"))),
        ]
    }

    private func message(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "sent"
        } catch {
            return (error as? NightjarError)?.message ?? "\(error)"
        }
    }

    @Test func endpointReceivesItsCredentials() throws {
        let transport = transport(6)
        let api = try make(transport, try all())
        for name in ["token", "user", "key", "inQuery", "inCookie"] { try send(api, [SecurityRequirement(name)]) }
        try send(api, [SecurityRequirement("token", "key", "inQuery", "inCookie")])
        #expect(
            seen(transport)
                == [
                    "/v1/a | Authorization: Bearer t", "/v1/a | Authorization: Basic dTpw", "/v1/a | X-Key: k",
                    "/v1/a?api=q", "/v1/a | Cookie: sid=c",
                    "/v1/a?api=q | Authorization: Bearer t | X-Key: k | Cookie: sid=c",
                ].map { $0 })
    }

    @Test func firstCompleteSecurityRequirementIsUsed() throws {
        let transport = transport(3)
        let api = try make(transport, try all())
        try send(
            api, [SecurityRequirement("other"), SecurityRequirement("key", "other"), SecurityRequirement("token")])
        try send(api, [SecurityRequirement("token", "user"), SecurityRequirement("key")])
        // Configured credentials are sent, although the operation also allows anonymous requests.
        try send(api, [SecurityRequirement(), SecurityRequirement("key")])
        #expect(
            seen(transport) == ["/v1/a | Authorization: Bearer t", "/v1/a | X-Key: k", "/v1/a | X-Key: k"])
    }

    @Test func requestWithoutSchemesHasNoCredentials() throws {
        let transport = transport(4)
        let api = try make(transport, try all())
        _ = try api.sendBlocking(Request(.get, "/a"))
        try send(api, nil)
        try send(api, [])
        try send(api, [SecurityRequirement(), SecurityRequirement("other")])
        #expect(seen(transport) == ["/v1/a", "/v1/a", "/v1/a", "/v1/a"])
    }

    @Test func requestWithoutConfiguredCredentialsFails() throws {
        let transport = transport(1)
        let api = try make(transport, ["key": .apiKey(try APIKey("k", in: .header("X-Key"))), "token": .bearer("t")])
        #expect(
            message { try send(api, [SecurityRequirement("oauth", "key"), SecurityRequirement("user")]) }
                == #"endpoint "read": authentication is required by "oauth" and "key", or by "user", and the "#
                + #"client has credentials "#
                + #"for "key", "token"; set the required credentials in the option auth.schemes"#)
        let both = try make(transport, try all())
        #expect(
            message { try send(both, [SecurityRequirement("token", "user")]) }
                == #"endpoint "read": authentication is required by "token" and "user", but more than one of "#
                + #"these schemes uses the header "#
                + #""Authorization", which a request can have only once"#)
        var request = Request(.get, "/a")
        request.security = [SecurityRequirement("oauth")]
        #expect(
            message { _ = try api.sendBlocking(request) }
                == #"authentication is required by "oauth", and the client has credentials for "key", "token"; set "#
                + "the required credentials in the option auth.schemes")
        var unnamed = operation(nil)
        unnamed.requiresAuth = true
        #expect(
            message { _ = try api.sendBlocking(Endpoint<NightjarHTTP.Response>(unnamed)) }
                == #"endpoint "read" requires authentication but names no security scheme; name one of the "#
                + "client's schemes in the endpoint's security or in the option auth of the call")
        #expect(seen(transport) == [])
        // The request's own credentials are sufficient.
        try request.headers.set("Authorization", "Bearer own")
        _ = try api.sendBlocking(request)
        #expect(seen(transport) == ["/v1/a | Authorization: Bearer own"])
    }

    @Test func requestMayNameItsSchemes() throws {
        let transport = transport(3)
        let api = try make(transport, try all())
        var request = Request(.get, "/a")
        try request.merge(json: #"{"auth": "key"}"#)
        _ = try api.sendBlocking(request)
        try request.merge(json: #"{"auth": ["token", "inQuery"]}"#)
        _ = try api.sendBlocking(request)
        var endpoint = Endpoint<NightjarHTTP.Response>(operation([SecurityRequirement("user")]))
        endpoint.request.schemes = ["key"]
        _ = try api.sendBlocking(endpoint)
        #expect(
            seen(transport) == ["/v1/a | X-Key: k", "/v1/a?api=q | Authorization: Bearer t", "/v1/a | X-Key: k"])
        request.schemes = ["kye"]
        #expect(
            message { _ = try api.sendBlocking(request) }
                == #"the client has no credentials for the scheme "kye"; did you mean "key"?"#)
        request.schemes = ["token", "user"]
        #expect(message { _ = try api.sendBlocking(request) }.contains("which a request can have only once"))
        let single = try client(transport) { $0.auth = .bearer("t") }
        request.schemes = ["key"]
        #expect(
            message { _ = try single.sendBlocking(request) }
                == #"the request names the scheme "key", but the client's credentials have no scheme names; set "#
                + "the credentials in the option auth.schemes"
        )
        #expect(message { try request.merge(json: #"{"auth": 1}"#) }.contains("a security scheme name or"))
    }

    @Test func credentialsAreSentOnlyToTheBaseOrigin() throws {
        let away: [ScriptedTransport.Step] = [.head(302, [("Location", "http://other.test/b")]), .end]
        let transport = ScriptedTransport([done, away, done])
        let api = try make(transport, try all())
        let every = [SecurityRequirement("token", "key", "inQuery", "inCookie")]
        try send(api, every, "http://other.test/a")
        try send(api, every)
        #expect(
            seen(transport) == [
                "/a", "/v1/a?api=q | Authorization: Bearer t | X-Key: k | Cookie: sid=c", "/b",
            ])
    }

    @Test func callsWithDifferentSchemesAreNotCoalesced() throws {
        let transport = transport(4)
        let api = try make(transport, try all())
        for _ in 0..<2 {
            try send(api, [SecurityRequirement("key")])
            try send(api, [SecurityRequirement("token")])
        }
        #expect(Set(seen(transport)) == ["/v1/a | X-Key: k", "/v1/a | Authorization: Bearer t"])
        #expect(seen(transport)[0] == seen(transport)[2])
    }

    @Test func storedCookieMayBeTheLogin() throws {
        let transport = transport(1)
        let jar = CookieStorage()
        try jar.set("session=s; Path=/", for: try RequestURL("http://api.test/"))
        let api = try make(transport, ["token": .bearer("t")]) {
            $0.cookies = jar
            $0.catalog = Catalog()
            $0.catalog?.security = [SecurityScheme("session", .apiKey(name: "session", place: .cookie))]
        }
        try send(api, [SecurityRequirement("session")])
        #expect(seen(transport) == ["/v1/a | Cookie: session=s"])
    }

    @Test func digestRespondsOnlyForItsScheme() throws {
        let challenge: [ScriptedTransport.Step] = [
            .head(401, [("WWW-Authenticate", #"Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256"#)]), .end,
        ]
        let transport = ScriptedTransport([challenge, done, challenge, challenge, done])
        let api = try make(
            transport,
            [
                "one": .digest(user: "u1", password: "p"), "two": .digest(user: "u2", password: "p"),
                "token": .bearer("t"),
            ])
        try send(api, [SecurityRequirement("one")])
        #expect(message { try send(api, [SecurityRequirement("token")]) } != "sent")
        try send(api, [SecurityRequirement("two")])
        let users = seen(transport).map { line in
            line.split(separator: " ").first { $0.hasPrefix("username=") }.map(String.init) ?? ""
        }
        #expect(users == ["", #"username="u1","#, "", "", #"username="u2","#])
    }

    @Test func tokenProviderSuppliesAScheme() throws {
        let transport = transport(3)
        let provider = TokenProvider { $0.respond(.success(Token(access: "provided"))) }
        let api = try make(transport, try all()) { configuration in
            configuration.tokenProviders = ["other": provider, "token": provider]
        }
        for name in ["other", "token", "key"] { try send(api, [SecurityRequirement(name)]) }
        #expect(
            seen(transport) == [
                "/v1/a | Authorization: Bearer provided", "/v1/a | Authorization: Bearer provided", "/v1/a | X-Key: k",
            ])
        let rejection = message {
            _ = try make(transport, [:]) { configuration in
                configuration.auth = .bearer("t")
                configuration.tokenProviders = ["other": provider]
            }
        }
        #expect(
            rejection == "token providers for schemes cannot be combined with auth without schemes; set auth.schemes")
    }

    // MARK: Logins

    /// Two token servers and one API: `/one/token` returns `one1`, `one2`, ...
    private final class Server: HTTPTransport, @unchecked Sendable {
        struct State {
            var lines: [String] = []
            var forms: [String] = []
            var issued = ["one": 0, "two": 0]
            var refused: Set<String> = []
        }
        let state = Mutex(State())
        private var held: [() -> Void] = []
        var holds = false

        func begin(
            _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
        ) -> any Exchange {
            receiver.exchangeStarted(on: nil, isReused: true, stream: nil)
            let path = request.url.path
            let authorization = request.fields["Authorization"] ?? "-"
            state.withLock { $0.lines.append("\(path) \(authorization)") }
            let exchange = ScriptedExchange(ScriptedTransport([]))
            guard path.hasSuffix("/token") else {
                let isRefused = state.withLock { $0.refused.contains(authorization) }
                respond(receiver, isRefused ? 401 : 200, "{}")
                return exchange
            }
            if case .bytes(let form) = request.body { state.withLock { $0.forms.append(String(buffer: form)) } }
            if path.hasSuffix("/device/token") {
                respond(
                    receiver, 200,
                    #"{"device_code":"d","user_code":"u","verification_uri":"http://a/","expires_in":60,"interval":0.01}"#
                )
                return exchange
            }
            let name = path.contains("one") ? "one" : "two"
            let number = state.withLock { state in
                state.issued[name, default: 0] += 1
                return state.issued[name] ?? 0
            }
            respond(
                receiver, 200,
                #"{"access_token":"\#(name)\#(number)","refresh_token":"r\#(number)","token_type":"Bearer","expires_in":3600}"#
            )
            return exchange
        }

        private func respond(_ receiver: any ExchangeReceiver, _ status: Int, _ body: String) {
            receiver.exchangeReceived(
                head: ResponseHead(status: status, reason: "", headers: Headers(), contentLength: body.utf8.count))
            receiver.exchangeReceived(body: ByteBuffer(string: body))
            receiver.exchangeFinished(trailers: Headers())
        }

        func shutDown() {}
    }

    private func oauth(_ name: String, scope: String? = nil) -> Authentication {
        var server = OAuth2(tokenURL: "/\(name)/token")
        server.grant = .clientCredentials
        server.client = .post(id: "i", secret: "s")
        server.scope = scope
        return .login(TokenLogin(.oauth2(server)))
    }

    private func make(_ server: Server, _ schemes: ExactDictionary<Authentication>) throws -> Client {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test"
        configuration.auth = .schemes(schemes)
        configuration.coalesces = true
        return try Client(configuration) { _ in server }
    }

    @Test func loginsHaveSeparateTokensAndRefreshes() throws {
        let server = Server()
        let api = try make(server, ["a": oauth("one", scope: "read"), "b": oauth("two"), "k": .bearer("t")])
        for _ in 0..<2 {
            try send(api, [SecurityRequirement("a")])
            try send(api, [SecurityRequirement("b")])
            try send(api, [SecurityRequirement("k")])
        }
        // One token is rejected and refreshed; the other is not.
        server.state.withLock { $0.refused = ["Bearer two1"] }
        try send(api, [SecurityRequirement("a")])
        try send(api, [SecurityRequirement("b")])
        let lines = server.state.withLock { $0.lines }
        #expect(
            lines == [
                "/one/token -", "/a Bearer one1", "/two/token -", "/a Bearer two1", "/a Bearer t", "/a Bearer one1",
                "/a Bearer two1", "/a Bearer t", "/a Bearer one1", "/a Bearer two1", "/two/token -", "/a Bearer two2",
            ])
        #expect(server.state.withLock { $0.forms[0].contains("scope=read") && !$0.forms[1].contains("scope") })
    }

    /// The login requests the scopes of the description (RFC 6749 section 3.3, RFC 8628 section 3.1). The refresh omits
    /// them, which keeps the granted scopes (RFC 6749 section 6).
    @Test(arguments: ["client_credentials", "device_code"]) func scopesOfTheDescriptionAreRequested(grant: String)
        throws
    {
        let server = Server()
        var configuration = Configuration()
        configuration.baseURL = "http://api.test"
        var catalog = Catalog()
        catalog.security = [
            SecurityScheme(
                "OAuth", .oauth2(flow: .clientCredentials, authorizationURL: nil, tokenURL: nil, scopes: []))
        ]
        for scope in ["read", "write:all"] {
            var operation = operation([SecurityRequirement([.init("OAuth", scopes: [scope])])])
            operation.name = scope
            catalog.set(operation)
        }
        configuration.catalog = catalog
        try configuration.merge(
            json: #"""
                {"auth": {"scheme": "OAuth", "client_id": "i", "client_secret": "s", "grant": "\#(grant)",
                 "token_url": "/one/token", "device_url": "/device/token"}}
                """#)
        let api = try Client(configuration) { _ in server }
        try api.logInBlocking { _ in }
        server.state.withLock { $0.refused = ["Bearer one1"] }
        _ = try api.sendBlocking(Endpoint<NightjarHTTP.Response>(operation(nil)))
        let forms = server.state.withLock { $0.forms }
        #expect(forms.first?.contains("scope=read+write%3Aall") == true)
        #expect(forms.last?.contains("grant_type=refresh_token") == true)
        #expect(forms.dropFirst().allSatisfy { !$0.contains("scope") })
        #expect(forms.count == (grant == "device_code" ? 3 : 2))
    }

    @Test func logoutAffectsOneLogin() throws {
        let server = Server()
        let api = try make(server, ["a": oauth("one"), "b": oauth("two"), "k": .bearer("t")])
        #expect(
            message { try api.logOutBlocking() }
                == #"the client has several logins: "a", "b"; choose one with "scheme""#)
        #expect(
            message { try api.logOutBlocking(scheme: "k") }
                == #"the client has no login for the scheme "k"; did you mean "a"?"#)
        try api.setToken(Token(access: "mine"), scheme: "b")
        try send(api, [SecurityRequirement("b")])
        try api.logOutBlocking(scheme: "a")
        try send(api, [SecurityRequirement("b")])
        #expect(server.state.withLock { $0.lines } == ["/a Bearer mine", "/a Bearer mine"])
        try api.logInBlocking(scheme: "a") { _ in }
        try send(api, [SecurityRequirement("a")])
        #expect(server.state.withLock { $0.lines }.suffix(2) == ["/one/token -", "/a Bearer one1"])
    }

    @Test func clientHookIsNotifiedOfEachLogin() throws {
        let server = Server()
        let reported = Mutex(0)
        var configuration = Configuration()
        configuration.baseURL = "http://api.test"
        configuration.auth = .schemes([
            "a": .login(TokenLogin(.oauth2(OAuth2(tokenURL: "/one/token")))), "k": .bearer("t"),
        ])
        configuration.onLoginRequired = LoginHook { reported.withLock { $0 += 1 } }
        let api = try Client(configuration) { _ in server }
        #expect(message { try send(api, [SecurityRequirement("a")]) } != "sent")
        #expect(reported.withLock { $0 } == 1)
    }

    @Test func twoLoginsRequireSeparateStores() throws {
        let store = try FileTokenStore(path: "/tmp/nightjar-two-logins")
        func login(_ name: String) -> Authentication {
            .login(TokenLogin(.oauth2(OAuth2(tokenURL: "/\(name)/token")), store: store))
        }
        #expect(
            message { _ = try make(Server(), ["a": login("one"), "b": login("two")]) }
                == #"the logins of the schemes "a" and "b" share the file "/tmp/nightjar-two-logins"; give each login "#
                + "its own store")
    }

    @Test func additionalCredentialHeadersAreTwoLogins() throws {
        let reported = "credentials are set twice: in auth, and in the headers or the base URL; remove one of them"
        #expect(
            message {
                _ = try make(transport(0), ["a": .bearer("t")]) { try $0.headers.set("Authorization", "Bearer x") }
            } == reported)
        #expect(
            message { _ = try make(transport(0), ["a": .bearer("t")]) { $0.baseURL = nil } }.hasPrefix(
                "credentials without"))
        #expect(
            message { _ = try make(transport(0), ["a": .schemes([:])]) }
                == #"the credentials for scheme "a" contain nested schemes, which are not allowed"#)
        #expect(message { _ = try make(transport(0), ["a": .bearer("a\nb")]) }.contains("bearer token"))
    }
}
