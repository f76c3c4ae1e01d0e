import NIOCore
import NightjarHTTP

/// A WebSocket (RFC 6455): messages in both directions over one connection. An `AsyncSequence` of the received messages,
/// for one `for try await` loop.
///
/// The handshake is a call with the client's credentials, cookies, limits, proxies and TLS settings. The loop ends when
/// the server closes with 1000, 1001 or without a code, and after ``close(code:reason:)``. It throws if the connection
/// fails, or if the Swift task is cancelled. Reading from the network pauses while the loop is behind. The WebSocket is
/// closed when all copies of this object are released.
public final class WebSocket: AsyncSequence, Sendable {
    public typealias Element = Message
    public typealias Failure = NightjarError
    public typealias Settings = WebSocketSettings
    public typealias State = WebSocketState

    public enum Message: Sendable, Equatable {
        case text(String)
        case binary(ByteBuffer)
    }

    /// A piece of a message. See ``WebSocketSettings/deliversPieces``.
    public struct Piece: Sendable, Equatable {
        public let content: Message
        /// Whether the message begins with this piece. If the previous message is not complete, its connection was lost,
        /// and its pieces must be discarded.
        public let isFirst: Bool
        /// Whether the message ends with this piece.
        public let isLast: Bool
    }

    private let session: WebSocketSession
    private let inbox: WebSocketInbox

    init(_ client: Client, _ request: Request, _ settings: Settings) throws(NightjarError) {
        inbox = WebSocketInbox()
        session = try inbox.open(client, request, settings)
    }

    deinit { session.cancel() }

    public var state: State { session.currentState }
    /// The response to the last handshake that the server has accepted. Nil before the first one.
    public var response: Response? { session.response }
    /// The subprotocol that the server has selected. Nil before the handshake, or if it has selected none.
    public var subprotocol: String? { session.subprotocol }
    /// The close code of the last connection. 1006: it ended without a Close frame. Nil before its end.
    public var closeCode: Int? { session.closure.map { Int($0.code.rawValue) } }
    /// The reason in the Close frame of the last connection.
    public var closeReason: String { session.closure?.reason ?? "" }
    /// The changes of the state and their reasons, one per line: at most the last 100.
    public var explanation: String { session.explanation }

    /// Sends a message. Returns when it is in the send queue, which may be full before. Messages that are sent before the
    /// connection is open are sent when it is.
    ///
    /// - Throws: `closed`; `cancelled`; `connection_lost` if there is no connection and messages are not kept.
    public func send(_ message: Message) async throws(NightjarError) {
        let message =
            switch message {
            case .text(let text): WebSocketMessage.text(text)
            case .binary(let bytes): WebSocketMessage(.binary, bytes)
            }
        while try !session.send(message) {
            guard !Task.isCancelled else {
                throw NightjarError(.cancelled, "sending a WebSocket message was cancelled")
            }
            await withCheckedContinuation { waiter in session.whenRoom(for: message) { waiter.resume() } }
        }
    }

    public func send(_ text: String) async throws(NightjarError) { try await send(.text(text)) }

    /// Sends a Ping, and returns the time until its Pong arrived.
    ///
    /// - Throws: `connection_lost` if there is no connection, or if it is lost; `closed`.
    @discardableResult
    public func ping() async throws(NightjarError) -> Duration {
        let result = await withCheckedContinuation { continuation in
            do throws(NightjarError) {
                try session.ping { continuation.resume(returning: $0) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    /// Closes the WebSocket, after the messages that were sent before. Returns when the server has responded with a Close
    /// frame, or after the close timeout. Messages that arrive meanwhile may be discarded.
    ///
    /// - Parameters:
    ///   - code: 1000 to 1003, 1007 to 1014, or 3000 to 4999. Nil: a Close frame without a code.
    ///   - reason: At most 123 bytes of UTF-8.
    /// - Throws: `invalid_argument`.
    public func close(code: Int? = 1000, reason: String = "") async throws(NightjarError) {
        try session.close(code: code.map(WebSocketCloseCode.init(clamping:)), reason: reason)
        await withCheckedContinuation { inbox.whenEnded($0) }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pieces.makeAsyncIterator()) }

    /// Reads the messages, or their pieces as messages if ``WebSocketSettings/deliversPieces`` is set. For one Swift task.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var pieces: Pieces.AsyncIterator

        init(_ pieces: Pieces.AsyncIterator) { self.pieces = pieces }

        /// Returns the next message, or nil at the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(NightjarError) -> Message? {
            try await pieces.next(isolation: actor)?.content
        }
    }

    /// The pieces of the messages, for one `for try await` loop in place of one over the messages. Without
    /// ``WebSocketSettings/deliversPieces``, each message is one piece.
    public var pieces: Pieces { Pieces(self) }

    public struct Pieces: AsyncSequence, Sendable {
        public typealias Element = Piece
        public typealias Failure = NightjarError

        fileprivate let socket: WebSocket

        fileprivate init(_ socket: WebSocket) { self.socket = socket }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(socket) }

        /// Reads the pieces. For one Swift task.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let socket: WebSocket

            fileprivate init(_ socket: WebSocket) { self.socket = socket }

            /// Returns the next piece, or nil at the end.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NightjarError) -> Piece? { try await socket.next(isolation: actor) }
        }
    }

    private func next(isolation actor: isolated (any Actor)?) async throws(NightjarError) -> Piece? {
        let result = await withTaskCancellationHandler(
            operation: {
                await withCheckedContinuation(isolation: actor) { inbox.read($0) }
            },
            onCancel: { session.cancel() }, isolation: actor)
        guard let message = try result.get() else { return nil }
        session.consumed(message)
        return Piece(
            content: message.kind == .text ? .text(String(buffer: message.payload)) : .binary(message.payload),
            isFirst: message.startsMessage, isLast: message.endsMessage)
    }
}

extension Client {
    /// Opens a WebSocket (RFC 6455). Returns at once: the first message or send waits for the connection.
    ///
    /// - Parameter request: A GET request. Its target may begin with `ws:` or `wss:`, which stand for `http:` and
    ///   `https:`.
    /// - Throws: `invalid_argument` for invalid settings; `invalid_request` for another method or a body; `closed`.
    public func webSocket(
        _ request: Request, _ settings: WebSocket.Settings = .init()
    ) throws(NightjarError) -> WebSocket {
        try WebSocket(self, request, settings)
    }

    /// Opens a WebSocket without blocking.
    ///
    /// - Parameters:
    ///   - queue: Where the callbacks run. Nil: on the loop.
    ///   - prepared: Called before the first callback, on this thread.
    ///   - finished: Called once, after the other callbacks.
    /// - Throws: As ``webSocket(_:_:)``; `forked`.
    package func startWebSocket(
        _ request: Request, _ settings: WebSocket.Settings, on queue: CompletionQueue?,
        _ handlers: WebSocketSession.Handlers, prepared: (WebSocketSession) -> Void = { _ in },
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> WebSocketSession {
        try checkProcess()
        let session = try WebSocketSession(
            self, try request.forWebSocket(), settings, on: queue, handlers, finished: finished)
        prepared(session)
        try session.start()
        return session
    }
}

extension Request {
    /// Returns the request of a handshake.
    ///
    /// - Throws: `invalid_request` for a method other than GET, or a body.
    package func forWebSocket() throws(NightjarError) -> Request {
        guard method == .get, case .none = body else {
            throw NightjarError(
                .invalidRequest, "a WebSocket needs a GET request without a body, got \(method) (RFC 6455 section 4.1)")
        }
        var request = self
        for (scheme, name) in [("ws:", "http:"), ("wss:", "https:")] where target.lowercased().hasPrefix(scheme) {
            request.target = name + target.dropFirst(scheme.count)
        }
        return request
    }
}
