import DequeModule
import NIOCore
import NightjarHTTP
import NightjarTesting

/// The messages of the client of a mocked or replayed WebSocket.
struct MockSocketClient {
    private var reader = WebSocketMessageReader(ofClient: true, maximumMessage: MockExchange.largestBody)
    /// The messages that the script has not expected yet.
    private(set) var messages = Deque<WebSocketMessage>()
    private var takenCount = 0
    /// Whether the server has sent a Close frame.
    var isClosing = false

    /// Whether no more frames should be requested.
    var isFull: Bool { messages.count >= MockSocketClient.maximumCount }

    /// Compares the next message.
    ///
    /// - Throws: `invalid_request` for another message.
    mutating func take(_ expected: ExpectedMessage) throws(NightjarError) {
        guard let message = messages.popFirst() else { return }
        takenCount += 1
        if let error = expected.mismatch(message, number: takenCount) { throw error }
    }

    /// Handles frames of the client. Responds to Pings and to a Close frame.
    ///
    /// - Parameters:
    ///   - keeps: Whether messages are kept for ``take(_:)``.
    /// - Returns: The server's frames, and whether the closing handshake has ended.
    /// - Throws: `protocol` for invalid frames; `too_large`; `no_memory`.
    mutating func receive(
        _ frames: ByteBuffer, keeps: Bool
    ) throws(NightjarError) -> (responses: [ByteBuffer], hasClosed: Bool) {
        try reader.add(frames)
        var responses: [ByteBuffer] = []
        while let event = try reader.next() {
            switch event {
            case .message(let message): if keeps, !isClosing { messages.append(message) }
            case .ping(let payload): if !isClosing { responses.append(try WebSocketServerFrames.pong(payload)) }
            case .pong: break
            case .close(let code, let reason):
                if !isClosing { responses.append(try WebSocketServerFrames.close(code, reason: reason)) }
                return (responses, true)
            }
        }
        return (responses, false)
    }

    /// The number of messages that are kept before the client must wait.
    private static let maximumCount = 1000
}
