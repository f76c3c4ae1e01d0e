import NIOCore
import NIOHTTP1

/// `/ws`: WebSocket endpoints (RFC 6455) with permessage-deflate (RFC 7692). ``WebSocketAgreement`` describes the
/// common parameters. A request that is no handshake receives 426.
///
/// A client must not send frames before it has received the response (RFC 6455 section 4.1). The server discards bytes
/// that arrive together with the handshake.
struct WebSockets {
    let ledger: Ledger
    let tokens: Tokens
    let store: Store
    private let rooms = BroadcastRooms()
    private let chat = WebSocketRoom()

    init(ledger: Ledger, tokens: Tokens, store: Store) {
        self.ledger = ledger
        self.tokens = tokens
        self.store = store
    }

    func add(to router: inout Router) {
        on("/ws/echo", &router) { request throws(Problem) in try EchoEndpoint(request) }
        on("/ws/count", &router) { request throws(Problem) in try CountEndpoint(request) }
        on("/ws/drop", &router) { request throws(Problem) in try DropEndpoint(request) }
        on("/ws/slow", &router) { request throws(Problem) in try SlowEndpoint(request) }
        on("/ws/silent", &router) { _ throws(Problem) in SilentEndpoint() }
        on("/ws/pings", &router) { request throws(Problem) in try PingEndpoint(request) }
        on("/ws/broadcast/{room}", &router) { [rooms] request throws(Problem) in
            try BroadcastEndpoint(request, rooms)
        }
        on("/ws/chat", &router) { [tokens, store, chat] request throws(Problem) in
            try ChatEndpoint(request, tokens, store, chat)
        }
        router.on(.GET, "/ws/violation") { _ throws(Problem) in WebSockets.names(ServerViolation.allCases) }
        router.on(.GET, "/ws/violation/{name}", violate)
        router.on(.GET, "/ws/handshake") { _ throws(Problem) in WebSockets.names(HandshakeFault.allCases) }
        router.on(.GET, "/ws/handshake/{name}", respondInvalidly)
    }

    private func on(
        _ template: String, _ router: inout Router,
        _ makeEndpoint: @escaping (Request) throws(Problem) -> any WebSocketEndpoint
    ) {
        router.on(.GET, template) { [ledger] request throws(Problem) in
            let handshake = try WebSocketHandshake(request)
            let agreement = try WebSocketAgreement(handshake)
            return Response.webSocket(handshake, agreement, try makeEndpoint(request), ledger)
        }
    }

    private func violate(_ request: Request) throws(Problem) -> Response {
        let violation = try WebSockets.choice(request, of: ServerViolation.self)
        let handshake = try WebSocketHandshake(request)
        let agreement = try WebSocketAgreement(handshake, declinesExtensions: violation != .bomb)
        return Response.webSocket(handshake, agreement, try ViolationEndpoint(request, violation), ledger)
    }

    private func respondInvalidly(_ request: Request) throws(Problem) -> Response {
        let fault = try WebSockets.choice(request, of: HandshakeFault.self)
        let handshake = try WebSocketHandshake(request)
        return fault.response(to: handshake, try WebSocketAgreement(handshake), ledger)
    }

    private static func names<Choice: RawRepresentable<String>>(_ choices: [Choice]) -> Response {
        .json(["names": .array(choices.map { .string($0.rawValue) })])
    }

    private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ request: Request, of choices: Choice.Type
    ) throws(Problem) -> Choice {
        guard let choice = Choice(rawValue: request.parameters["name"] ?? "") else {
            let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem(.notFound, "{name} must be one of \(names)")
        }
        return choice
    }
}

extension Response {
    /// Accepts a handshake.
    static func webSocket(
        _ handshake: WebSocketHandshake, _ agreement: WebSocketAgreement, _ endpoint: any WebSocketEndpoint,
        _ ledger: Ledger
    ) -> Response {
        var headers = handshake.headers
        headers.add(contentsOf: agreement.headers)
        var response = Response(.switchingProtocols, headers: headers)
        response.upgrade = WebSocketSession(endpoint, agreement, ledger: ledger)
        return response
    }
}
