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
