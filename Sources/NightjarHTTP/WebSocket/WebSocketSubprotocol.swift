/// A subprotocol whose messages the client handles itself, so that the caller only receives content. One value belongs to
/// one WebSocket and all of its connections.
package protocol WebSocketSubprotocol: Sendable {
    /// The name for Sec-WebSocket-Protocol. The server must select it.
    var name: String { get }
    /// True when the server has accepted the current connection.
    var isReady: Bool { get }

    /// Handles a new connection.
    ///
    /// - Parameter authorization: the Authorization field of the handshake's request. Nil if there was none.
    mutating func opened(authorization: String?) -> [WebSocketSubprotocolAction]
    mutating func received(_ message: WebSocketMessage) -> [WebSocketSubprotocolAction]
    /// Returns the error for a close code of the subprotocol. Nil for other codes.
    func error(_ closure: WebSocketClosure) -> NightjarError?
    /// Returns whether the server closed the connection because it rejects the access token, as with a 401 response.
    func rejectsToken(_ closure: WebSocketClosure) -> Bool
}

package enum WebSocketSubprotocolAction: Sendable, Equatable {
    case send(WebSocketMessage)
    case deliver(WebSocketMessage)
    /// The content is complete: close the WebSocket normally.
    case complete
    case fail(NightjarError)

    package static func == (a: WebSocketSubprotocolAction, b: WebSocketSubprotocolAction) -> Bool {
        switch (a, b) {
        case (.send(let a), .send(let b)): a == b
        case (.deliver(let a), .deliver(let b)): a == b
        case (.complete, .complete): true
        case (.fail(let a), .fail(let b)): a.kind == b.kind && a.message == b.message
        default: false
        }
    }
}
