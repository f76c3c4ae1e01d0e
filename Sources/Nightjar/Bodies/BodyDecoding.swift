import NIOCore
import NightjarCoding
import NightjarHTTP

/// Decodes one response body. Holds received data that the reader has not yet consumed.
final class BodyDecoding {
    private var stack: CodingStack
    /// The trailers received after the body. They are delivered when the whole body is decoded.
    var trailers: Headers?

    /// Nil if there are no codings, or if a coding is not supported.
    init?(_ codings: [String], _ limits: DecodingLimits) throws(NightjarError) {
        guard let stack = try CodingStack(contentEncoding: codings, limits: limits) else { return nil }
        self.stack = stack
    }

    func append(_ bytes: ByteBuffer) throws(NightjarError) { try stack.add(bytes) }

    /// Returns the next decoded part, at most 64 KiB, or nil if more input is needed.
    func next() throws(NightjarError) -> ByteBuffer? { try stack.next() }

    func finish() throws(NightjarError) { try stack.finish() }
}
