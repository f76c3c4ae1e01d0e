import NIOCore

/// The type of a frame (RFC 6455 section 5.2).
enum WebSocketOpcode: UInt8 {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= 8 }
}

/// A frame from a client, without its mask.
struct WebSocketFrame: Equatable {
    var isFinal = true
    /// RSV1, which marks a compressed message (RFC 7692 section 6).
    var isCompressed = false
    let opcode: WebSocketOpcode
    let payload: ByteBuffer
}

/// The header of a frame that the server sends. The fields can be invalid, so that the server can violate the protocol.
struct WebSocketFrameHeader {
    var isFinal = true
    /// The reserved bits. RSV1 is 4, RSV2 is 2, RSV3 is 1.
    var reserved: UInt8 = 0
    /// Four bits.
    let opcode: UInt8
    /// A server must not mask its frames.
    var mask: UInt32?
    /// The length of the payload in bytes. Sent in the shortest form.
    let length: Int

    func write(to bytes: inout ByteBuffer) {
        bytes.writeInteger((isFinal ? 0x80 : 0) | reserved << 4 | opcode)
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        if length < 126 {
            bytes.writeInteger(maskBit | UInt8(truncatingIfNeeded: length))
        } else if let short = UInt16(exactly: length) {
            bytes.writeInteger(maskBit | 126)
            bytes.writeInteger(short)
        } else {
            bytes.writeInteger(maskBit | 127)
            bytes.writeInteger(UInt64(length))
        }
        if let mask { bytes.writeInteger(mask) }
    }

    /// Returns a complete frame.
    ///
    /// - Parameter reserved: the reserved bits.
    static func frame(
        _ opcode: WebSocketOpcode, _ payload: ByteBuffer, isFinal: Bool = true, reserved: UInt8 = 0
    ) -> ByteBuffer {
        frame(opcode.rawValue, payload, isFinal: isFinal, reserved: reserved)
    }

    static func frame(
        _ opcode: UInt8, _ payload: ByteBuffer, isFinal: Bool = true, reserved: UInt8 = 0
    ) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.reserveCapacity(payload.readableBytes + maximumSize)
        WebSocketFrameHeader(isFinal: isFinal, reserved: reserved, opcode: opcode, length: payload.readableBytes)
            .write(to: &bytes)
        bytes.writeImmutableBuffer(payload)
        return bytes
    }

    /// The size of the longest header in bytes.
    private static let maximumSize = 14
}

/// A violation of the protocol or of a limit by the client. The server closes the connection.
struct WebSocketViolation: Error, Equatable {
    let code: WebSocketCloseCode
    let reason: String

    init(_ code: WebSocketCloseCode, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
