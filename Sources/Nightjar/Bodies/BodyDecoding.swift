import NIOCore
import NightjarCoding
import NightjarHTTP

/// The decoding of one body. What has come and is not decoded yet waits here while the reader is behind.
final class BodyDecoding {
    private var stack: CodingStack
    /// What came behind the body, which ends here when all of it is decoded.
    var trailers: Headers?

    /// Nil when the codings are none, or none that we understand.
    init?(_ codings: [String], _ limits: DecodingLimits) throws(NightjarError) {
        guard let stack = try CodingStack(contentEncoding: codings, limits: limits) else { return nil }
        self.stack = stack
    }

    func append(_ bytes: ByteBuffer) throws(NightjarError) { try stack.add(bytes) }

    /// The next part of at most 64 KiB; nil until more has come.
    func next() throws(NightjarError) -> ByteBuffer? { try stack.next() }

    func finish() throws(NightjarError) { try stack.finish() }
}
