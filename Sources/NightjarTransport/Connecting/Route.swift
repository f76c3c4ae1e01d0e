import NightjarHTTP

/// The way in which a client connects to one origin. It never changes. A connection through a proxy carries requests
/// for only one origin, so each pool has one origin and one route.
enum Route {
    case direct
    /// A Unix socket, regardless of the origin's host.
    case socket(UnixSocket)
    /// The proxy receives http requests in absolute form. RFC 9112 section 3.2.2.
    case forwarded(ProxyAddress)
    /// The proxy opens a tunnel with CONNECT or SOCKS 5.
    case tunnelled(ProxyAddress)

    /// Determines the route to an origin. Throws `invalid_url` if the proxy for `origin` is invalid.
    ///
    /// - Parameter needsTunnel: Whether a proxy must open a tunnel, also to an http origin.
    init(to origin: Origin, needsTunnel: Bool = false, socket: UnixSocket?, _ rules: ProxyRules) throws(NightjarError) {
        if let socket = origin.socket ?? socket {
            self = .socket(socket)
            return
        }
        switch try rules.route(to: origin) {
        case .direct: self = .direct
        case .proxy(let proxy):
            let isSOCKS = proxy.kind == .socks5 || proxy.kind == .socks5h
            self = origin.isTLS || isSOCKS || needsTunnel ? .tunnelled(proxy) : .forwarded(proxy)
        }
    }

    var proxy: ProxyAddress? {
        switch self {
        case .direct, .socket: nil
        case .forwarded(let proxy), .tunnelled(let proxy): proxy
        }
    }
}
