import NIOCore
import NightjarHTTP
import NightjarTesting

/// Reads the messages of both directions of a WebSocket, up to a limit.
struct SocketRecorder {
    private var client: WebSocketMessageReader
    private var server: WebSocketMessageReader
    private let maximumSize: Int
    private var size = 0
    private var count = 0

    /// - Parameter maximumSize: The maximum size of all messages in bytes.
    init(maximumSize: Int) {
        self.maximumSize = maximumSize
        client = WebSocketMessageReader(ofClient: true, maximumMessage: maximumSize)
        server = WebSocketMessageReader(ofClient: false, maximumMessage: maximumSize)
    }

    /// Returns the messages and Close frames that end in `frames`.
    ///
    /// - Throws: `too_large` beyond the limit; `protocol` for invalid frames; `no_memory`.
    mutating func read(
        _ frames: ByteBuffer, isSent: Bool
    ) throws(NightjarError) -> [(isSent: Bool, content: RecordedExchange.SocketMessage.Content)] {
        if isSent { try client.add(frames) } else { try server.add(frames) }
        var contents: [(isSent: Bool, content: RecordedExchange.SocketMessage.Content)] = []
        while let event = try isSent ? client.next() : server.next() {
            switch event {
            case .message(let message):
                size += message.payload.readableBytes
                count += 1
                guard size <= maximumSize, count <= SocketRecorder.maximumCount else {
                    throw NightjarError(.tooLarge, "the messages of the WebSocket are too large to be recorded")
                }
                contents.append((isSent, .init(message)))
            case .close(let code, let reason): contents.append((isSent, .close(code.map { Int($0.rawValue) }, reason)))
            case .ping, .pong: break
            }
        }
        return contents
    }

    /// The maximum number of messages of one WebSocket.
    private static let maximumCount = 100_000
}
