import NIOCore

/// Decodes the frames of a client (RFC 6455 section 5.2). Each rule is checked when the first byte that violates it has
/// arrived.
///
/// Buffers at most one frame and the bytes of the last read.
struct WebSocketFrameDecoder {
    private struct Header {
        let isFinal: Bool
        let isCompressed: Bool
        let opcode: WebSocketOpcode
        let mask: UInt32
        let length: Int
        /// The size of the header in bytes.
        let size: Int
    }

    /// The maximum size of a control frame's payload in bytes (RFC 6455 section 5.5).
    private static let controlLimit = 125

    private let allowsCompression: Bool
    private let limit: Int
    private var pending = ByteBuffer()

    /// - Parameters:
    ///   - allowsCompression: true if permessage-deflate was negotiated.
    ///   - limit: the maximum size of a frame's payload in bytes.
    init(allowsCompression: Bool, limit: Int) {
        self.allowsCompression = allowsCompression
        self.limit = limit
    }

    mutating func append(_ bytes: ByteBuffer) {
        if pending.readableBytes == 0 {
            pending = bytes
        } else {
            pending.discardReadBytes()
            pending.writeImmutableBuffer(bytes)
        }
    }

    /// Returns the next complete frame, or nil if more bytes are needed.
    mutating func next() throws(WebSocketViolation) -> WebSocketFrame? {
        guard let header = try header(), pending.readableBytes >= header.size + header.length else { return nil }
        pending.moveReaderIndex(forwardBy: header.size)
        guard var payload = pending.readSlice(length: header.length) else { return nil }
        payload.unmask(header.mask)
        return WebSocketFrame(
            isFinal: header.isFinal, isCompressed: header.isCompressed, opcode: header.opcode, payload: payload)
    }

    private func header() throws(WebSocketViolation) -> Header? {
        guard let first: UInt8 = byte(0) else { return nil }
        let (isFinal, isCompressed) = (first & 0x80 != 0, first & 0x40 != 0)
        guard let opcode = WebSocketOpcode(rawValue: first & 0x0F) else {
            throw WebSocketViolation(.protocolError, "opcode \(first & 0x0F) is reserved")
        }
        guard first & 0x30 == 0, !isCompressed || (allowsCompression && (opcode == .text || opcode == .binary)) else {
            throw WebSocketViolation(.protocolError, "a reserved bit is set")
        }
        guard isFinal || !opcode.isControl else {
            throw WebSocketViolation(.protocolError, "a control frame is fragmented")
        }
        guard let second: UInt8 = byte(1) else { return nil }
        guard second & 0x80 != 0 else { throw WebSocketViolation(.protocolError, "the frame is not masked") }
        guard !opcode.isControl || second & 0x7F <= WebSocketFrameDecoder.controlLimit else {
            throw WebSocketViolation(.protocolError, "the payload of a control frame is longer than 125 bytes")
        }
        guard let (length, lengthSize) = try length(second & 0x7F) else { return nil }
        let mask = pending.getInteger(at: pending.readerIndex + 2 + lengthSize, as: UInt32.self)
        guard let mask else { return nil }
        return Header(
            isFinal: isFinal, isCompressed: isCompressed, opcode: opcode, mask: mask, length: length,
            size: 2 + lengthSize + 4)
    }

    /// Returns the length of the payload and the size of the extended length in bytes.
    private func length(_ short: UInt8) throws(WebSocketViolation) -> (length: Int, size: Int)? {
        let start = pending.readerIndex + 2
        let length: UInt64
        switch short {
        case 126:
            guard let extended = pending.getInteger(at: start, as: UInt16.self) else { return nil }
            guard extended > 125 else { throw WebSocketFrameDecoder.notShortest }
            length = UInt64(extended)
        case 127:
            guard let extended = pending.getInteger(at: start, as: UInt64.self) else { return nil }
            guard extended > UInt64(UInt16.max) else { throw WebSocketFrameDecoder.notShortest }
            guard extended <= UInt64(Int64.max) else {
                throw WebSocketViolation(.protocolError, "the most significant bit of the length is set")
            }
            length = extended
        default:
            return (Int(short), 0)
        }
        guard length <= UInt64(limit) else {
            throw WebSocketViolation(.tooLarge, "the frame is larger than \(limit) bytes")
        }
        return (Int(length), short == 126 ? 2 : 8)
    }

    private func byte(_ offset: Int) -> UInt8? { pending.getInteger(at: pending.readerIndex + offset) }

    private static let notShortest = WebSocketViolation(
        .protocolError, "the length of the payload is not in the shortest form")
}

extension ByteBuffer {
    /// Applies a mask to the readable bytes (RFC 6455 section 5.3).
    mutating func unmask(_ mask: UInt32) {
        let wide = (UInt64(mask) << 32 | UInt64(mask)).bigEndian
        withUnsafeMutableReadableBytes { bytes in
            var offset = 0
            while offset + 8 <= bytes.count {
                let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                bytes.storeBytes(of: word ^ wide, toByteOffset: offset, as: UInt64.self)
                offset += 8
            }
            while offset < bytes.count {
                bytes[offset] ^= UInt8(truncatingIfNeeded: mask >> (24 - 8 * UInt32(offset % 4)))
                offset += 1
            }
        }
    }
}
