import NIOCore
import NightjarCoding
import NightjarHTTP

/// Takes the content codings off an answer's body (RFC 9110 section 8.4) while it comes in. The headers stay as they came.
final class Decode: Stage, @unchecked Sendable {
    let hooks: StageHooks = .incoming

    func incoming(_ head: ResponseHead, _ call: Call) -> Verdict {
        guard call.options.decompresses, head.headers.firstIndex(of: "Content-Encoding") != nil else {
            return .proceed
        }
        // What is streamed is bounded by the window; the ratio bounds what one read can bring.
        let limits = DecodingLimits(maximumBytes: call.collectsBody ? call.options.maximumBody : .max)
        do throws(NightjarError) {
            call.decoding = try BodyDecoding(head.headers.values("Content-Encoding"), limits)
            return .proceed
        } catch {
            return .fail(error.mayHaveBeenProcessed)
        }
    }
}

/// The decoding of one body: what has come and is not decoded yet waits here while the reader is behind.
final class BodyDecoding {
    private var stack: CodingStack
    private var backlog = ByteBuffer()
    /// What came behind the body, which ends here when the backlog is done.
    var trailers: Headers?

    /// Nil when the codings are none, or none that we understand.
    init?(_ codings: [String], _ limits: DecodingLimits) throws(NightjarError) {
        guard let stack = try CodingStack(contentEncoding: codings, limits: limits) else { return nil }
        self.stack = stack
    }

    func append(_ bytes: ByteBuffer) {
        if backlog.readableBytes == 0 { backlog = bytes } else { backlog.writeImmutableBuffer(bytes) }
    }

    /// Decodes a piece of what waits.
    ///
    /// - Returns: false when there is none.
    func decodePiece(into deliver: (ByteBuffer) -> Void) throws(NightjarError) -> Bool {
        let count = min(backlog.readableBytes, BodyDecoding.piece)
        guard count > 0, let bytes = backlog.readSlice(length: count) else { return false }
        try stack.decode(bytes) { (part) throws(NightjarError) in deliver(part) }
        return true
    }

    func finish() throws(NightjarError) { try stack.finish() }

    /// Encoded bytes that are decoded between two looks at the reader: at the worst ratio they become 4 MiB.
    private static let piece = 4096
}
