import NIOCore

/// `/ws/chat`: requires a bearer token. Each text message is sent to all members as `{"user":"ada","text":"..."}`,
/// including the sender. The user of a client's own token is its client ID.
///
/// The server closes with 4401 when the token expires or its login ends, and with 1003 after a binary message.
///
/// - `drop_after`: the number of received messages after which the TCP connection is closed without a Close frame. By
///   default, it stays open.
/// - `queue`: see ``WebSocketRoom/queueLimit(_:)``.
final class ChatEndpoint: WebSocketEndpoint {
    /// The time between two checks of the token.
    private static let checkInterval = TimeAmount.milliseconds(50)

    private let tokens: Tokens
    private let token: String
    private let user: String
    private let room: WebSocketRoom
    private let queueLimit: Int
    private let dropLimit: Int
    private var count = 0

    /// - Throws: 401 if the request has no valid token, 503 if the room is full.
    init(_ request: Request, _ tokens: Tokens, _ store: Store, _ room: WebSocketRoom) throws(Problem) {
        user =
            switch try tokens.bearer(request).holder {
            case .user(let id): try store.user(id).handle
            case .client: OAuthClient.id
            }
        token = Credentials(request.head.headers)?.bearer ?? ""
        dropLimit = try request.query("drop_after", in: 1...1_000_000_000, or: Int.max)
        queueLimit = try WebSocketRoom.queueLimit(request)
        guard !room.isFull else { throw Problem(.serviceUnavailable, "the room is full") }
        self.tokens = tokens
        self.room = room
    }

    func opened(_ session: WebSocketSession) {
        room.add(session, queueLimit: queueLimit)
        watchToken(session)
    }

    func received(_ message: WebSocketMessage, _ session: WebSocketSession) {
        guard hasValidToken(session) else { return }
        guard message.isText else {
            session.close(.unsupportedData, "only text messages are supported")
            return
        }
        count += 1
        let document: JSON = ["user": .string(user), "text": .string(String(buffer: message.bytes))]
        room.post(WebSocketMessage(isText: true, bytes: ByteBuffer(bytes: document.formatted())))
        if count == dropLimit { session.drop() }
    }

    func closed(_ session: WebSocketSession) { room.remove(session) }

    /// Checks the token regularly, because it can also end before it expires.
    private func watchToken(_ session: WebSocketSession) {
        session.after(ChatEndpoint.checkInterval) { [self, session] in
            if hasValidToken(session) { watchToken(session) }
        }
    }

    /// Closes the session if the token is no longer valid.
    private func hasValidToken(_ session: WebSocketSession) -> Bool {
        if tokens.isValid(token) { return true }
        session.close(.tokenExpired, "token expired")
        return false
    }
}
