import NIOCore
import NightjarHTTP

/// The connections to one origin and their route. A class, so that an exchange refers to its pool directly.
final class TransportHost {
    let origin: Origin
    let route: Route
    var pool: NetworkTransport.Pool

    init(_ origin: Origin, _ route: Route, limit: Int) {
        self.origin = origin
        self.route = route
        isLocal =
            switch route {
            case .direct: origin.isLoopback
            case .socket: true
            case .forwarded(let proxy), .tunnelled(let proxy): Origin.isLoopback(proxy.host)
            }
        pool = NetworkTransport.Pool(limit: limit)
    }

    /// The peer to which a connection's socket is connected: the origin, a proxy or a Unix socket.
    var connectedPeer: Peer {
        switch route {
        case .direct: Peer(origin)
        case .socket(let socket): Peer(socket, for: origin)
        case .forwarded(let proxy), .tunnelled(let proxy): Peer(proxy, for: origin)
        }
    }

    /// Whether the connected peer has a loopback host or a Unix socket, so that changes of the network do not concern
    /// it.
    let isLocal: Bool

    /// Returns the request head for this route.
    func wireHead(of request: PreparedRequest) -> ByteBuffer {
        if case .forwarded(let proxy) = route { request.wireHead(through: proxy) } else { request.wireHead }
    }

    /// Throws `connect` if the forwarding proxy, not the origin, requires authentication.
    func checkProxy(_ head: ResponseHead) throws(NightjarError) {
        if head.status == 407, case .forwarded(let proxy) = route {
            throw proxy.authenticationRequired(by: head.headers)
        }
    }
}
