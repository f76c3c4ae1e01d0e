import NIOCore
import NightjarHTTP

extension RecordedExchange {
    /// A message or a Close frame of a WebSocket.
    package struct SocketMessage: Sendable, Equatable {
        package enum Content: Sendable, Equatable {
            /// JSON or text. `none` is an empty text.
            case text(RecordedBody)
            case binary(ByteBuffer)
            /// The code is nil for a Close frame without one.
            case close(Int?, String)

            package init(_ message: WebSocketMessage) {
                self = message.kind == .text ? .text(RecordedBody(message.payload)) : .binary(message.payload)
            }

            /// The content without its kind.
            package var body: RecordedBody {
                switch self {
                case .text(let body): body
                case .binary(let bytes): .binary(bytes)
                case .close(_, let reason): .text(reason)
                }
            }
        }

        /// Whether the client has sent the message.
        package var isSent: Bool
        package var content: Content
        /// Time since the previous message. For the first one, time since the response head.
        package var delay: Duration

        package init(isSent: Bool, _ content: Content, after delay: Duration) {
            self.isSent = isSent
            self.content = content
            self.delay = delay
        }

        /// Returns the message with another body. Close frames are not changed.
        func with(body: RecordedBody) -> SocketMessage {
            var copy = self
            if case .text = content { copy.content = .text(body) }
            return copy
        }
    }

    /// Returns the steps that replay the messages of a WebSocket.
    ///
    /// - Parameter expectation: Returns the comparison with a message that the client has sent.
    func steps(
        of messages: [SocketMessage], expectation: (SocketMessage.Content) -> ExpectedMessage
    ) -> [ExchangeScript.Step] {
        var steps: [ExchangeScript.Step] = []
        for message in messages {
            switch message.content {
            case .text, .binary:
                let action =
                    message.isSent
                    ? ExchangeScript.SocketAction.expect(expectation(message.content)) : .send(message.content.message)
                steps.append(.init(.socket(action), after: message.isSent ? .zero : message.delay))
            case .close(let code, let reason):
                // The response to the client's Close frame is automatic.
                guard !message.isSent else { return steps }
                let close = ExchangeScript.SocketAction.close(
                    code.map(WebSocketCloseCode.init(clamping:)), reason: reason)
                return steps + [.init(.socket(close), after: message.delay)]
            }
        }
        return steps
    }
}

extension RecordedExchange.Response {
    /// Whether the end of the response is a step of its own. A WebSocket ends with a Close frame, or was ended by the
    /// client.
    var endsByItself: Bool {
        guard let messages else { return true }
        return !isTruncated && !messages.contains { if case .close = $0.content { true } else { false } }
    }
}

extension RecordedExchange.SocketMessage.Content {
    fileprivate var message: WebSocketMessage {
        if case .binary(let bytes) = self {
            WebSocketMessage(.binary, bytes)
        } else {
            WebSocketMessage(.text, body.bytes)
        }
    }
}
