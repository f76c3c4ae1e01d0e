import NightjarHTTP

/// How the connections to one origin come about. An origin's never changes within a client, so the pool of an origin is
/// one of its route too: a connection through a proxy carries requests for one origin alone.
enum Route {
    case direct
    /// Whatever the origin's host is.
    case socket(UnixSocket)
    /// The proxy gets http requests in absolute form. RFC 9112 section 3.2.2.
    case forwarded(ProxyAddress)
    /// The proxy makes a tunnel, by CONNECT or SOCKS 5, in which everything is as if it were not there.
    case tunnelled(ProxyAddress)

    /// - Throws: `invalid_url` when what is set up for `origin` cannot be used.
    init(to origin: Origin, socket: UnixSocket?, _ rules: ProxyRules) throws(NightjarError) {
        if let socket = origin.socket ?? socket {
            self = .socket(socket)
            return
        }
        switch try rules.route(to: origin) {
        case .direct: self = .direct
        case .proxy(let proxy):
            let isSOCKS = proxy.kind == .socks5 || proxy.kind == .socks5h
            self = origin.isTLS || isSOCKS ? .tunnelled(proxy) : .forwarded(proxy)
        }
    }

    var proxy: ProxyAddress? {
        switch self {
        case .direct, .socket: nil
        case .forwarded(let proxy), .tunnelled(let proxy): proxy
        }
    }
}
