import NightjarHTTP

/// What connections are made and kept, and how TLS trusts.
public struct TransportConfiguration: Sendable {
    /// Connections open at once to one origin; further calls wait for one in order of arrival.
    public var connectionsPerHost = 64
    /// How long a connection is kept open without use.
    public var idleConnectionLifetime = Duration.seconds(60)
    /// A PEM file of certificates that are trusted in place of the system's; nil: the system's.
    public var certificateAuthorityFile: String?
    /// Whether the server's certificate and name are checked. False makes every connection open to interception.
    public var verifiesCertificates = true

    /// Through which proxy origins are reached. By default as the environment says, which is read once, when the client
    /// is made.
    public var proxy = ProxySettings()
    /// Where every connection goes, whatever the URL's host is, as with curl's --unix-socket: no name is looked up and no
    /// proxy asked. Nil: to the host.
    public var unixSocket: UnixSocket?
    /// Whether LF without CR ends the lines of a response, as some embedded devices send them (RFC 9112 section 2.2).
    /// False by default: such a response fails with `protocol`.
    public var lenientLineEndings = false
    /// The User-Agent field of a request for a tunnel; nil sends none.
    public var userAgent: String?

    public init() {}
}
