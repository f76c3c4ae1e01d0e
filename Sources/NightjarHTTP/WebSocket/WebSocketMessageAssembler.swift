import NIOCore

/// Turns the payload of data frames into messages: decompresses it, checks text, and enforces the maximum size.
///
/// Pull-based: call ``add(_:)`` with a piece, then ``next()`` until it returns nil. A piece is decompressed only when
/// ``next()`` is called, and at most 64 KiB at a time, so a small frame that expands to gigabytes takes bounded memory.
/// RFC 6455 sections 5.6 and 8.1, RFC 7692 section 7.2.2.
struct WebSocketMessageAssembler: ~Copyable {
    private let maximumMessage: Int
    private let deliversPieces: Bool
    private let compressor: (any WebSocketCompressor)?

    /// The piece that was not processed completely.
    private var piece: WebSocketFrameDecoder.Piece?
    /// The message so far; with ``deliversPieces``, the piece that is delivered next.
    private var content = ByteBuffer()
    private var text = UTF8Validator()
    /// The number of bytes of `content` that `text` has checked.
    private var checked = 0
    /// The size of the message so far, in bytes.
    private var size = 0
    /// True if a piece of the current message was delivered.
    private var isStarted = false

    init(_ settings: WebSocketConnectionSettings, _ compressor: (any WebSocketCompressor)?) {
        maximumMessage = max(settings.maximumMessage, 0)
        deliversPieces = settings.deliversPieces
        self.compressor = compressor
    }

    /// Adds a piece. ``next()`` must have returned nil.
    mutating func add(_ piece: WebSocketFrameDecoder.Piece) { self.piece = piece }

    /// Returns a message, or a piece of a message. Returns nil if the next piece is needed.
    mutating func next() throws(WebSocketFailure) -> WebSocketMessage? {
        while var piece {
            let isDone: Bool
            do throws(NightjarError) {
                isDone = try piece.isCompressed ? inflate(&piece) : append(&piece)
            } catch {
                // zlib may produce the last bytes and find the error in one step.
                throw size > maximumMessage ? .tooBig(limit: maximumMessage) : .of(error)
            }
            self.piece = isDone ? nil : piece
            let ends = isDone && piece.endsMessage
            if piece.kind == .text { try checkText(ends: ends && size <= maximumMessage) }
            guard size <= maximumMessage else { throw .tooBig(limit: maximumMessage) }
            guard ends || deliversPieces else { continue }
            let held = ends || piece.kind == .binary ? 0 : incompleteLength
            guard ends || content.readableBytes > held else { continue }
            return take(piece.kind, ends: ends, holding: held)
        }
        return nil
    }

    /// Checks the new bytes within the limit. Otherwise, the failure would depend on how the data was split.
    private mutating func checkText(ends: Bool) throws(WebSocketFailure) {
        let end = content.readableBytes - max(size - maximumMessage, 0)
        let isValid = content.withUnsafeReadableBytes {
            text.accepts(UnsafeRawBufferPointer(rebasing: $0[checked..<end]))
        }
        checked = end
        guard isValid else { throw .invalidPayload("a text message is not UTF-8") }
        guard !ends || text.isComplete else {
            throw .invalidPayload("a text message is not UTF-8: it ends in the middle of a code point")
        }
    }

    /// The size of the incomplete code point at the end of the text so far, in bytes.
    private var incompleteLength: Int {
        guard !text.isComplete else { return 0 }
        let tail = content.readableBytesView.reversed().prefix { $0 & 0xC0 == 0x80 }
        return tail.count + 1
    }

    /// - Parameter held: the number of bytes at the end that belong to the next piece.
    private mutating func take(_ kind: WebSocketFrame.Kind, ends: Bool, holding held: Int) -> WebSocketMessage {
        let payload = content.readSlice(length: content.readableBytes - held) ?? ByteBuffer()
        let message = WebSocketMessage(kind, payload, startsMessage: !isStarted, endsMessage: ends)
        // A copy, which does not retain the storage of the delivered bytes.
        content = held == 0 ? ByteBuffer() : ByteBuffer(bytes: content.readableBytesView)
        checked = held
        isStarted = !ends
        if ends {
            size = 0
            text = UTF8Validator()
        }
        return message
    }

    /// - Returns: true if the piece was appended completely.
    private mutating func append(_ piece: inout WebSocketFrameDecoder.Piece) throws(NightjarError) -> Bool {
        let count = min(piece.payload.readableBytes, room)
        let payload = piece.payload.readSlice(length: count) ?? ByteBuffer()
        size += count
        if content.readableBytes == 0 {
            // The message usually consists of one piece, which is then not copied.
            content = payload
        } else {
            try content.append(payload, for: "a WebSocket message")
        }
        return piece.payload.readableBytes == 0
    }

    /// The number of bytes that the message so far, or the next piece of it, may grow in one step.
    private var room: Int {
        deliversPieces ? WebSocketConnectionSettings.largestPiece - content.readableBytes : .max
    }

    /// - Returns: true if the piece was decompressed completely.
    private mutating func inflate(_ piece: inout WebSocketFrameDecoder.Piece) throws(NightjarError) -> Bool {
        guard let compressor else { return true }
        let before = content.readableBytes
        // One byte more than allowed shows that the message is too large.
        let room = min(max(maximumMessage - size, 0), min(self.room, WebSocketConnectionSettings.largestPiece) - 1) + 1
        defer { size += content.readableBytes - before }
        return try compressor.inflate(&piece.payload, endsMessage: piece.endsMessage, into: &content, maximum: room)
    }
}
