import NIOCore
import NightjarHTTP

extension MockResponse {
    /// One step of a mocked WebSocket.
    public struct WebSocketStep: Sendable {
        let event: ExchangeScript.Event
        /// The time before the step.
        public var delay = Duration.zero

        private init(_ event: ExchangeScript.Event) { self.event = event }

        /// The server sends a text message.
        public static func send(_ text: String) -> WebSocketStep { WebSocketStep(.socket(.send(.text(text)))) }

        /// The server sends a binary message.
        public static func send(_ bytes: ByteBuffer) -> WebSocketStep {
            WebSocketStep(.socket(.send(WebSocketMessage(.binary, bytes))))
        }

        /// Waits for any message of the client.
        public static var receive: WebSocketStep { WebSocketStep(.socket(.expect(.any))) }

        /// Waits for a text message. Another message ends the WebSocket with `invalid_request`.
        public static func receive(_ text: String) -> WebSocketStep { WebSocketStep(.socket(.expect(.text(text)))) }

        /// Waits for a binary message. Another message ends the WebSocket with `invalid_request`.
        public static func receive(_ bytes: ByteBuffer) -> WebSocketStep {
            WebSocketStep(.socket(.expect(.binary(bytes))))
        }

        /// Waits for a text message whose JSON contains `json`; other members are ignored. Another message ends the
        /// WebSocket with `invalid_request`.
        public static func receive(json: JSONValue) -> WebSocketStep { WebSocketStep(.socket(.expect(.json(json)))) }

        /// The server starts the closing handshake.
        ///
        /// - Parameters:
        ///   - code: 1000 to 1003, 1007 to 1014, or 3000 to 4999. Nil: a Close frame without a code.
        ///   - reason: At most 123 bytes of UTF-8.
        /// - Throws: `invalid_argument`.
        public static func close(code: Int? = 1000, reason: String = "") throws(NightjarError) -> WebSocketStep {
            let code = code.map(WebSocketCloseCode.init(clamping:))
            try WebSocketClosePayload.check(code, reason: reason)
            return WebSocketStep(.socket(.close(code, reason: reason)))
        }

        /// The connection is lost without a Close frame.
        public static var drop: WebSocketStep {
            WebSocketStep(
                .fail(
                    NightjarError(
                        .connectionLost, "the server closed the WebSocket connection without a Close frame (mock)",
                        phase: .receive, requestMayHaveBeenProcessed: true)))
        }
    }

    /// Returns the script of a WebSocket.
    func script(_ steps: [WebSocketStep], to request: ArrivedRequest) -> ExchangeScript {
        guard request.isWebSocketHandshake else {
            let error = NightjarError(
                .invalidRequest,
                "the mock route of \(request.method) \(request.url.redacted) responds only to WebSocket handshakes")
            return ExchangeScript([.init(.fail(error), after: delay)])
        }
        let head = ResponseHead(status: 101, reason: "Switching Protocols", headers: headers)
        return ExchangeScript([.init(.head(head), after: delay)] + steps.map { .init($0.event, after: $0.delay) })
    }
}

extension ArrivedRequest {
    /// Whether the request asks for an upgrade to WebSocket.
    var isWebSocketHandshake: Bool { headers.values("Upgrade").contains { $0.lowercased() == "websocket" } }
}
