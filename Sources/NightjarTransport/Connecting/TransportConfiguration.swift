import NightjarHTTP

/// Connection limits, proxies and TLS trust.
public struct TransportConfiguration: Sendable {
    /// The maximum number of open connections to one origin. Further calls wait in order of arrival.
    public var connectionsPerHost = 64
    /// How long an unused connection is kept open. Default: 60 s.
    public var idleConnectionLifetime = Duration.seconds(60)
    /// A PEM file of trusted certificate authorities. Nil: the system's trust store.
    public var certificateAuthorityFile: String?
    /// Whether the server's certificate and host name are verified. If false, every connection is open to interception.
    public var verifiesCertificates = true

    /// The proxies. By default, the proxies of the environment, which is read once, when the client is created.
    public var proxy = ProxySettings()
    /// The socket for every connection, regardless of the URL's host, like curl's --unix-socket. No name is resolved and
    /// no proxy is used. Nil: connect to the host.
    public var unixSocket: UnixSocket?
    /// Whether LF without CR ends the lines of a response, as some embedded devices send them (RFC 9112 section 2.2).
    /// If false, the default, such a response fails with `protocol`.
    public var lenientLineEndings = false
    /// The User-Agent field of a request for a tunnel; nil sends none.
    public var userAgent: String?

    public init() {}
}
