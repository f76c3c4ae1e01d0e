/// The status line and header fields of a response. RFC 9112 section 4.
public struct ResponseHead: Sendable, Equatable {
    /// The status code, 100 to 999.
    public var status: Int
    public var reason: String
    /// The minor HTTP version, 0 or 1.
    public var minorVersion: Int
    public var headers: Headers
    /// The length of the body in bytes. Nil if the length is not known in advance, or if a response from the network
    /// cannot have a body.
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
