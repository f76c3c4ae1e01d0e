import NIOCore
import NIOHTTP1

/// The responses to a valid handshake at `/ws/handshake/{name}`. The raw value is the name. All responses except
/// `extra-data` must fail the handshake.
enum HandshakeFault: String, CaseIterable {
    case noAccept = "no-accept"
    case wrongAccept = "wrong-accept"
    case noUpgrade = "no-upgrade"
    case noConnection = "no-connection"
    case status200 = "status-200"
    case status403 = "status-403"
    case unknownExtension = "unknown-extension"
    /// Parameters of permessage-deflate that are invalid.
    case invalidDeflate = "invalid-deflate"
    case unknownProtocol = "unknown-protocol"
    /// A valid response that is sent together with a text message.
    case extraData = "extra-data"
    /// No response.
    case slow
    /// A redirect to `/ws/echo`.
    case redirect

    /// The time after which the server responds to `slow`, if the client is still connected.
    private static let slowDelay = TimeAmount.hours(24)

    /// - Parameter agreement: the result of the negotiation, which the fault changes.
    func response(to handshake: WebSocketHandshake, _ agreement: WebSocketAgreement, _ ledger: Ledger) -> Response {
        let endpoint: any WebSocketEndpoint = self == .extraData ? GreetingEndpoint() : EchoEndpoint()
        var response = Response.webSocket(handshake, agreement, endpoint, ledger)
        switch self {
        case .noAccept: response.headers.remove(name: "Sec-WebSocket-Accept")
        case .wrongAccept:
            let accept = WebSocketHandshake.accept(key: "another key")
            response.headers.replaceOrAdd(name: "Sec-WebSocket-Accept", value: accept)
        case .noUpgrade: response.headers.remove(name: "Upgrade")
        case .noConnection: response.headers.remove(name: "Connection")
        case .status200:
            response.status = .ok
            response.upgrade = nil
        case .status403: response = Problem(.forbidden, "this response was requested").response
        case .unknownExtension:
            response.headers.replaceOrAdd(name: "Sec-WebSocket-Extensions", value: "x-unknown")
        case .invalidDeflate:
            let field = "\(DeflateNegotiation.name); server_max_window_bits=99"
            response.headers.replaceOrAdd(name: "Sec-WebSocket-Extensions", value: field)
        case .unknownProtocol: response.headers.replaceOrAdd(name: "Sec-WebSocket-Protocol", value: "x-unknown")
        case .extraData: break
        case .slow:
            response = Response(.noContent)
            response.delay = HandshakeFault.slowDelay
        case .redirect: response = Response(.temporaryRedirect, headers: ["Location": "/ws/echo"])
        }
        return response
    }
}

/// Sends the text `hello` together with the response of the handshake, then sends messages back.
private final class GreetingEndpoint: WebSocketEndpoint {
    func opened(_ session: WebSocketSession) { session.send("hello") }

    func received(_ message: WebSocketMessage, _ session: WebSocketSession) { session.send(message) }
}
