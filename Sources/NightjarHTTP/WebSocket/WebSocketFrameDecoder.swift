import NIOCore

/// Parses the bytes of a server, or of a client, into frames. RFC 6455 section 5.
///
/// The payload of data frames is returned as it arrives. The decoder stores at most the payload of one control frame
/// (125 bytes). The result does not depend on how the data is split into reads.
///
///     first ──▶ second ──▶ length ──▶ mask ──▶ payload ──end──▶ first     any ──violation──▶ failed (permanent)
///                 └─────────length below 126──▲    a server's frame has no mask key
package struct WebSocketFrameDecoder: Sendable {
    package enum Event: Sendable {
        case data(Piece)
        case ping(ByteBuffer)
        case pong(ByteBuffer)
        case close(ByteBuffer)
    }

    /// Part of the payload of a data frame. A slice of the input, not a copy, unless the frame is masked.
    package struct Piece: Sendable {
        package var kind: WebSocketFrame.Kind
        package var isCompressed: Bool
        package var payload: ByteBuffer
        package var startsMessage: Bool
        package var endsMessage: Bool
    }

    /// The message of the current frame, or of the frame that was received last.
    private struct Message {
        let kind: WebSocketFrame.Kind
        let isCompressed: Bool
        /// The sum of the lengths of its frames, in bytes.
        var size = 0
        var isStarted = false
    }

    private struct Frame {
        var opcode = WebSocketFrame.Opcode.continuation
        var isFinal = false

        var isControl: Bool { opcode.rawValue & WebSocketFrame.Opcode.controlBit != 0 }
    }

    private enum State {
        case first
        case second
        /// - Parameter missing: the number of bytes of the length that have not arrived, of `total`.
        case length(UInt64, missing: Int, total: Int)
        /// - Parameter missing: the number of bytes of the mask key that have not arrived.
        case mask(UInt32, missing: Int, length: Int)
        case payload(remaining: Int)
        case failed(WebSocketFailure)
    }

    private let allowsCompression: Bool
    private let maximumMessage: Int
    /// Whether the frames are those of a client.
    private let isMasked: Bool
    /// The mask key of the frame, rotated to the next byte of the payload.
    private var mask: UInt32 = 0
    private var state = State.first
    private var frame = Frame()
    /// Nil between messages.
    private var message: Message?
    /// The beginning of the payload of a control frame.
    private var control = ByteBuffer()

    /// - Parameters:
    ///   - allowsCompression: true if permessage-deflate was negotiated.
    ///   - maximumMessage: the maximum size of a message, in bytes. A larger message is rejected before its payload
    ///     arrives.
    ///   - isMasked: true for the frames of a client.
    package init(allowsCompression: Bool, maximumMessage: Int, isMasked: Bool = false) {
        self.allowsCompression = allowsCompression
        self.isMasked = isMasked
        self.maximumMessage = maximumMessage
    }

    /// Returns the next event and consumes its bytes from `buffer`. Returns nil if all of `buffer` was consumed and
    /// more data is needed.
    ///
    /// - Throws: a violation (1002) or a message above the limit (1009). Later calls throw the same failure.
    package mutating func next(_ buffer: inout ByteBuffer) throws(WebSocketFailure) -> Event? {
        do throws(WebSocketFailure) {
            return try advance(&buffer)
        } catch {
            state = .failed(error)
            control = ByteBuffer()
            throw error
        }
    }

    private mutating func advance(_ buffer: inout ByteBuffer) throws(WebSocketFailure) -> Event? {
        while true {
            switch state {
            case .first:
                guard let byte = buffer.readInteger(as: UInt8.self) else { return nil }
                try readFirst(byte)
                state = .second
            case .second:
                guard let byte = buffer.readInteger(as: UInt8.self) else { return nil }
                try readSecond(byte)
            case .length(let value, let missing, let total):
                guard let byte = buffer.readInteger(as: UInt8.self) else { return nil }
                let sum = value << 8 | UInt64(byte)
                guard missing == 1 else {
                    state = .length(sum, missing: missing - 1, total: total)
                    continue
                }
                try readLength(sum, bytes: total)
            case .mask(let key, let missing, let length):
                guard let byte = buffer.readInteger(as: UInt8.self) else { return nil }
                mask = key << 8 | UInt32(byte)
                state = missing == 1 ? .payload(remaining: length) : .mask(mask, missing: missing - 1, length: length)
            case .payload(let remaining):
                guard let event = frame.isControl ? controlEvent(&buffer, remaining) : dataEvent(&buffer, remaining)
                else { return nil }
                return event
            case .failed(let failure): throw failure
            }
        }
    }

    // MARK: Headers

    private mutating func readFirst(_ byte: UInt8) throws(WebSocketFailure) {
        guard byte & 0x30 == 0 else { throw .violation("a frame has the reserved bit RSV2 or RSV3") }
        guard let opcode = WebSocketFrame.Opcode(rawValue: byte & 0x0F) else {
            throw .violation("a frame has the reserved opcode \(byte & 0x0F)")
        }
        frame = Frame(opcode: opcode, isFinal: byte & WebSocketFrame.finalBit != 0)
        let isCompressed = byte & WebSocketFrame.compressedBit != 0
        guard !isCompressed || allowsCompression else {
            throw .violation("a frame has the reserved bit RSV1, but no extension was negotiated that uses it")
        }
        switch opcode {
        case .close, .ping, .pong:
            guard !isCompressed else { throw .violation("a control frame is compressed") }
            guard frame.isFinal else { throw .violation("a control frame is fragmented") }
        case .continuation:
            guard message != nil else { throw .violation("a continuation frame follows no unfinished message") }
            guard !isCompressed else {
                throw .violation("a continuation frame has the reserved bit RSV1, which only the first frame may have")
            }
        case .text, .binary:
            guard message == nil else { throw .violation("a message starts before the previous message has ended") }
            message = Message(kind: opcode == .text ? .text : .binary, isCompressed: isCompressed)
        }
    }

    private mutating func readSecond(_ byte: UInt8) throws(WebSocketFailure) {
        guard (byte & WebSocketFrame.maskBit != 0) == isMasked else {
            throw .violation(isMasked ? "a frame of the client is not masked" : "a frame of the server is masked")
        }
        let length = byte & ~WebSocketFrame.maskBit
        guard !frame.isControl || length <= WebSocketFrame.maximumControl else {
            throw .violation("a control frame has more than \(WebSocketFrame.maximumControl) bytes")
        }
        switch length {
        case 126: state = .length(0, missing: 2, total: 2)
        case 127: state = .length(0, missing: 8, total: 8)
        default: try readLength(UInt64(length), bytes: 0)
        }
    }

    private mutating func readLength(_ length: UInt64, bytes: Int) throws(WebSocketFailure) {
        guard length <= UInt64(Int64.max) else { throw .violation("the length of a frame is 2^63 or more") }
        guard bytes == 0 || length > (bytes == 2 ? 125 : 0xFFFF) else {
            throw .violation("the length \(length) of a frame is encoded in \(bytes) bytes, which is not minimal")
        }
        if !frame.isControl { try admit(length) }
        state = isMasked ? .mask(0, missing: 4, length: Int(length)) : .payload(remaining: Int(length))
    }

    /// Checks the length of a data frame against the limit.
    private mutating func admit(_ length: UInt64) throws(WebSocketFailure) {
        guard let message else { return }
        let limit = message.isCompressed ? maximumCompressed : maximumMessage
        guard length <= UInt64(max(limit - message.size, 0)) else { throw .tooBig(limit: maximumMessage) }
        self.message?.size = message.size + Int(length)
    }

    /// The maximum size of a compressed message before its decompression. Deflate data that is flushed after each byte
    /// is seven times as large as the bytes. The decompressed size is checked while the message is decompressed.
    private var maximumCompressed: Int {
        let (size, overflow) = maximumMessage.multipliedReportingOverflow(by: 8)
        return overflow ? .max : max(size, 1024)
    }

    // MARK: Payloads

    private mutating func dataEvent(_ buffer: inout ByteBuffer, _ remaining: Int) -> Event? {
        guard let message else { return nil }
        let count = min(remaining, buffer.readableBytes)
        guard count > 0 || remaining == 0, let payload = readPayload(&buffer, count) else { return nil }
        let endsFrame = count == remaining
        let piece = Piece(
            kind: message.kind, isCompressed: message.isCompressed, payload: payload,
            startsMessage: !message.isStarted, endsMessage: endsFrame && frame.isFinal)
        if piece.endsMessage { self.message = nil } else { self.message?.isStarted = true }
        state = endsFrame ? .first : .payload(remaining: remaining - count)
        return .data(piece)
    }

    /// Reads bytes of the payload. Unmasks a copy of them if the frame is masked. Section 5.3.
    private mutating func readPayload(_ buffer: inout ByteBuffer, _ count: Int) -> ByteBuffer? {
        guard let payload = buffer.readSlice(length: count) else { return nil }
        guard isMasked else { return payload }
        let key = mask
        let rotation = UInt32(count % 4 * 8)
        mask = rotation == 0 ? key : key << rotation | key >> (32 - rotation)
        var plain = ByteBuffer()
        plain.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { room in
            payload.withUnsafeReadableBytes { WebSocketFrameEncoder.copy($0, masked: key, to: room) }
            return count
        }
        return plain
    }

    private mutating func controlEvent(_ buffer: inout ByteBuffer, _ remaining: Int) -> Event? {
        let count = min(remaining, buffer.readableBytes)
        guard var payload = readPayload(&buffer, count) else { return nil }
        if count < remaining || control.readableBytes > 0 {
            control.writeBuffer(&payload)
            guard count == remaining else {
                state = .payload(remaining: remaining - count)
                return nil
            }
            payload = control
            control = ByteBuffer()
        }
        state = .first
        return switch frame.opcode {
        case .close: .close(payload)
        case .ping: .ping(payload)
        case .pong, .continuation, .text, .binary: .pong(payload)
        }
    }
}
