import NightjarHTTP

/// The peer of one step of opening a connection: the origin, a proxy or a Unix socket.
struct Peer {
    /// The name of the peer: `example.com:443`, `the proxy http://proxy.example:3128`, or a Unix socket.
    let place: String
    let host: String
    let isTLS: Bool
    let isProxy: Bool
    /// ` for example.com:443` if ``place`` does not name the origin; otherwise empty.
    let purpose: String

    init(_ origin: Origin) {
        place = origin.authority
        host = origin.host
        isTLS = origin.isTLS
        isProxy = false
        purpose = ""
    }

    init(_ socket: UnixSocket, for origin: Origin) {
        place = socket.description
        host = origin.host
        isTLS = origin.isTLS
        isProxy = false
        purpose = origin.socket == nil ? " for \(origin.authority)" : ""
    }

    init(_ proxy: ProxyAddress, for origin: Origin) {
        place = "the proxy \(proxy)"
        host = proxy.host
        isTLS = proxy.kind == .https
        isProxy = true
        purpose = " for \(origin.authority)"
    }
}
