/// The version, status and header fields of a response. RFC 9112 section 4, RFC 9113 section 8.3.2.
public struct ResponseHead: Sendable, Equatable {
    /// The status code, 100 to 999.
    public var status: Int
    /// The reason phrase. Empty over HTTP/2, which has none.
    public var reason: String
    public var version: HTTPVersion
    public var headers: Headers
    /// The length of the body in bytes. Nil if the length is not known in advance, or if a response from the network
    /// cannot have a body.
    public var contentLength: Int?

    public init(
        status: Int, reason: String = "", version: HTTPVersion = .http1_1, headers: Headers = Headers(),
        contentLength: Int? = nil
    ) {
        self.contentLength = contentLength
        self.status = status
        self.reason = reason
        self.version = version
        self.headers = headers
    }
}
