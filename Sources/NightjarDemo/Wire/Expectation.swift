import NIOCore
import NIOHTTP1

/// `/expect`: the possible reactions of a server to `Expect: 100-continue` (RFC 9110 section 10.1.1), selected by
/// `response`:
///
/// - `continue` (the default): 100 after `delay` seconds, then 200 after the body.
/// - `ignore`: no 100. A client that waits without a timeout hangs.
/// - a status from 200 to 599: a response with this status, before the body. 417 means that the expectation cannot be
///   met.
final class Expectation: BodySink {
    let continueResponse: ContinueResponse
    private let wasExpected: Bool
    private var length = 0
    private var checksum = CRC32()

    static func open(_ request: Request) throws(Problem) -> any BodySink {
        let delay = try request.queryDuration("delay", atMost: 60, or: 0)
        let wasExpected = request.head.expectsContinue
        switch request.query("response") ?? "continue" {
        case "continue":
            return Expectation(delay == .zero ? .now : .after(delay), wasExpected)
        case "ignore":
            return Expectation(.never, wasExpected)
        case let text:
            guard let code = Int(text), (200...599).contains(code) else {
                throw Problem.query("response", "must be continue, ignore, or a status between 200 and 599")
            }
            let status = HTTPResponseStatus(statusCode: code)
            let response =
                code >= 400
                ? Problem(status, "this response was requested, before the body").response
                : Response.json(["expected": .bool(wasExpected), "bytes": .int(0)], status: status)
            return Expectation(.refused(response), wasExpected)
        }
    }

    private init(_ continueResponse: ContinueResponse, _ wasExpected: Bool) {
        self.continueResponse = continueResponse
        self.wasExpected = wasExpected
    }

    func receive(_ bytes: ByteBuffer) -> TimeAmount {
        length += bytes.readableBytes
        checksum.update(bytes)
        return .zero
    }

    func finish(trailers: HTTPHeaders?) -> Response {
        .json(["expected": .bool(wasExpected), "bytes": .int(length), "crc32": .string(checksum.text)])
    }
}
