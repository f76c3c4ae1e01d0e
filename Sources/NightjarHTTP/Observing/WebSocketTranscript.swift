import NIOCore

/// The messages of a WebSocket connection, for an HTTP archive: the first ones, up to a limit.
package struct WebSocketTranscript: Sendable {
    package struct Entry: Sendable {
        package let isSent: Bool
        /// Seconds since 1970.
        package let time: Double
        package let kind: WebSocketFrame.Kind
        /// The message, or its beginning.
        package fileprivate(set) var payload: ByteBuffer
        /// The size of the message in bytes.
        package fileprivate(set) var length: Int
    }

    package private(set) var entries: [Entry] = []
    /// The number of later messages, which were not kept.
    package private(set) var omittedCount = 0
    private var size = 0
    /// The index of the received message whose pieces arrive. Nil: none, or it is not kept.
    private var current: Int?

    package init() {}

    /// Keeps a copy of a message, or adds a received piece to its message.
    ///
    /// - Parameter time: When the message was sent or its first piece was received.
    package mutating func note(_ message: WebSocketMessage, isSent: Bool, at time: Double) {
        guard message.startsMessage else { return add(message) }
        guard entries.count < WebSocketTranscript.maximumEntries, size < WebSocketTranscript.maximumSize else {
            omittedCount += 1
            return
        }
        // A copy, because the payload can be a slice of a much larger buffer.
        let kept = ByteBuffer(bytes: message.payload.readableBytesView.prefix(WebSocketTranscript.maximumSize - size))
        size += kept.readableBytes
        if !message.endsMessage { current = entries.count }
        entries.append(
            Entry(
                isSent: isSent, time: time, kind: message.kind, payload: kept, length: message.payload.readableBytes))
    }

    /// Adds a later piece of a message.
    private mutating func add(_ piece: WebSocketMessage) {
        guard let current else { return }
        let kept = piece.payload.readableBytesView.prefix(WebSocketTranscript.maximumSize - size)
        size += kept.count
        entries[current].payload.writeBytes(kept)
        entries[current].length += piece.payload.readableBytes
        if piece.endsMessage { self.current = nil }
    }

    private static let maximumEntries = 10_000
    /// The maximum size of all payloads, in bytes.
    private static let maximumSize = 1 << 20
}
