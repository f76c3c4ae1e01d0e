import NIOCore
import NightjarCoding
import NightjarHTTP

/// Decodes a response body with content codings (RFC 9110 section 8.4) as it arrives, except for status 206. The header
/// fields are not changed.
final class Decode: Stage, @unchecked Sendable {
    override var hooks: StageHooks { .incoming }

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        // A part of an encoded body (206) cannot be decoded by itself. The bytes after an upgrade (101) are no body.
        guard call.options.decompresses, head.status != 206, head.status != 101,
            head.headers.firstIndex(of: "Content-Encoding") != nil
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
