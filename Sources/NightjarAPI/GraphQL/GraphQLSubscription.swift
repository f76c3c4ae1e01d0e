import NIOCore
import NightjarJSON

/// A subscription over a WebSocket of its own: the protocol graphql-transport-ws (GraphQL over WebSocket).
///
///     opened ─connection_init─▶ initialized ──connection_ack─▶ subscribed ──complete──▶ ended
///       ▲                                     ─subscribe─▶          │ next: deliver      error: fail
///       └──────────────── another connection ───────────────────────┘
///
/// The content of `next` is delivered as JSON text. After a lost connection, the operation is subscribed again.
package struct GraphQLSubscription: WebSocketSubprotocol {
    private enum State {
        case opened
        case initialized
        case subscribed
        case ended
    }

    private let operation: JSONValue
    private let initialization: JSONValue
    private let sendsAuthorization: Bool
    private var state = State.opened

    /// The identifier of the only operation of a connection.
    private static let id = JSONValue.string("1")

    /// - Parameter content: the operation. If ``GraphQLContent/sendsAuthorization`` is set, the payload of connection_init has the
    ///   Authorization field of the handshake as a member, as many servers require.
    /// - Throws: as ``GraphQLContent/parsed(_:)``.
    package init(_ content: GraphQLContent, _ schema: GraphQLSchema? = nil) throws(NightjarError) {
        var content = content
        content.kind = content.kind ?? .subscription
        _ = try content.parsed(schema)
        operation = .object(content.members)
        initialization = content.initialization
        // Rejects numbers that JSON cannot represent, so that no message fails later.
        _ = try JSONValue.array([operation, initialization]).encoded()
        sendsAuthorization = content.sendsAuthorization
    }

    package let name = "graphql-transport-ws"
    package var isReady: Bool { state == .subscribed || state == .ended }

    package mutating func opened(authorization: String?) -> [WebSocketSubprotocolAction] {
        state = .initialized
        guard sendsAuthorization, let authorization else { return [.send(initMessage(initialization))] }
        return [.send(initMessage(adding(authorization)))]
    }

    private func adding(_ authorization: String) -> JSONValue {
        var members: [JSONValue.Member] = []
        if case .object(let given) = initialization { members = given.filter { $0.name != "Authorization" } }
        return .object(members + [.init("Authorization", .string(authorization))])
    }

    private func initMessage(_ payload: JSONValue) -> WebSocketMessage {
        GraphQLSubscription.message("connection_init", payload: payload)
    }

    /// Returns a message. A payload that is null is omitted.
    private static func message(_ type: String, id: JSONValue? = nil, payload: JSONValue = .null) -> WebSocketMessage {
        var members = [JSONValue.Member("type", .string(type))]
        if let id { members.append(.init("id", id)) }
        if payload != .null { members.append(.init("payload", payload)) }
        // The initializer has checked that the content can be encoded.
        return WebSocketMessage(.text, (try? JSONValue.object(members).encoded()) ?? ByteBuffer())
    }

    package mutating func received(_ message: WebSocketMessage) -> [WebSocketSubprotocolAction] {
        guard state != .ended else { return [] }
        let result = message.payload.withUnsafeReadableBytes { bytes in
            Result { () throws(NightjarError) in try read(bytes, message) }
        }
        switch result {
        case .success(let actions): return actions
        case .failure(let error):
            state = .ended
            return [.fail(error)]
        }
    }

    private mutating func read(
        _ bytes: UnsafeRawBufferPointer, _ message: WebSocketMessage
    ) throws(NightjarError) -> [WebSocketSubprotocolAction] {
        guard message.kind == .text, (try? JSONValue.check(bytes)) != nil else {
            throw violation("a message that is not JSON text")
        }
        let ranges = JSONRanges(bytes)
        func member(_ name: String) -> Range<Int>? {
            ranges.value(at: JSONPointer(tokens: [name]), in: ranges.document)
        }
        guard let type = member("type").flatMap(ranges.text) else { throw violation("a message without type") }
        let payload = member("payload")
        switch (type, state) {
        case ("ping", _):
            return [.send(GraphQLSubscription.message("pong", payload: payload.flatMap(ranges.value) ?? .null))]
        case ("pong", _): return []
        case ("connection_ack", .initialized):
            state = .subscribed
            return [.send(GraphQLSubscription.message("subscribe", id: GraphQLSubscription.id, payload: operation))]
        case ("next", .subscribed), ("error", .subscribed), ("complete", .subscribed): break
        case ("connection_ack", _), ("next", _), ("error", _), ("complete", _):
            throw violation("\(type) at the wrong time")
        default: throw violation("a message of the unknown type \(quoted(type))")
        }
        guard member("id").flatMap(ranges.value) == GraphQLSubscription.id else {
            throw violation("\(type) for another subscription")
        }
        return try content(type, payload, ranges, message)
    }

    /// Handles `next`, `error` or `complete`.
    private mutating func content(
        _ type: String, _ payload: Range<Int>?, _ ranges: JSONRanges, _ message: WebSocketMessage
    ) throws(NightjarError) -> [WebSocketSubprotocolAction] {
        if type == "complete" {
            state = .ended
            return [.complete]
        }
        if type == "error" {
            guard case .array(let errors)? = payload.flatMap(ranges.value) else {
                throw violation("error without a list of errors")
            }
            throw GraphQLResponse.failure(errors, "the GraphQL server ended the subscription")
        }
        guard let payload, ranges.first(payload) == UInt8(ascii: "{") else { throw violation("next without a result") }
        let start = message.payload.readerIndex + payload.lowerBound
        guard let text = message.payload.getSlice(at: start, length: payload.count) else { return [] }
        return [.deliver(WebSocketMessage(.text, text))]
    }

    private func violation(_ what: String) -> NightjarError {
        NightjarError(
            .protocol, "the server violated graphql-transport-ws: it sent \(what)", phase: .receive,
            requestMayHaveBeenProcessed: true)
    }

    package func error(_ closure: WebSocketClosure) -> NightjarError? {
        let reason = closure.reason.isEmpty ? "" : ": \(quoted(closure.reason))"
        let kind: ErrorKind
        switch closure.code.rawValue {
        case 4400, 4406, 4408, 4409: kind = .protocol
        case 4401: kind = .unauthorized
        case 4403: kind = .forbidden
        case 4429: kind = .rateLimited
        case 4500: kind = .server
        default: return nil
        }
        return NightjarError(
            kind, "the GraphQL server closed the subscription with \(closure.code.rawValue)\(reason)", phase: .receive,
            requestMayHaveBeenProcessed: true)
    }

    package func rejectsToken(_ closure: WebSocketClosure) -> Bool { [4401, 4403].contains(closure.code.rawValue) }
}
