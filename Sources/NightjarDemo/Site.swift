import NIOCore
import NIOHTTP1

/// What a server serves: its routes, and the data behind them. Lives on the server's loop.
final class Site {
    /// What becomes of one request, decided when its head is in.
    struct Plan {
        enum Action {
            case collect(Request, limit: Int, Handler)
            case stream(Request, StreamHandler)
            case answer(Response)
        }

        /// The route's template, or `*`.
        let route: String
        let action: Action

        /// The control plane does not count itself.
        var isObserved: Bool { !route.hasPrefix("/__") }
    }

    let ledger: Ledger
    let clock = HTTPDate()
    private let router: Router

    init(seed: UInt64, ledger: Ledger) {
        self.ledger = ledger
        let store = Store(seed: seed)
        var router = Router()
        Articles(store: store).add(to: &router)
        Users(store: store).add(to: &router)
        Avatars(store: store).add(to: &router)
        Comments(store: store).add(to: &router)
        Bodies().add(to: &router)
        Answers().add(to: &router)
        Redirects().add(to: &router)
        Cookies().add(to: &router)
        Encodings().add(to: &router)
        router.on(.GET, "/text/{charset}", Charsets.answer)
        router.onAny("/errors/{shape}", ErrorShapes.answer)
        router.onAny("/echo", limit: Echo.bodyLimit, Echo.answer)
        router.stream(.POST, "/upload", Upload.open)
        router.stream(.PUT, "/upload", Upload.open)
        router.streamAny("/form", Form.open)
        router.streamAny("/expect", Expectation.open)
        Control(ledger: ledger, store: store).add(to: &router)
        let contents = Site.contents(of: router)
        router.on(.GET, "/") { _ throws(Problem) in Response.json(contents) }
        self.router = router
    }

    func plan(for head: HTTPRequestHead, connection: Int, numberOnConnection: Int) -> Plan {
        do throws(Problem) {
            guard head.version.major == 1 else {
                throw Problem(.httpVersionNotSupported, "only HTTP/1.1 and HTTP/1.0 are spoken here")
            }
            // RFC 9112 section 3.2: a server must refuse a request without Host, or with two.
            guard !head.speaksHTTP11 || head.headers["host"].count == 1 else {
                throw Problem(.badRequest, "an HTTP/1.1 request must have exactly one Host field")
            }
            let target = try Target(head.uri)
            switch router.match(head.method, target.segments) {
            case .route(let route, let parameters):
                let request = Request(
                    head: head, target: target, parameters: parameters, connection: connection,
                    numberOnConnection: numberOnConnection)
                switch route.action {
                case .whole(let limit, let handler):
                    return Plan(route: route.template, action: .collect(request, limit: limit, handler))
                case .streamed(let handler):
                    return Plan(route: route.template, action: .stream(request, handler))
                }
            case .methods(let methods, let template):
                let allow: HTTPHeaders = ["Allow": methods.joined(separator: ", ")]
                if head.method == .OPTIONS {
                    return Plan(route: template, action: .answer(Response(.noContent, headers: allow)))
                }
                let problem = Problem(
                    .methodNotAllowed, "\(head.method.rawValue) is not served here", headers: allow)
                return Plan(route: template, action: .answer(problem.response))
            case .nothing:
                throw Problem(.notFound, "there is nothing at this path; / lists what there is")
            }
        } catch {
            return Plan(route: "*", action: .answer(error.response))
        }
    }

    private static func contents(of router: Router) -> JSON {
        [
            "name": "Nightjar demo API",
            "routes": .array(
                router.table.map { ["method": .string($0.method), "path": .string($0.template)] }),
        ]
    }
}
