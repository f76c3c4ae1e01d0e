import NIOCore
import NIOHTTP1

/// The routes of a server and their data. Used only on the server's event loop.
final class Site {
    let ledger: Ledger
    let clock = HTTPDate()
    let http2 = HTTP2Options()
    private let outage = Outage()
    private let router: Router

    init(seed: UInt64, ledger: Ledger) {
        self.ledger = ledger
        let store = Store(seed: seed)
        var router = Router()
        Articles(store: store).add(to: &router)
        Users(store: store).add(to: &router)
        Avatars(store: store).add(to: &router)
        Comments(store: store).add(to: &router)
        let tokens = Tokens(ledger: ledger)
        GraphQLEndpoint(store: store, tokens: tokens, ledger: ledger).add(to: &router)
        var states: [any Resettable] = [store, outage, tokens]
        Site.addAuth(to: &router, &states, tokens, store, ledger)
        Site.addFaults(to: &router, &states, ledger)
        Site.addCaching(to: &router, &states, tokens, store, seed: seed)
        let lists = Lists()
        lists.add(to: &router)
        states.append(lists)
        Bodies().add(to: &router)
        Records().add(to: &router)
        let events = Events(tokens: tokens)
        events.add(to: &router)
        states.append(events)
        Site.addTransfers(to: &router, &states)
        let http2Faults = HTTP2Faults()
        http2.add(to: &router)
        http2Faults.add(to: &router)
        states += [http2, http2Faults] as [any Resettable]
        WebSockets(ledger: ledger, tokens: tokens, store: store).add(to: &router)
        Responses().add(to: &router)
        Redirects().add(to: &router)
        Cookies().add(to: &router)
        Encodings().add(to: &router)
        router.on(.GET, "/text/{charset}", Charsets.respond)
        router.onAny("/errors/{shape}", ErrorShapes.respond)
        router.onAny("/echo", limit: Echo.bodyLimit, Echo.respond)
        router.stream(.POST, "/upload", Upload.open)
        router.stream(.PUT, "/upload", Upload.open)
        router.stream(.POST, "/duplex", Duplex.open)
        router.streamAny("/form", Form.open)
        router.streamAny("/expect", Expectation.open)
        APIDescription.add(to: &router)
        Control(ledger: ledger, store: store, outage: outage, tokens: tokens, states: states).add(to: &router)
        let contents = Site.contents(of: router)
        router.on(.GET, "/") { _ throws(Problem) in Response.json(contents) }
        self.router = router
    }

    /// Adds authentication and the resources that require it.
    private static func addAuth(
        to router: inout Router, _ states: inout [any Resettable], _ tokens: Tokens, _ store: Store,
        _ ledger: Ledger
    ) {
        let refreshes = Refreshes(tokens: tokens, ledger: ledger)
        let devices = DeviceCodes(store: store)
        let codes = AuthorizationCodes(store: store)
        let digest = Digest()
        Logins(tokens: tokens, refreshes: refreshes, store: store).add(to: &router)
        devices.add(to: &router)
        codes.add(to: &router)
        TokenEndpoint(tokens: tokens, refreshes: refreshes, devices: devices, codes: codes).add(to: &router)
        Protected(tokens: tokens, store: store).add(to: &router)
        SignedRequests.add(to: &router)
        digest.add(to: &router)
        states += [refreshes, devices, codes, digest] as [any Resettable]
    }

    /// Adds resources for testing caches.
    private static func addCaching(
        to router: inout Router, _ states: inout [any Resettable], _ tokens: Tokens, _ store: Store, seed: UInt64
    ) {
        let (table, news) = (CacheTable(), News(seed: seed, tokens: tokens, store: store))
        CacheResources(table: table, requester: Requester(tokens: tokens, store: store)).add(to: &router)
        news.add(to: &router)
        states += [table, news] as [any Resettable]
    }

    private static func addFaults(to router: inout Router, _ states: inout [any Resettable], _ ledger: Ledger) {
        let (limits, flaky, orders) = (Limits(ledger: ledger), Flaky(), Orders(ledger: ledger))
        limits.add(to: &router)
        flaky.add(to: &router)
        orders.add(to: &router)
        router.on(.GET, "/v1/slow", Slow.respond)
        states += [limits, flaky, orders] as [any Resettable]
    }

    private static func addTransfers(to router: inout Router, _ states: inout [any Resettable]) {
        let runs = TransferRuns()
        runs.add(to: &router)
        Files(runs: runs).add(to: &router)
        let uploads = UploadStore()
        uploads.add(to: &router)
        TusUploads(store: uploads).add(to: &router)
        ResumableUploads(store: uploads).add(to: &router)
        states += [runs, uploads] as [any Resettable]
    }

    func plan(for head: HTTPRequestHead, _ origin: RequestOrigin) -> ExchangePlan {
        do throws(Problem) {
            guard head.version.major == (origin.stream == nil ? 1 : 2) else {
                throw Problem(
                    .httpVersionNotSupported,
                    "only HTTP/1.1, HTTP/1.0 and, after its connection preface, HTTP/2 are supported")
            }
            // A server must reject an HTTP/1.1 request without a Host field or with several (RFC 9112 section 3.2).
            guard !head.supportsHTTP11 || head.headers["host"].count == 1 else {
                throw Problem(.badRequest, "a request must have exactly one Host field or :authority")
            }
            let target = try Target(head.uri)
            var plan = try route(head, target, origin)
            plan.isOfAPI = target.segments.first == "v1"
            plan.isObserved = target.segments.first?.hasPrefix("__") != true
            if let key = target.query.first(where: { $0.name == "key" })?.value {
                plan.subject += "?key=\(String(decoding: key.utf8.prefix(100), as: UTF8.self))"
            }
            if Site.hasOutages.contains(target.segments.first ?? ""), let response = outage.response {
                ledger.note { $0.outageRequests += 1 }
                plan.action = .respond(response)
            }
            return plan
        } catch {
            return ExchangePlan(route: "*", action: .respond(error.response), subject: "*")
        }
    }

    /// The first path segments that an outage affects.
    private static let hasOutages = ["v1", "news", "me"]

    private func route(_ head: HTTPRequestHead, _ target: Target, _ origin: RequestOrigin) throws(Problem)
        -> ExchangePlan
    {
        var method = head.method
        if let name = origin.stream?.connectProtocol {
            guard name == "websocket" else {
                throw Problem(.notImplemented, "the protocol \"\(name)\" is not supported")
            }
            // An extended CONNECT replaces the GET of HTTP/1.1 (RFC 8441 section 5).
            method = .GET
        }
        switch router.match(method, target.segments) {
        case .route(let route, let parameters):
            let request = Request(head: head, target: target, parameters: parameters, origin: origin)
            let action: ExchangePlan.Action =
                switch route.action {
                case .whole(let limit, let handler): .collect(request, limit: limit, handler)
                case .streamed(let handler): .stream(request, handler)
                }
            return ExchangePlan(route: route.template, action: action, subject: route.template)
        case .methods(let methods, let template):
            let allow: HTTPHeaders = ["Allow": methods.joined(separator: ", ")]
            let response =
                head.method == .OPTIONS
                ? Response(.noContent, headers: allow)
                : Problem(.methodNotAllowed, "\(head.method.rawValue) is not allowed", headers: allow).response
            return ExchangePlan(route: template, action: .respond(response), subject: template)
        case .nothing:
            let problem = Problem(.notFound, "no resource at this path; GET / lists all routes")
            return ExchangePlan(route: "*", action: .respond(problem.response), subject: "*")
        }
    }

    private static func contents(of router: Router) -> JSON {
        [
            "name": "Nightjar demo API",
            "routes": .array(
                router.table.map { ["method": .string($0.method), "path": .string($0.template)] }),
            // Credentials for the examples. All users have the same password.
            "login": ["email": .string(SeedData.email(of: "ada")), "password": .string(Logins.password)],
            "oauth_client": [
                "client_id": .string(OAuthClient.id), "client_secret": .string(OAuthClient.secret),
            ],
            "basic_and_digest": ["user": .string(Protected.user), "password": .string(Protected.password)],
            "api_key": .string(Protected.apiKey),
            "cache": CacheResources.parameters,
            "transfers": TransferParameters.all,
            "description": ["/openapi.json", "/openapi.yaml"],
        ]
    }
}
