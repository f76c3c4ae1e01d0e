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

    /// Records that data can be exchanged with the origin, or with the proxy that forwards requests.
    ///
    /// - Parameter lookUp: The lookup of the connection's host; nil for an address.
    mutating func connected(after lookUp: LookUpClock?, usesTLS: Bool) {
        resolved = lookUp?.resolvedAt
        connected = .now()
        self.usesTLS = usesTLS
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

    private static func length(_ from: NIODeadline, _ to: NIODeadline) -> Duration {
        .nanoseconds(max((to - from).nanoseconds, 0))
    }

    private static let made = Atomic<Int>(0)
}

/// Measures the lookup of one connection.
final class LookUpClock: Resolver, @unchecked Sendable {
    private let resolver: AddressResolver
    private let isCached: Bool
    /// The time at which the lookup finished. Nil until then, and if the addresses were cached. Used on the loop only.
    private(set) var resolvedAt: NIODeadline?

    init(_ resolver: AddressResolver, _ host: String, _ port: Int) {
        self.resolver = resolver
        isCached = resolver.isCached(host, port)
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        noting(resolver.initiateAQuery(host: host, port: port))
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        noting(resolver.initiateAAAAQuery(host: host, port: port))
    }

    func cancelQueries() { resolver.cancelQueries() }

    private func noting(_ query: EventLoopFuture<[SocketAddress]>) -> EventLoopFuture<[SocketAddress]> {
        if isCached { return query }
        query.assumeIsolated().whenSuccess { _ in
            if self.resolvedAt == nil { self.resolvedAt = .now() }
        }
        return query
    }
}
