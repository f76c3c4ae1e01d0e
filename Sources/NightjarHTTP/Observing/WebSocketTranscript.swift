import NIOCore

/// The messages of a WebSocket connection, for an HTTP archive: the first ones, up to a limit.
package struct WebSocketTranscript: Sendable {
    package struct Entry: Sendable {
        package let isSent: Bool
        /// Seconds since 1970.
        package let time: Double
        package let kind: WebSocketFrame.Kind
        /// The message, or its beginning.
        package let payload: ByteBuffer
        /// The size of the message in bytes.
        package let length: Int
    }

    package private(set) var entries: [Entry] = []
    /// The number of later messages, which were not kept.
    package private(set) var omittedCount = 0
    private var size = 0

    package init() {}

    /// Keeps a copy of a message that was sent or received at `time`.
    package mutating func note(_ message: WebSocketMessage, isSent: Bool, at time: Double) {
        guard entries.count < WebSocketTranscript.maximumEntries, size < WebSocketTranscript.maximumSize else {
            omittedCount += 1
            return
        }
        // A copy, because the payload can be a slice of a much larger buffer.
        let kept = ByteBuffer(bytes: message.payload.readableBytesView.prefix(WebSocketTranscript.maximumSize - size))
        size += kept.readableBytes
        entries.append(
            Entry(
                isSent: isSent, time: time, kind: message.kind, payload: kept, length: message.payload.readableBytes))
    }

    private static let maximumEntries = 10_000
    /// The maximum size of all payloads, in bytes.
    private static let maximumSize = 1 << 20
}
