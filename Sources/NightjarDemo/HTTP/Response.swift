import NIOCore
import NIOHTTP1

/// A response with a complete body or a body source. Framing and connection fields are added when it is sent.
struct Response {
    enum Body {
        case bytes(ByteBuffer)
        /// - Parameter length: In bytes. Nil sends it chunked, or until the connection closes to an HTTP/1.0 client.
        case source(any BodySource, length: Int?)
    }

    var status: HTTPResponseStatus
    var headers: HTTPHeaders
    var body: Body
    /// 1xx responses sent first.
    var interim: [HTTPResponseHead] = []
    /// The offset of the Date field, for tests with clock skew.
    var date = DateField.now
    /// The delay of the response.
    var delay: TimeAmount = .zero
    /// Closes the connection after the response even if the client would keep it open.
    var closesConnection = false
    /// Sends nothing: the connection closes after the delay.
    var isDropped = false

    /// Closes the connection without a response.
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

/// The value of a response's Date field.
enum DateField {
    case now
    /// Seconds from now.
    case offset(Int)
    case absent
}

/// Produces a body in pieces, when the peer is ready for more, so that a slow reader needs no memory.
protocol BodySource {
    mutating func next() -> BodyPart
}

enum BodyPart {
    case bytes(ByteBuffer)
    /// Sends the data so far, and asks the source again after this time.
    case wait(TimeAmount)
    /// Sends the data so far, and closes the connection in the middle of the body.
    case cut
    /// - Parameter trailers: Sent only if the body is chunked.
    case end(trailers: HTTPHeaders?)
}

/// The server's reaction to a client that waits before sending its body (RFC 9110 section 10.1.1).
enum Invitation {
    case now
    case after(TimeAmount)
    case never
    /// The final response, which does not need the body.
    case refused(Response)
}

/// Receives a request body in pieces.
protocol BodySink: AnyObject {
    /// Called once, before the body. Default: ``Invitation/now``.
    var invitation: Invitation { get }
    /// - Returns: How long to stop reading from the connection, to simulate a slow reader.
    func receive(_ bytes: ByteBuffer) -> TimeAmount
    func finish(trailers: HTTPHeaders?) -> Response
}

extension BodySink {
    var invitation: Invitation { .now }
}
