import NightjarHTTP

/// Connection limits, proxies and TLS trust.
public struct TransportConfiguration: Sendable {
    public typealias AddressFilter = NightjarHTTP.AddressFilter
    public typealias IPAddress = NightjarHTTP.IPAddress
    public typealias IPFamily = NightjarHTTP.IPFamily
    public typealias ResolveEntries = NightjarHTTP.ResolveEntries

    /// The maximum number of open connections to one origin. Further calls wait in order of arrival.
    public var connectionsPerHost = 64
    /// The time for which an idle connection is kept open. Default: 60 s.
    public var idleConnectionLifetime = Duration.seconds(60)
    /// The versions of HTTP that connections may use: HTTP/1.1, HTTP/2, or both. With both, TLS connections use HTTP/2 if
    /// the server supports it (ALPN, RFC 7301), and connections without TLS use HTTP/1.1. With HTTP/2 only, connections
    /// without TLS use HTTP/2 with prior knowledge (RFC 9113 section 3.3). Proxies that forward requests use HTTP/1.1.
    /// Without libnghttp2, connections use HTTP/1.1; with HTTP/2 only, calls then fail with `connect`.
    public var versions: Set<HTTPVersion> = [.http1_1, .http2]
    /// Trust, versions and algorithms of TLS.
    public var tls = TLS()
    /// The proxy settings. By default, they are read once from the environment, when the client is created.
    public var proxy = ProxySettings()
    /// The Unix socket for connections to any host, like curl's --unix-socket. The client then does not resolve names
    /// or use proxies. An origin with its own Unix socket takes precedence. Nil: connect to the host.
    public var unixSocket: UnixSocket?
    /// The addresses of hosts that are used instead of looking up their names, like curl's --resolve. The host of the URL
    /// remains the name for TLS and for the Host field.
    public var resolve = ResolveEntries()
    /// The only version of IP that connections use. Nil: both, with fallback (RFC 8305).
    public var ipFamily: IPFamily?
    /// The local address of TCP connections. They then use the version of IP of this address. Nil: the system chooses one.
    public var localAddress: IPAddress?
    /// The name of the network interface that TCP connections use, such as `eth0`. If the process lacks the privilege for
    /// this (older versions of Linux require CAP_NET_RAW) and ``localAddress`` is nil, connections use an address of the
    /// interface as their local address; the routes of the system then choose the interface. Nil: any interface.
    public var interface: String?
    /// The addresses to which the client may connect, after names are resolved. Nil: all addresses.
    ///
    /// The filter applies to each connection, also for redirects, WebSockets, transfers and entries of ``resolve``. It does
    /// not apply to the address of a proxy. Requests to Unix sockets, and to names that a proxy resolves, fail.
    public var addressFilter: AddressFilter?
    /// Whether a line of a response may end with LF without CR, as sent by some embedded devices (RFC 9112 section
    /// 2.2). If false, such a response fails with `protocol`.
    public var lenientLineEndings = false
    /// Whether exchanges that wait for a connection receive the steps of opening the connection.
    package var reportsSteps = false
    /// Whether connections wait for the caller's addresses of each name.
    package var requestsNames = false
    /// Whether connections wait for the caller's decision about the addresses of each host.
    package var requestsAddresses = false
    /// The User-Agent field of a CONNECT request. Nil: the client's User-Agent, if any.
    public var userAgent: String?

    public init() {}
}
