import NightjarHTTP
import NightjarTransport

/// The messages of the WebSocket that a call has opened. Exists only if an observer keeps messages.
final class MessageTranscript: CallState {
    static let key = CallStateKey<MessageTranscript>()

    private(set) var messages = WebSocketTranscript()

    func note(_ message: WebSocketMessage, isSent: Bool) {
        messages.note(message, isSent: isSent, at: WallClock.secondsSince1970())
    }
}
