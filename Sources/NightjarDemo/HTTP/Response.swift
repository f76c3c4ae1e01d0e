import NIOCore
import NIOHTTP1
import NIOHTTP2

/// A response, complete or with a body that is generated while it is sent. ``ResponseWriter`` adds framing and
/// connection fields.
struct Response {
    enum Body {
        case bytes(ByteBuffer)
        /// - Parameter length: in bytes. Nil for chunked coding or, for an HTTP/1.0 client, a body that ends with the
        ///   connection.
        case source(any BodySource, length: Int?)
    }

    var status: HTTPResponseStatus
    var headers: HTTPHeaders
    var body: Body
    /// 1xx responses that are sent before the final response.
    var interim: [HTTPResponseHead] = []
    /// The Date field. It may differ from the server's time, to test clients with clock differences.
    var date = DateField.now
    var delay: TimeAmount = .zero
    /// True to close the connection after the response even if the client would keep it open.
    var closesConnection = false
    /// True to send a body of unknown length without chunked coding. The end of the connection is its end.
    var endsWithConnection = false
    /// The number of bytes of the head after which the connection is closed. Nil: the response is complete.
    var headLimit: Int?
    /// True to close the connection after the delay without sending a response. HTTP/2: the stream is reset.
    var isDropped = false
    /// The error code of the RST_STREAM frame with which a response over HTTP/2 is dropped or cut. It does not state that
    /// the request was not processed.
    var resetCode = HTTP2ErrorCode.internalError
    /// The handler that receives all following bytes of the connection, for a response with status 101, or of the HTTP/2
    /// stream. It is added next to the socket or stream, so that the HTTP handlers receive no more input. ``delay`` and ``body`` are not used.
    var upgrade: (any ChannelHandler)?

    /// A response that is not sent. The connection is closed instead.
    static var dropped: Response {
        var response = Response(.ok)
        response.isDropped = true
        return response
    }

    init(_ status: HTTPResponseStatus, headers: HTTPHeaders = [:], body: Body = .bytes(ByteBuffer())) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    static func json(
        _ document: JSON, status: HTTPResponseStatus = .ok, type: String = "application/json"
    ) -> Response {
        Response(status, headers: ["Content-Type": type], body: .bytes(ByteBuffer(bytes: document.formatted())))
    }
}

enum DateField {
    case now
    /// The time this many seconds from now.
    case offset(Int)
    case absent
}

/// Generates a body piece by piece. Called only when the peer accepts more data, so that a slow peer does not increase
/// the memory use.
protocol BodySource {
    mutating func next() -> BodyPart
    /// Called when bytes of ``next()`` have been written to the socket, with their number. The default is nil.
    var written: ((Int) -> Void)? { get }
}

extension BodySource {
    var written: ((Int) -> Void)? { nil }
}

enum BodyPart {
    case bytes(ByteBuffer)
    /// Bytes that are sent without chunked coding, for an invalid response. Not sent over HTTP/2.
    case unframed(ByteBuffer)
    /// The preceding pieces are sent, and the source is called again after this time.
    case wait(TimeAmount)
    /// The preceding pieces are sent, and the source is called again when more of the request has arrived.
    case afterRequestPart
    /// The preceding pieces are sent, and the source is called again when it calls `resume`. It must not call `resume`
    /// after it has been released.
    case whenResumed((_ resume: @escaping () -> Void) -> Void)
    /// The preceding pieces are sent, and the connection is closed in the middle of the body. HTTP/2: the stream is reset.
    case cut
    /// The preceding pieces are sent, and the connection is reset. HTTP/2: with all its streams.
    case reset
    /// - Parameter trailers: sent only with chunked coding or over HTTP/2.
    case end(trailers: HTTPHeaders?)
}

/// The reaction to `Expect: 100-continue` (RFC 9110 section 10.1.1).
enum ContinueResponse {
    case now
    case after(TimeAmount)
    case never
    /// The final response, sent without waiting for the body.
    case refused(Response)
}

/// Consumes a request body piece by piece.
protocol BodySink: AnyObject {
    /// The reaction to `Expect: 100-continue`. Read before the body is received. The default is
    /// ``ContinueResponse/now``.
    var continueResponse: ContinueResponse { get }
    /// - Returns: the time during which the connection is not read, to slow down the client.
    func receive(_ bytes: ByteBuffer) -> TimeAmount
    func finish(trailers: HTTPHeaders?) -> Response
    /// The response that is sent while the body arrives. ``finish(trailers:)`` is then called, but its response is not
    /// used. The default is nil.
    var ongoingResponse: Response? { get }
    /// Returns the 1xx responses that are sent now. Called before the body is received and after each piece. By
    /// default, there is no such response.
    func interimHeads() -> [HTTPResponseHead]
    /// The end of the request before its body is complete. Read before the body is received and after each piece. The
    /// default is nil.
    var interruption: BodyInterruption? { get }
}

/// The end of a request before its body is complete.
enum BodyInterruption {
    case close
    case reset
    /// The final response, sent while the client still sends the body.
    case respond(Response)
}

extension BodySink {
    func interimHeads() -> [HTTPResponseHead] { [] }
    var interruption: BodyInterruption? { nil }
    var continueResponse: ContinueResponse { .now }
    var ongoingResponse: Response? { nil }
}
