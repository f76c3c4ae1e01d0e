import NIOCore

/// The status line and the header fields. RFC 9112 section 4.
public struct ResponseHead: Sendable, Equatable {
    /// 100 to 999.
    public var status: Int
    public var reason: String
    /// 0 or 1: the y of HTTP/1.y.
    public var minorVersion: Int
    public var headers: Headers
    /// Bytes of content that follow, when that is known before they come.
    public var contentLength: Int?

    public init(
        status: Int, reason: String = "", minorVersion: Int = 1, headers: Headers = Headers(), contentLength: Int? = nil
    ) {
        self.contentLength = contentLength
        self.status = status
        self.reason = reason
        self.minorVersion = minorVersion
        self.headers = headers
    }
}

/// How long each part of a call took, as moments since its start. A part that did not occur is nil.
public struct Timing: Sendable, Equatable {
    /// The request was put on a connection.
    public var sent: Duration?
    /// The response head was complete.
    public var firstByte: Duration?
    /// The call ended.
    public var total: Duration = .zero
    /// The connection had served another call before.
    public var reusedConnection = false

    public init() {}
}

/// Where an answer came from.
public enum ResponseSource: Int32, Sendable {
    case network = 0

    public var name: String {
        switch self {
        case .network: "network"
        }
    }
}

/// A complete answer. Immutable: any thread may read it.
public final class Response: Sendable {
    public let head: ResponseHead
    /// The content, decoded; empty when it went to a body handler. There is a NUL in memory behind the last byte.
    public let body: ByteBuffer
    public let trailers: Headers
    /// The URL that answered.
    public let location: RequestURL
    /// How many times the request was put on a connection.
    public let attempts: Int
    public let timing: Timing
    public let source: ResponseSource
    /// The answers that led here, first to last.
    public let redirects: [RedirectPolicy.Visit]

    public init(
        head: ResponseHead, body: consuming ByteBuffer, trailers: Headers = Headers(), url: RequestURL,
        attempts: Int = 1, timing: Timing = Timing(), source: ResponseSource = .network,
        redirects: [RedirectPolicy.Visit] = []
    ) {
        self.head = head
        let length = body.readableBytes
        body.writeInteger(UInt8(0))
        body.moveWriterIndex(to: body.readerIndex + length)
        self.body = body
        self.trailers = trailers
        location = url
        self.attempts = attempts
        self.timing = timing
        self.source = source
        self.redirects = redirects
    }

    public var status: Int { head.status }
    public var headers: Headers { head.headers }
    /// The URL that answered, without user info and with credentials in the query masked.
    public var url: String { location.redacted }
}
