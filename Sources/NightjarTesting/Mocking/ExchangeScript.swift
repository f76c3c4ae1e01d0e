import NIOCore
import NightjarHTTP

/// The events of one exchange and their times. Mock responses and recorded exchanges are converted to this form.
package struct ExchangeScript: Sendable {
    package enum Event: Sendable {
        case head(ResponseHead)
        case body(ByteBuffer)
        case finish(trailers: Headers)
        case fail(NightjarError)
        /// Only after an upgrade to WebSocket.
        case socket(SocketAction)
    }

    /// An action of a WebSocket server.
    package enum SocketAction: Sendable {
        case send(WebSocketMessage)
        /// Waits for a message of the client.
        case expect(ExpectedMessage)
        /// Sends a Close frame and waits for the client's Close frame, which ends the exchange. The code is nil for a
        /// Close frame without one.
        case close(WebSocketCloseCode?, reason: String)
    }

    package struct Step: Sendable {
        /// Time since the previous step. For the first step, time since the request was sent.
        package var delay: Duration
        package var event: Event

        package init(_ event: Event, after delay: Duration = .zero) {
            self.event = event
            self.delay = delay
        }
    }

    /// The events in order. If the last event is neither `finish` nor `fail`, the exchange never ends by itself.
    package var steps: [Step]
    /// True if the connection could not be opened and nothing was sent.
    package var failsBeforeSending = false

    package init(_ steps: [Step]) { self.steps = steps }
}
