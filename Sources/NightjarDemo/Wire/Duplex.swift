import NIOCore
import NIOHTTP1

/// `/duplex`: sends the body back while it arrives, so that the client sends and receives at the same time.
///
/// With `?stop=` (bytes), the server ends the response after so many bytes, before it has received the whole body.
final class Duplex: BodySink, BodySource {
    private var waiting = ByteBuffer()
    private var hasEnded = false
    /// The number of bytes before the response ends. Nil: the response ends after the request.
    private var left: Int?

    static func open(_ request: Request) throws(Problem) -> any BodySink {
        let stops = request.query("stop") != nil
        return Duplex(left: stops ? try request.query("stop", in: 0...(1 << 40), or: 0) : nil)
    }

    private init(left: Int?) { self.left = left }

    var ongoingResponse: Response? {
        var response = Response(
            .ok, headers: ["Content-Type": "application/octet-stream"], body: .source(self, length: nil))
        response.closesConnection = left != nil
        return response
    }

    func receive(_ bytes: ByteBuffer) -> TimeAmount {
        waiting.writeImmutableBuffer(bytes)
        return .zero
    }

    func finish(trailers: HTTPHeaders?) -> Response {
        hasEnded = true
        return Response(.ok)
    }

    func next() -> BodyPart {
        let count = min(waiting.readableBytes, left ?? .max)
        if count > 0, let bytes = waiting.readSlice(length: count) {
            left = left.map { $0 - count }
            waiting.discardReadBytes()
            return .bytes(bytes)
        }
        return hasEnded || left == 0 ? .end(trailers: nil) : .afterRequestPart
    }
}
