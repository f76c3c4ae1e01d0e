import NIOCore

/// Frames the parts of a streamed request body and enforces the declared length.
///
/// If a body is shorter than declared, the server reads the next request as the rest of that body. A wrong length is
/// therefore an error, and the connection must be closed.
public struct HTTP1BodyEncoder: Sendable {
    private enum Framing {
        case length(remaining: Int)
        case chunked
        /// Bytes after an upgrade.
        case unframed
        case ended
    }

    private var framing: Framing

    public init(_ framing: BodyFraming) {
        self.framing =
            switch framing {
            case .absent: .length(remaining: 0)
            case .length(let count): .length(remaining: count)
            case .chunked: .chunked
            case .upgrade: .unframed
            }
    }

    /// Calls `send` with up to three buffers for `part`, in order. The content is not copied.
    ///
    /// - Throws: `invalid_request` if the declared length is exceeded or the body has ended.
    public mutating func encode(
        _ part: ByteBuffer, _ send: (ByteBuffer) -> Void
    ) throws(NightjarError) {
        let count = part.readableBytes
        // An empty chunk would end the body.
        guard count > 0 else { return }
        switch framing {
        case .length(let remaining):
            guard count <= remaining else {
                framing = .ended
                throw NightjarError(
                    .invalidRequest,
                    "the request body is at least \(count - remaining) bytes longer than its declared length",
                    phase: .send)
            }
            framing = .length(remaining: remaining - count)
            send(part)
        case .chunked:
            var size = ByteBufferAllocator().buffer(capacity: 18)
            size.writeString(String(count, radix: 16))
            size.writeStaticString("\r\n")
            send(size)
            send(part)
            send(HTTP1BodyEncoder.chunkEnd)
        case .unframed: send(part)
        case .ended:
            throw NightjarError(
                .invalidRequest, "the request body has already ended; do not send more data", phase: .send)
        }
    }

    /// Ends the body. Calls `send` with the last chunk if the body is chunked.
    ///
    /// - Throws: `invalid_request` if the body is shorter than its declared length.
    public mutating func finish(_ send: (ByteBuffer) -> Void) throws(NightjarError) {
        defer { framing = .ended }
        switch framing {
        case .length(let remaining):
            guard remaining == 0 else {
                throw NightjarError(
                    .invalidRequest, "the request body ended \(remaining) bytes before its declared length",
                    phase: .send
                )
            }
        case .chunked: send(HTTP1BodyEncoder.lastChunk)
        case .unframed, .ended: break
        }
    }

    private static let chunkEnd = ByteBuffer(staticString: "\r\n")
    private static let lastChunk = ByteBuffer(staticString: "0\r\n\r\n")
}
