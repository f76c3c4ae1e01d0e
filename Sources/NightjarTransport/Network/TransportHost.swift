import NIOCore
import NightjarHTTP

/// The connections to one origin and their route. A class, so that an exchange refers to its pool directly.
final class TransportHost {
    let origin: Origin
    let route: Route
    /// The versions of HTTP that connections may use.
    let versions: HTTPVersions
    /// Whether the server has reported that it requires HTTP/1.1. Requests then use another host.
    var requiresHTTP1 = false
    /// Whether the server accepts WebSockets over HTTP/2 (RFC 8441), by the SETTINGS of the last connection. Nil: unknown.
    var acceptsTunnels: Bool?
    /// Why connections use HTTP/1.1, if HTTP/2 is enabled but not possible.
    var http1Reason: String?
    var pool: NetworkTransport.Pool

    init(_ origin: Origin, _ route: Route, limit: Int, versions: HTTPVersions, http1Reason: String? = nil) {
        self.versions = versions
        self.http1Reason = http1Reason
        self.origin = origin
        self.route = route
        isLocal =
            switch route {
            case .direct: origin.isLoopback
            case .socket: true
            case .forwarded(let proxy), .tunnelled(let proxy): Origin.isLoopback(proxy.host)
            }
        pool = NetworkTransport.Pool(limit: limit, sharing: versions.sharing)
    }

    /// The peer to which a connection's socket is connected: the origin, a proxy or a Unix socket.
    var connectedPeer: Peer {
        switch route {
        case .direct: Peer(origin)
        case .socket(let socket): Peer(socket, for: origin)
        case .forwarded(let proxy), .tunnelled(let proxy): Peer(proxy, for: origin)
        }
    }

    /// The challenges of connections that are being opened. May contain decided ones.
    private var challenges: [ConnectionChallenge] = []

    /// The lookups of names by the caller, in progress. One host needs at most two: of the origin and of a SOCKS proxy.
    var lookups: [NameLookup] = []

    /// Requests a decision of all waiting exchanges. Returns whether a client will decide.
    func requestDecision(_ challenge: ConnectionChallenge) -> Bool {
        var isRequested = false
        for exchange in pool.waiters where exchange.receiver?.exchangeChallenged(challenge) == true {
            isRequested = true
        }
        challenges.removeAll { !$0.isPending }
        if isRequested { challenges.append(challenge) }
        return isRequested
    }

    /// Passes the receivers of the exchanges that wait for the connection of a ticket to `report`: of all waiting exchanges
    /// if they may share the connection, or else of the exchange of the ticket.
    func report(to ticket: NetworkTransport.Pool.Ticket, _ report: (any ExchangeReceiver) -> Void) {
        guard pool.sharing == .never else {
            for exchange in pool.waiters { exchange.receiver.map(report) }
            return
        }
        pool.waiter(of: ticket)?.receiver.map(report)
    }

    /// Passes the pending challenges to an exchange that waits since now.
    func requestDecisions(_ exchange: NetworkExchange) {
        guard !challenges.isEmpty else { return }
        challenges.removeAll { !$0.isPending }
        for challenge in challenges { _ = exchange.receiver?.exchangeChallenged(challenge) }
    }

    /// Ends the pending challenges if no exchange waits any more.
    func exchangeWasCancelled() {
        guard !challenges.isEmpty, pool.waitingCount == 0 else { return }
        let pending = challenges
        challenges = []
        for challenge in pending { challenge.decide(.fail(TransportHost.abandoned)) }
    }

    /// The error of a connection for which no exchange waits. No caller receives it.
    static let abandoned = NightjarError(.cancelled, "no call waits for the connection", phase: .connect)

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
