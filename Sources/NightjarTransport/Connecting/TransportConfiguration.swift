import NightjarHTTP

/// Connection limits, proxies and TLS trust.
public struct TransportConfiguration: Sendable {
    /// The maximum number of open connections to one origin. Further calls wait in order of arrival.
    public var connectionsPerHost = 64
    /// How long an unused connection is kept open. Default: 60 s.
    public var idleConnectionLifetime = Duration.seconds(60)
    /// A PEM file of trusted certificate authorities. Nil: the system's trust store.
    public var certificateAuthorityFile: String?
    /// Whether the server's certificate and host name are verified. If false, an attacker can intercept every
    /// connection.
    public var verifiesCertificates = true

    /// The proxies. By default, the environment variables, which are read once when the client is created.
    public var proxy = ProxySettings()
    /// The Unix socket for every connection, regardless of the URL's host, like curl's --unix-socket. The client then
    /// does not resolve names or use proxies. Nil: connect to the host.
    public var unixSocket: UnixSocket?
    /// Whether LF without CR ends a line of a response, as some embedded devices send (RFC 9112 section 2.2). If false,
    /// a response with such a line fails with `protocol`.
    public var lenientLineEndings = false
    /// The User-Agent field of a CONNECT request. Nil: no field is sent.
    public var userAgent: String?

    public init() {}
}
