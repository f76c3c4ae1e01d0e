// Imports no other module of this package: a program can name each type of the interface with `import Nightjar`.
import Nightjar
import Synchronization
import Testing

@Suite struct VisibleNamesTests {
    @Test func optionsHaveNames() throws {
        var configuration = Configuration()
        var transport = TransportConfiguration()
        let proxy = try ProxySettings.Address("http://proxy.example:3128")
        transport.proxy = ProxySettings(.address(proxy))
        transport.unixSocket = try UnixSocket("/run/daemon.sock")
        transport.resolve = try TransportConfiguration.ResolveEntries(["h.test:80:127.0.0.1"])
        transport.ipFamily = TransportConfiguration.IPFamily.ipv4
        transport.localAddress = try TransportConfiguration.IPAddress("127.0.0.1")
        transport.addressFilter = TransportConfiguration.AddressFilter.publicOnly
        configuration.httpsOnly = try Configuration.HTTPSOnly(except: ["localhost"])
        configuration.transport = transport
        let cookies = Configuration.LoginCookies.named(["session"])
        let validation = Configuration.ResponseValidation.warn
        configuration.loginCookies = cookies
        configuration.responseValidation = validation
        configuration.cookieFile = Configuration.CookieFile("cookies", policy: CookieStorage.Policy.firstParty)

        var limits = LimitSettings()
        let rate = LimitSettings.Rate(count: 10, per: .seconds(1))
        limits.rate = rate
        var breaker = LimitSettings.Breaker()
        breaker.minimumCalls = 5
        limits.breaker = breaker
        configuration.limits = limits
        var budget = RetrySettings.Budget()
        budget.reserve = 1
        configuration.retryBudget = budget
        configuration.log = LogSink(level: LogSink.Level.off) { (_: LogSink.Line) in }
        configuration.observers = [
            CallObserver { (_: CallObserver.Event) in },
            .steps { (step: CallObserver.Step) in
                guard case .sent(_, let version, _) = step.kind else { return }
                let _: CallObserver.Step.HTTPVersion? = version
            },
        ]
        configuration.hooks = CallHooks(before: { (_: inout CallHooks.Request) in })
        configuration.tokenProviders = [
            "main": TokenProvider { (request: TokenProvider.Request) in
                request.respond(.failure(NightjarError(NightjarError.Kind.unauthorized, "no token")))
            }
        ]
        #expect(configuration.limits.breaker?.minimumCalls == 5)
    }

    @Test func optionsOfTLSHaveNames() throws {
        var tls = TransportConfiguration.TLS()
        let pattern = try TransportConfiguration.TLS.HostPattern("*.example.com")
        tls.versionsByHost = [pattern: TransportConfiguration.TLS.Version.v1_3...(.v1_3)]
        tls.weakAlgorithms = [TransportConfiguration.TLS.WeakAlgorithm.cbc]
        let one = try TransportConfiguration.TLS.Pinning.Pin("sha256/" + String(repeating: "A", count: 43))
        let two = try TransportConfiguration.TLS.Pinning.Pin("sha256/" + String(repeating: "A", count: 42) + "E")
        tls.pins = [
            pattern: try TransportConfiguration.TLS.Pinning.Pins(
                [one, two], reportOnlyAfter: Timestamp(rfc3339: "2027-01-31T00:00:00Z"))
        ]
        tls.clientCertificate = TransportConfiguration.TLS.ClientCertificate(
            TransportConfiguration.TLS.ClientCertificate.Format.pkcs12Contents([]), password: nil)
        tls.onPinMismatch = { (_: TransportConfiguration.TLS.Pinning.Report) in }
        let mode = TransportConfiguration.TLS.Pinning.Mode.report
        let client = try Client()
        try client.setPinning(mode)
        #expect(tls.pins[pattern]?.all == [one, two])
    }

    @Test func requestsHaveNames() throws {
        let body = Request.Body.file(path: "body")
        let key = try #require(Request.IdempotencyKey("one"))
        let range = Request.StatusRange(200, 299)
        var changes = RetrySettings.Changes()
        changes.maximumAttempts = 1
        var request = Request(.post, "/")
        request.body = body
        request.idempotencyKey = .key(key)
        request.expectedStatuses = [range]
        request.retry = changes
        #expect(request.expectedStatuses == [range])
        let items: Request.Items = ["order": Order.newest, "page": 2]
        request.query = items
        request.expect(200..<300, 404)
        request.headers["X-A"] = "b"
        let missing: any Request.StatusExpectation = 404
        request.expect(missing)
        #expect(request.query.map(\.value) == ["newest", "2"])
        #expect(try pointer(at: "/a") == JSONPointer("/a"))
        let value: JSONValue = ["a": .null, "b": ["c": .string("x"), "d": items.count, "e": nil]]
        #expect(value["b"]?["d"] == 2 && value["a"] == .null)
        #expect(JSONValue.array([7])[at: "/0"]?.int == 7)
    }

    private enum Order: String, ParameterValue { case newest }

    private func pointer(at place: some JSONPointer.Location) throws(NightjarError) -> JSONPointer {
        try place.jsonPointer()
    }

    @Test func loginsHaveNames() throws {
        var call = LoginCall("login", .json(["user": "ada"]))
        var pointers = LoginCall.TokenPointers()
        pointers.access = try JSONPointer("/token")
        call.places = pointers
        var login = TokenLogin(.call(call, refresh: RefreshCall("refresh")), store: .memory())
        let settings = TokenLogin.RefreshSettings()
        login.refresh = settings
        var server = OAuth2(tokenURL: "token")
        let client = OAuth2.ClientAuthentication.none(id: "app")
        server.client = client
        let stores: [any TokenStore] = [
            .memory(), .file("login"), .sqlite("logins", account: "ada"), .keyring(service: "example", account: "ada"),
            CustomStore(),
        ]
        #expect(stores.map(\.name).count == 5)
        #expect(try CustomStore().tryLock() == nil)
    }

    /// Compiled only: the members of a result can be passed to functions.
    private struct Results {
        var head: Response.Head
        var source: Response.Source
        var timing: Response.Timing
        var connection: Response.Connection?
        var redirects: [Response.Redirect]
        var decisions: [Response.Decision]
        var request: Request.Record?
        var kind: NightjarError.Kind?
        var phase: NightjarError.Phase?
        var details: NightjarError.Details?
        var refusal: Cookie.Refusal?
        var imported: CookieStorage.ImportReport?
        var circuit: LimitState.Circuit?
        var next: Pagination.NextPage?
        var origin: RequestURL.Origin?
        var requirement: Request.SecurityRequirement?
        var contract: Request.ResponseContract?
        var loading: Resource<Int>.Snapshot.Phase?
        var mutation: Resource<Int>.Snapshot.MutationPhase?
        var user: ProxySettings.Address.UserInfo?
        var connectivity: Configuration.ConnectivitySettings?
        var changes: Request.ConnectivityChanges?
        var exception: Configuration.HTTPSOnly.HostPattern?
        var upload: Upload.Settings.UploadProtocol?
        var reason: TaskHandlers.OfflineReason?

        init(_ response: Response, _ error: NightjarError) {
            head = response.head
            source = response.source
            timing = response.timing
            connection = response.timing.connection
            redirects = response.redirects
            decisions = response.decisions
            request = response.request
            kind = error.kind
            phase = error.phase
            details = error.details
        }
    }

    /// Compiled only: the callbacks of a call can be functions.
    private struct Callbacks {
        func part(_ task: ClientTask, _ maximum: Int) -> TaskHandlers.BodyPart { .end }
        func show(_ task: ClientTask, _ progress: TaskHandlers.Progress) {}
        func decide(_ task: ClientTask, _ failed: TaskHandlers.FailedAttempt) -> TaskHandlers.RetryAction {
            let verdict: TaskHandlers.FailedAttempt.Verdict = failed.verdict
            return verdict == .again(after: .zero) ? .asDecided : .stop
        }
        func follow(_ task: ClientTask, _ redirect: TaskHandlers.ProposedRedirect) -> TaskHandlers.RedirectAction {
            redirect.dropsCredentials ? .stop : .follow
        }
        func choose(_ failed: CallHandle.Decisions.FailedAttempt) async -> CallHandle.Decisions.RetryAction {
            .asDecided
        }
        func choose(_ redirect: CallHandle.Decisions.ProposedRedirect) async -> CallHandle.Decisions.RedirectAction {
            .follow
        }
        func bytes<Value: Response.RawBody>(_ buffer: ByteBuffer, as type: Value.Type) -> Value { Value(body: buffer) }
        func report(_ call: CallObserver.CallReport, _ exchange: CallObserver.ExchangeReport) {}
        var handlers: TaskHandlers {
            var handlers = TaskHandlers { _, _ in }
            handlers.provideBody = part
            handlers.progress = show
            handlers.retry = decide
            handlers.redirect = follow
            return handlers
        }
    }
}

private final class CustomStore: TokenStore {
    private let login = Mutex<StoredLogin?>(nil)

    var name: String { "custom" }

    func load() throws(NightjarError) -> StoredLogin? { login.withLock { $0 } }

    func save(_ login: StoredLogin, replacing version: StoredLogin.Version?) throws(NightjarError) -> Bool {
        self.login.withLock { stored in
            guard login.mayReplace(stored, of: version) else { return false }
            stored = login
            return true
        }
    }

    func tryLock() throws(NightjarError) -> (any TokenLock)? { nil }
}
