import NIOCore
import NIOPosix
import NightjarHTTP
import Synchronization

/// The steps of opening one connection and their durations.
///
///     began ──lookup──▶ resolved ──TCP, proxy──▶ connected ──TLS──▶ finished
struct ConnectionOpening {
    private let began = NIODeadline.now()
    /// Nil if no lookup was needed.
    private var resolved: NIODeadline?
    private var connected: NIODeadline?
    private var usesTLS = false

    /// Whether data can be exchanged with the origin, or with the proxy that forwards requests.
    var isConnected: Bool { connected != nil }

    /// The time since the start.
    var elapsed: Duration { ConnectionOpening.length(began, .now()) }

    /// Records that data can be exchanged with the origin, or with the proxy that forwards requests.
    ///
    /// - Parameter resolved: The time at which the lookup of the connection's host finished; nil if none was needed.
    /// - Returns: The time to connect, without the lookup.
    mutating func connected(resolved: NIODeadline?, usesTLS: Bool) -> Duration {
        let now = NIODeadline.now()
        self.resolved = resolved
        connected = now
        self.usesTLS = usesTLS
        return ConnectionOpening.length(resolved ?? began, now)
    }

    func finished(
        _ peer: SocketAddress?, _ details: TLSDetails?, _ version: HTTPVersion, http1Reason: String?
    ) -> ConnectionRecord {
        let connected = connected ?? .now()
        return ConnectionRecord(
            number: ConnectionOpening.made.add(1, ordering: .relaxed).newValue,
            peerAddress: peer?.ipAddress ?? peer?.pathname, peerPort: peer?.port,
            dns: resolved.map { ConnectionOpening.length(began, $0) },
            connect: ConnectionOpening.length(resolved ?? began, connected),
            tls: usesTLS ? ConnectionOpening.length(connected, .now()) : nil, tlsDetails: details,
            version: version, http1Reason: version == .http2 ? nil : http1Reason)
    }

    fileprivate static func length(_ from: NIODeadline, _ to: NIODeadline) -> Duration {
        .nanoseconds(max((to - from).nanoseconds, 0))
    }

    private static let made = Atomic<Int>(0)
}

/// Looks up the addresses for one connection, and measures the lookup.
final class LookUpClock: Resolver, @unchecked Sendable {
    private let resolver: AddressResolver
    private let rules: AddressRules
    private let peer: Peer
    private let isMeasured: Bool
    /// The time at which the lookup finished. Nil until then, and if no lookup was needed. Used on the loop only.
    private(set) var resolvedAt: NIODeadline?
    private let began = NIODeadline.now()
    /// Called with the duration when the lookup has finished. Used on the loop only.
    var resolved: ((Duration) -> Void)?
    /// Called once with the addresses that the rules deny, if any. Used on the loop only.
    var denied: ((AddressFilter.Denied) -> Void)?

    init(_ resolver: AddressResolver, _ rules: AddressRules, _ peer: Peer) {
        self.resolver = resolver
        self.rules = rules
        self.peer = peer
        isMeasured = resolver.known(peer.host, peer.port) == nil && resolver.cached(peer.host, peer.port) == nil
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { query(.inet) }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { query(.inet6) }

    func cancelQueries() {}

    private func query(_ family: NIOBSDSocket.ProtocolFamily) -> EventLoopFuture<[SocketAddress]> {
        let lookUp = resolver.addresses(peer.host, peer.port)
        if isMeasured {
            lookUp.assumeIsolated().whenSuccess { _ in
                guard self.resolvedAt == nil else { return }
                let now = NIODeadline.now()
                self.resolvedAt = now
                self.resolved?(ConnectionOpening.length(self.began, now))
            }
        }
        return lookUp.flatMapThrowing { [self] addresses in
            let permitted = try rules.permitted(addresses, of: peer) { addresses in
                denied.take()?(addresses)
            }
            return permitted.filter { $0.protocol == family }
        }
    }
}

/// Provides addresses that are already known.
final class FixedAddresses: Resolver, Sendable {
    private let addresses: [SocketAddress]
    private let loop: any EventLoop

    init(_ addresses: [SocketAddress], on loop: any EventLoop) {
        self.addresses = addresses
        self.loop = loop
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { all(.inet) }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { all(.inet6) }

    func cancelQueries() {}

    private func all(_ family: NIOBSDSocket.ProtocolFamily) -> EventLoopFuture<[SocketAddress]> {
        loop.makeSucceededFuture(addresses.filter { $0.protocol == family })
    }
}

extension SocketAddress {
    /// The address and the port as text, or the path of a Unix socket.
    var peer: String? { ConnectionRecord.peer(ipAddress ?? pathname, port) }
}
