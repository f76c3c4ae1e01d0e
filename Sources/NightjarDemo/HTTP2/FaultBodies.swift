import NIOCore
import NIOHTTP1

/// Sends a document when it is resumed.
final class WaitingSource: BodySource {
    private let document: JSON
    private var isDue = false
    private var hasSent = false
    private var waiter: (() -> Void)?

    init(_ document: JSON) { self.document = document }

    var response: Response {
        Response(.ok, headers: ["Content-Type": "application/json"], body: .source(self, length: nil))
    }

    func resume() {
        isDue = true
        waiter.take()?()
    }

    func next() -> BodyPart {
        guard isDue else { return .whenResumed { [self] resume in waiter = resume } }
        guard !hasSent else { return .end(trailers: nil) }
        hasSent = true
        return .bytes(ByteBuffer(bytes: document.formatted()))
    }
}

/// Sends a number of bytes and then resets the stream.
struct ResetSource: BodySource {
    /// The bytes that are left.
    var left: Int
    private static let piece = 16_384

    mutating func next() -> BodyPart {
        guard left > 0 else { return .cut }
        let count = min(left, ResetSource.piece)
        left -= count
        return .bytes(ByteBuffer(repeating: UInt8(ascii: "x"), count: count))
    }
}

/// Discards the body of a request.
final class DiscardingSink: BodySink {
    let continueResponse: ContinueResponse
    private let response: Response

    /// - Parameter isEarly: true to respond before the body has been received.
    init(_ response: Response, isEarly: Bool) {
        self.response = response
        continueResponse = isEarly ? .refused(response) : .now
    }

    func receive(_ bytes: ByteBuffer) -> TimeAmount { .zero }

    func finish(trailers: HTTPHeaders?) -> Response { response }
}

/// `/h2/stall`: stops reading the body of the request after `bytes` bytes, for `seconds` seconds. The window of the
/// stream is not opened during this time. The defaults are 0 and 3600.
final class StallSink: BodySink {
    private var left: Int
    private let pause: TimeAmount
    private var count = 0
    private var hasStalled = false

    static func open(_ request: Request) throws(Problem) -> any BodySink {
        StallSink(
            after: try request.query("bytes", in: 0...(1 << 40), or: 0),
            pause: try request.queryDuration("seconds", atMost: 3600, or: 3600))
    }

    private init(after bytes: Int, pause: TimeAmount) { (left, self.pause) = (bytes, pause) }

    func receive(_ bytes: ByteBuffer) -> TimeAmount {
        count += bytes.readableBytes
        left -= bytes.readableBytes
        guard left <= 0, !hasStalled else { return .zero }
        hasStalled = true
        return pause
    }

    func finish(trailers: HTTPHeaders?) -> Response { .json(["bytes": .int(count)]) }
}
