import NIOCore
import NightjarCoding
import NightjarHTTP

/// Takes the content codings off an answer's body (RFC 9110 section 8.4) while it comes in. The headers stay as they came.
final class Decode: Stage, @unchecked Sendable {
    override var hooks: StageHooks { .incoming }

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        // A part of an encoded body (206) cannot be decoded by itself.
        guard call.options.decompresses, head.status != 206, head.headers.firstIndex(of: "Content-Encoding") != nil
        else { return .proceed }
        let limits = DecodingLimits(maximumBytes: call.collectsBody ? call.options.maximumBody : .max)
        do throws(NightjarError) {
            call.decoding = try BodyDecoding(head.headers.values("Content-Encoding"), limits)
            return .proceed
        } catch {
            return .fail(error.mayHaveBeenProcessed)
        }
    }
}

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
