import NIOCore
import NightjarHTTP

/// Reads the whole messages of one direction of a WebSocket without compression, to mock or to record it.
package struct WebSocketMessageReader: Sendable {
    package enum Event: Sendable {
        case message(WebSocketMessage)
        case ping(ByteBuffer)
        case pong
        /// The code is nil if the Close frame has none.
        case close(WebSocketCloseCode?, reason: String)
    }

    private var decoder: WebSocketFrameDecoder
    private var input = ByteBuffer()
    /// The parts of the message that has not ended.
    private var content = ByteBuffer()

    /// - Parameters:
    ///   - isClient: Whether the messages are those of the client.
    ///   - maximumMessage: The maximum size of a message in bytes.
    package init(ofClient isClient: Bool, maximumMessage: Int) {
        decoder = WebSocketFrameDecoder(
            allowsCompression: false, maximumMessage: maximumMessage, isMasked: isClient)
    }

    /// - Throws: `no_memory`.
    package mutating func add(_ bytes: ByteBuffer) throws(NightjarError) {
        input.discardReadBytes()
        try input.append(bytes, for: "the frames of a WebSocket")
    }

    /// Returns the next event, or nil if more bytes are needed.
    ///
    /// - Throws: `protocol` for invalid frames; `too_large`.
    package mutating func next() throws(NightjarError) -> Event? {
        while true {
            let event: WebSocketFrameDecoder.Event?
            do throws(WebSocketFailure) {
                event = try decoder.next(&input)
            } catch {
                throw error.error
            }
            switch event {
            case nil: return nil
            case .data(let piece):
                try content.append(piece.payload, for: "a WebSocket message")
                guard piece.endsMessage else { continue }
                defer { content = ByteBuffer() }
                return .message(WebSocketMessage(piece.kind, content))
            case .ping(let payload): return .ping(payload)
            case .pong: return .pong
            case .close(var payload):
                let code = payload.readInteger(as: UInt16.self).map(WebSocketCloseCode.init(rawValue:))
                return .close(code, reason: String(buffer: payload))
            }
        }
    }
}
