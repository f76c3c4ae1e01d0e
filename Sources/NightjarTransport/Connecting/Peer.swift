import NightjarHTTP

/// The peer of one step of opening a connection: the origin, a proxy or a Unix socket.
struct Peer {
    /// The name of the peer: `example.com:443`, `the proxy http://proxy.example:3128`, or a Unix socket.
    let place: String
    let host: String
    let port: Int
    /// Nil for a proxy.
    let origin: Origin?
    let isTLS: Bool
    let isProxy: Bool
    /// ` for example.com:443` if ``place`` does not name the origin; otherwise empty.
    let purpose: String
    /// The pinning mode with which TLS with this peer started. Nil: the host has no pins.
    var pinning: Pinning.Mode?

    init(_ origin: Origin) {
        self.origin = origin
        place = origin.authority
        host = origin.host
        port = origin.port
        isTLS = origin.isTLS
        isProxy = false
        purpose = ""
    }

    init(_ socket: UnixSocket, for origin: Origin) {
        self.origin = origin
        place = socket.description
        host = origin.host
        port = origin.port
        isTLS = origin.isTLS
        isProxy = false
        purpose = origin.socket == nil ? " for \(origin.authority)" : ""
    }

    init(_ proxy: ProxyAddress, for origin: Origin) {
        self.origin = nil
        place = "the proxy \(proxy)"
        host = proxy.host
        port = proxy.port
        isTLS = proxy.kind == .https
        isProxy = true
        purpose = " for \(origin.authority)"
    }
}
