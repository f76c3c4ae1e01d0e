import NIOCore
import NightjarHTTP

/// A lookup of one name by the caller. All attempts of a host that need the name wait for the same lookup. Used on the
/// loop.
///
///     waiting ──decision──▶ ended
///        ├── the decision is the default ──▶ the system looks up the name ──▶ ended
///        └── the last attempt leaves ──▶ ended: the decision is withdrawn
final class NameLookup {
    typealias Completion = (Result<[SocketAddress], NightjarError>) -> Void

    private let peer: Peer
    private let resolver: AddressResolver
    /// The value of the resolver's ``AddressResolver/generation`` when the lookup began.
    private let generation: Int
    private weak var host: TransportHost?
    private var attempts: [ObjectIdentifier: Completion] = [:]
    /// The request for the addresses.
    private(set) lazy var challenge = ConnectionChallenge(.name, from: peer) { [weak self] in self?.decided($0) }

    init(_ peer: Peer, with resolver: AddressResolver, for host: TransportHost) {
        self.peer = peer
        self.resolver = resolver
        self.host = host
        generation = resolver.generation
    }

    func isOf(_ peer: Peer) -> Bool { self.peer.host == peer.host && self.peer.port == peer.port }

    /// Calls `completion` when the lookup has ended, unless the attempt is removed before.
    func wait(for attempt: ConnectionAttempt, _ completion: @escaping Completion) {
        attempts[ObjectIdentifier(attempt)] = completion
    }

    /// Removes an attempt that has ended.
    func leave(_ attempt: ConnectionAttempt) {
        guard attempts.removeValue(forKey: ObjectIdentifier(attempt)) != nil, attempts.isEmpty else { return }
        host?.forget(self)
        challenge.withdraw()
    }

    private func decided(_ decision: ConnectionChallenge.Decision) {
        switch decision {
        case .addresses(let chosen):
            let addresses = chosen.prefix(NameLookup.maximumAddresses).compactMap {
                try? SocketAddress(ipAddress: $0.description, port: peer.port)
            }
            if !addresses.isEmpty { resolver.store(addresses, of: peer.host, peer.port, since: generation) }
            end(.success(addresses))
        case .fail(let error): end(.failure(error))
        case .useDefault, .certificate:
            resolver.addresses(peer.host, peer.port).assumeIsolated().whenComplete { [self] result in
                end(result.mapError { ConnectFailure.notFound(peer, $0) })
            }
        }
    }

    private func end(_ result: Result<[SocketAddress], NightjarError>) {
        let waiting = attempts.values
        attempts = [:]
        host?.forget(self)
        for completion in waiting { completion(result) }
    }

    /// The maximum number of addresses of one host in a decision. Names rarely have more than 16.
    static let maximumAddresses = 64
}

extension TransportHost {
    /// Returns the lookup of a peer's host that is in progress, or a new lookup.
    func lookup(of peer: Peer, with resolver: AddressResolver) -> (lookup: NameLookup, isNew: Bool) {
        if let known = lookups.first(where: { $0.isOf(peer) }) { return (known, false) }
        let lookup = NameLookup(peer, with: resolver, for: self)
        lookups.append(lookup)
        return (lookup, true)
    }

    func forget(_ lookup: NameLookup) { lookups.removeAll { $0 === lookup } }
}
