import NIOCore
import NIOHTTP2

/// The connection and, for HTTP/2, the stream on which a request arrived.
struct RequestOrigin {
    /// The number of the connection, counted from 1 in the order of acceptance.
    let connection: Int
    /// The number of the request on its connection, from 1.
    let numberOnConnection: Int
    /// The stream. Nil for HTTP/1.1.
    var stream: RequestStream?
}

/// An HTTP/2 stream with a request.
final class RequestStream {
    /// The stream identifier.
    let id: Int
    /// The connection of the stream.
    let connection: any HTTP2ConnectionControl
    /// The pseudo-header field `:protocol` of an extended CONNECT (RFC 8441). Nil for other requests.
    var connectProtocol: String?

    init(id: Int, connection: any HTTP2ConnectionControl) {
        self.id = id
        self.connection = connection
    }
}

/// The operations on an HTTP/2 connection that the fault endpoints perform. Used only on the server's event loop.
protocol HTTP2ConnectionControl: AnyObject {
    /// Sends a GOAWAY frame. The connection is closed when no stream is left.
    ///
    /// - Parameter last: the last stream that the server processes. The streams with a higher identifier end without a
    ///   response. Nil: the newest stream.
    func goAway(last: Int?, _ code: HTTP2ErrorCode, after pause: TimeAmount)

    /// Sends a SETTINGS frame. Calls `acknowledged` when the client has acknowledged it.
    func send(_ settings: HTTP2Settings, acknowledged: @escaping () -> Void)

    /// Sends a PING frame. Calls `acknowledged` when the client has acknowledged it.
    func ping(acknowledged: @escaping () -> Void)

    /// Omits frames that the server would send from now on.
    func omit(_ frames: HTTP2OmittedFrames)

    /// Sends a response head that is too large for one frame. The next HEADERS frame of the stream is replaced by it.
    func replaceHead(of stream: Int, with block: ByteBuffer)

    /// Closes the TCP connection without a GOAWAY frame, or resets it.
    func abort(resets: Bool)
}

/// Frames that the server never sends on a connection.
struct HTTP2OmittedFrames: OptionSet {
    let rawValue: Int

    /// WINDOW_UPDATE frames of the connection and of its streams. The client can send only the initial windows.
    static let windowUpdates = HTTP2OmittedFrames(rawValue: 1)
    /// Acknowledgements of PING frames.
    static let pingAcknowledgements = HTTP2OmittedFrames(rawValue: 2)
}

/// An outbound event: ends the stream with a RST_STREAM frame after the preceding parts of the response.
struct StreamAbort {
    let code: HTTP2ErrorCode
}
