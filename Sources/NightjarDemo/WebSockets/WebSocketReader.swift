import NIOCore

/// A text or binary message without framing and compression.
struct WebSocketMessage: Equatable {
    let isText: Bool
    let bytes: ByteBuffer

    static func text(_ text: String) -> WebSocketMessage {
        WebSocketMessage(isText: true, bytes: ByteBuffer(string: text))
    }
}

/// Reads messages and control frames from the bytes of a client: joins fragments, decompresses, and checks UTF-8.
///
/// After a violation, the reader must not be used again.
struct WebSocketReader {
    enum Event: Equatable {
        case message(WebSocketMessage)
        case ping(ByteBuffer)
        case pong(ByteBuffer)
        case close(WebSocketClosure)
    }

    /// The fragments of a message received so far.
    private struct Partial {
        let isText: Bool
        let isCompressed: Bool
        var bytes: ByteBuffer
    }

    /// The default limit of a message, before and after decompression, in bytes.
    static let messageLimit = 16 << 20

    private let limit: Int
    private let inflater: MessageInflater?
    private var decoder: WebSocketFrameDecoder
    private var partial: Partial?

    /// - Parameters:
    ///   - inflater: nil if permessage-deflate was not negotiated.
    ///   - limit: the maximum size of a message in bytes.
    init(inflater: MessageInflater?, limit: Int = WebSocketReader.messageLimit) {
        self.inflater = inflater
        self.limit = limit
        decoder = WebSocketFrameDecoder(allowsCompression: inflater != nil, limit: limit)
    }

    mutating func append(_ bytes: ByteBuffer) { decoder.append(bytes) }

    /// Returns the next event, or nil if more bytes are needed.
    mutating func next() throws(WebSocketViolation) -> Event? {
        while let frame = try decoder.next() {
            switch frame.opcode {
            case .ping: return .ping(frame.payload)
            case .pong: return .pong(frame.payload)
            case .close: return .close(try WebSocketClosure(frame.payload))
            case .text, .binary, .continuation:
                if let message = try add(frame) { return .message(message) }
            }
        }
        return nil
    }

    /// Adds a frame of a message. Returns the message if the frame is its last one.
    private mutating func add(_ frame: WebSocketFrame) throws(WebSocketViolation) -> WebSocketMessage? {
        if frame.opcode == .continuation {
            guard let started = partial?.bytes.readableBytes else {
                throw WebSocketViolation(.protocolError, "a continuation frame follows no fragment")
            }
            guard frame.payload.readableBytes <= limit - started else { throw tooLarge }
            partial?.bytes.writeImmutableBuffer(frame.payload)
        } else {
            guard partial == nil else {
                throw WebSocketViolation(.protocolError, "a message starts before the previous message has ended")
            }
            partial = Partial(
                isText: frame.opcode == .text, isCompressed: frame.isCompressed, bytes: frame.payload)
        }
        guard frame.isFinal, let complete = partial.take() else { return nil }
        return try message(complete)
    }

    private func message(_ complete: Partial) throws(WebSocketViolation) -> WebSocketMessage {
        var bytes = complete.bytes
        if complete.isCompressed, let inflater {
            switch inflater.inflate(bytes, limit: limit) {
            case .message(let inflated): bytes = inflated
            case .invalid: throw WebSocketViolation(.invalidData, "the message is not valid deflate data")
            case .tooLarge: throw tooLarge
            }
        }
        guard !complete.isText || bytes.isUTF8 else {
            throw WebSocketViolation(.invalidData, "the text message is not UTF-8")
        }
        return WebSocketMessage(isText: complete.isText, bytes: bytes)
    }

    private var tooLarge: WebSocketViolation {
        WebSocketViolation(.tooLarge, "the message is larger than \(limit) bytes")
    }
}

extension ByteBuffer {
    fileprivate var isUTF8: Bool { String(validating: readableBytesView, as: UTF8.self) != nil }
}
