import NIOCore

/// The types and limits of frames. RFC 6455 section 5.2.
package enum WebSocketFrame {
    package enum Opcode: UInt8, Sendable {
        case continuation = 0
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10

        /// The type of a control frame has this bit. Section 5.5.
        static let controlBit: UInt8 = 8
    }

    /// The type of a message.
    package enum Kind: Sendable, Equatable {
        case text, binary

        var opcode: Opcode { self == .text ? .text : .binary }
    }

    /// The maximum size of the payload of a control frame, in bytes. Section 5.5.
    package static let maximumControl = 125
    /// The maximum size of the reason in a Close frame, in bytes of UTF-8.
    package static let maximumReason = maximumControl - 2

    static let finalBit: UInt8 = 0x80
    /// The first reserved bit. Marks the first frame of a compressed message. RFC 7692 section 6.
    static let compressedBit: UInt8 = 0x40
    static let maskBit: UInt8 = 0x80
}

/// A message, or a piece of a message.
package struct WebSocketMessage: Sendable, Equatable {
    package var kind: WebSocketFrame.Kind
    package var payload: ByteBuffer
    /// True for the first piece and for a whole message.
    package var startsMessage: Bool
    /// True for the last piece and for a whole message.
    package var endsMessage: Bool

    /// - Parameters:
    ///   - startsMessage: false for a later piece of a message.
    ///   - endsMessage: false for a piece that other pieces follow.
    package init(
        _ kind: WebSocketFrame.Kind, _ payload: ByteBuffer, startsMessage: Bool = true, endsMessage: Bool = true
    ) {
        self.kind = kind
        self.payload = payload
        self.startsMessage = startsMessage
        self.endsMessage = endsMessage
    }

    package static func text(_ text: String) -> WebSocketMessage { WebSocketMessage(.text, ByteBuffer(string: text)) }
}
