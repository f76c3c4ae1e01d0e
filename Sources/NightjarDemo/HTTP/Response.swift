import NIOCore
import NIOHTTP1

/// An answer, complete or with a body that is made while it is sent. Framing and connection fields are added on the way
/// out.
struct Response {
    enum Body {
        case bytes(ByteBuffer)
        /// - Parameter length: in bytes; nil sends it chunked, or until the connection closes to an HTTP/1.0 client.
        case source(any BodySource, length: Int?)
    }

    var status: HTTPResponseStatus
    var headers: HTTPHeaders
    var body: Body
    /// Sent before the answer, each a 1xx.
    var interim: [HTTPResponseHead] = []
    /// How the Date field lies, for tests of clocks that disagree.
    var date = DateField.now
    /// How long the answer is held back.
    var delay: TimeAmount = .zero
    /// The connection closes behind the answer even if the client would keep it.
    var closesConnection = false
    /// Nothing of the answer is sent: the connection closes, after the delay.
    var isDropped = false

    /// The connection closes without an answer.
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

/// What an answer's Date says.
enum DateField {
    case now
    /// So many seconds from now.
    case offset(Int)
    case absent
}

/// Makes a body piece by piece, asked only when the peer takes more: a slow reader costs no memory.
protocol BodySource {
    mutating func next() -> BodyPart
}

enum BodyPart {
    case bytes(ByteBuffer)
    /// What was given so far is sent, and the source is asked again after that time.
    case wait(TimeAmount)
    /// What was given so far is sent, and the connection closes in the middle of the body.
    case cut
    /// - Parameter trailers: sent only where the body is chunked.
    case end(trailers: HTTPHeaders?)
}

/// What a server does when a client waits with its body (RFC 9110 section 10.1.1).
enum Invitation {
    case now
    case after(TimeAmount)
    case never
    /// The final answer, which does not need the body.
    case refused(Response)
}

/// Takes a request body piece by piece.
protocol BodySink: AnyObject {
    /// Asked once, before the body; ``Invitation/now`` where a sink says nothing else.
    var invitation: Invitation { get }
    /// - Returns: how long not to read on from the connection, so that the peer feels a slow reader.
    func receive(_ bytes: ByteBuffer) -> TimeAmount
    func finish(trailers: HTTPHeaders?) -> Response
}

extension BodySink {
    var invitation: Invitation { .now }
}
