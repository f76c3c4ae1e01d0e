import NIOCore
import NightjarHTTP

/// The message that a mocked or replayed WebSocket waits for.
package struct ExpectedMessage: Sendable {
    /// Returns how a message differs from the expected one, as a clause. Nil if it does not.
    package let difference: @Sendable (WebSocketMessage) -> String?

    package init(difference: @escaping @Sendable (WebSocketMessage) -> String?) { self.difference = difference }

    package static let any = ExpectedMessage { _ in nil }

    /// A text message with exactly this text.
    package static func text(_ text: String) -> ExpectedMessage {
        ExpectedMessage { message in
            guard message.kind == .text else { return "it is binary" }
            return message.payload.readableBytesView.elementsEqual(text.utf8) ? nil : "it is not \(quoted(text))"
        }
    }

    /// A text message whose JSON contains this value; other members are ignored.
    package static func json(_ value: JSONValue) -> ExpectedMessage {
        ExpectedMessage { message in
            guard message.kind == .text else { return "it is binary" }
            guard let found = message.payload.withUnsafeReadableBytes({ try? JSONValue(parsing: $0) }) else {
                return "it is not JSON"
            }
            return value.firstDifference(from: found).map { place in
                "it differs at \(place.description.isEmpty ? "its root" : quoted(place.description))"
            }
        }
    }

    package static func binary(_ bytes: ByteBuffer) -> ExpectedMessage {
        ExpectedMessage { message in
            guard message.kind == .binary else { return "it is text" }
            return message.payload == bytes ? nil : "its bytes differ"
        }
    }

    /// Returns the error for a message that is not the expected one.
    package func mismatch(_ message: WebSocketMessage, number: Int) -> NightjarError? {
        guard let difference = difference(message) else { return nil }
        // The message is not shown, because it can contain secrets.
        return NightjarError(
            .invalidRequest, "message \(number) of the WebSocket client is not the expected one: \(difference)")
    }
}
