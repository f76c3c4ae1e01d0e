import NIOCore

/// Frames the parts of a streamed request body, and holds the caller to the length that was promised.
///
/// A body that ends short would make the server read the next request as its rest, so both too much and too little are
/// errors after which the connection must be closed.
public struct HTTP1BodyEncoder: Sendable {
    private enum Framing {
        case length(remaining: Int)
        case chunked
        case ended
    }

    private var framing: Framing

    public init(_ framing: BodyFraming) {
        self.framing =
            switch framing {
            case .absent: .length(remaining: 0)
            case .length(let count): .length(remaining: count)
            case .chunked: .chunked
            }
    }

    /// What to send for `part`: up to three buffers, in order, the content itself among them without a copy.
    ///
    /// - Throws: `invalid_request` when this is more than the promised length.
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
                    .invalidRequest, "the request's body is longer than its given length", phase: .send)
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
        case .ended:
            throw NightjarError(.invalidRequest, "the request's body goes on after its end", phase: .send)
        }
    }

    /// What to send when the body has ended.
    ///
    /// - Throws: `invalid_request` when this is less than the promised length.
    public mutating func finish(_ send: (ByteBuffer) -> Void) throws(NightjarError) {
        defer { framing = .ended }
        switch framing {
        case .length(let remaining):
            guard remaining == 0 else {
                throw NightjarError(
                    .invalidRequest, "the request's body ended \(remaining) bytes before its given length", phase: .send
                )
            }
        case .chunked: send(HTTP1BodyEncoder.lastChunk)
        case .ended: break
        }
    }

    private static let chunkEnd = ByteBuffer(staticString: "\r\n")
    private static let lastChunk = ByteBuffer(staticString: "0\r\n\r\n")
}
