import NIOCore
import NIOPosix
import NightjarHTTP
import Synchronization

/// The steps of making one connection and how long they took.
///
///     began ──look-up──▶ resolved ──TCP, a proxy──▶ connected ──TLS──▶ finished
struct ConnectionOpening {
    private let began = NIODeadline.now()
    /// Nil without a look-up.
    private var resolved: NIODeadline?
    private var connected: NIODeadline?
    private var usesTLS = false

    /// Whether bytes can flow to the origin, or to the proxy that forwards requests.
    var isConnected: Bool { connected != nil }

    /// The bytes of the origin can flow.
    ///
    /// - Parameter lookUp: what the connection's name was looked up by; nil for an address.
    mutating func connected(after lookUp: LookUpClock?, usesTLS: Bool) {
        resolved = lookUp?.answered
        connected = .now()
        self.usesTLS = usesTLS
    }

    func finished(_ peer: SocketAddress?) -> ConnectionRecord {
        let connected = connected ?? .now()
        return ConnectionRecord(
            number: ConnectionOpening.made.add(1, ordering: .relaxed).newValue,
            peerAddress: peer?.ipAddress ?? peer?.pathname, peerPort: peer?.port,
            dns: resolved.map { ConnectionOpening.length(began, $0) },
            connect: ConnectionOpening.length(resolved ?? began, connected),
            tls: usesTLS ? ConnectionOpening.length(connected, .now()) : nil)
    }

    private static func length(_ from: NIODeadline, _ to: NIODeadline) -> Duration {
        .nanoseconds(max((to - from).nanoseconds, 0))
    }

    private static let made = Atomic<Int>(0)
}

/// The resolver as one connection asks it, which notes when it has answered.
final class LookUpClock: Resolver, @unchecked Sendable {
    private let resolver: AddressResolver
    private let isKnown: Bool
    /// Nil before, and where the answer was known. On the loop.
    private(set) var answered: NIODeadline?

    init(_ resolver: AddressResolver, _ host: String, _ port: Int) {
        self.resolver = resolver
        isKnown = resolver.knows(host, port)
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        noting(resolver.initiateAQuery(host: host, port: port))
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        noting(resolver.initiateAAAAQuery(host: host, port: port))
    }

    func cancelQueries() { resolver.cancelQueries() }

    private func noting(_ query: EventLoopFuture<[SocketAddress]>) -> EventLoopFuture<[SocketAddress]> {
        if isKnown { return query }
        query.assumeIsolated().whenSuccess { _ in
            if self.answered == nil { self.answered = .now() }
        }
        return query
    }
}
