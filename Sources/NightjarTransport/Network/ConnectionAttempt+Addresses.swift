import NIOCore
import NightjarHTTP

/// Finds the addresses of a connection if the caller resolves names or decides about addresses.
///
///     lookUp ──known, cached, resolver callback or system──▶ rules ──▶ choose ──on_addresses callback──▶ addresses
extension ConnectionAttempt {
    /// Whether the caller resolves names or decides about addresses.
    var decidesAddresses: Bool { connector.requestsNames || connector.requestsAddresses }

    /// Finds the addresses of a peer to which a connection may be opened. If there are none, fails the attempt.
    ///
    /// - Parameter isConnectedByProxy: Whether a proxy opens the connection to the address.
    func findAddresses(
        of peer: Peer, isConnectedByProxy: Bool = false, then next: @escaping ([SocketAddress]) -> Void
    ) {
        lookUp(peer) { [self] found in
            do throws(NightjarError) {
                let permitted = try connector.addresses.permitted(
                    found, of: peer, isConnectedByProxy: isConnectedByProxy, reporting: reportDenied)
                guard !permitted.isEmpty else { throw ConnectFailure.notFound(peer, nil) }
                guard connector.requestsAddresses, !peer.isProxy else { return next(permitted) }
                choose(among: permitted, of: peer, then: next)
            } catch {
                failed(error)
            }
        }
    }

    /// Requests the decision about the address that an http proxy, or a SOCKS proxy that resolves names, receives as the
    /// host. ``AddressRules/check(_:_:)`` decides about names.
    func checkOrigin(then next: @escaping () -> Void) {
        let origin = host.origin
        guard connector.requestsAddresses,
            let address = try? SocketAddress(ipAddress: origin.host, port: origin.port)
        else { return next() }
        choose(among: [address], of: Peer(origin)) { _ in next() }
    }

    // MARK: Names

    private func lookUp(_ peer: Peer, then next: @escaping ([SocketAddress]) -> Void) {
        let resolver = connector.resolver
        if let found = resolver.known(peer.host, peer.port) ?? resolver.cached(peer.host, peer.port) {
            return next(found)
        }
        guard connector.requestsNames else {
            resolver.addresses(peer.host, peer.port).assumeIsolated().whenComplete { [self] result in
                found(peer, result.mapError { ConnectFailure.notFound(peer, $0) }, next)
            }
            return
        }
        let (lookup, isNew) = host.lookup(of: peer, with: resolver)
        nameLookup = lookup
        lookup.wait(for: self) { [self] result in
            nameLookup = nil
            found(peer, result, next)
        }
        if isNew { requestDecision(lookup.challenge) }
    }

    private func found(
        _ peer: Peer, _ result: Result<[SocketAddress], NightjarError>, _ next: ([SocketAddress]) -> Void
    ) {
        guard isPending else { return }
        switch result {
        case .success(let addresses):
            resolvedAt = .now()
            report(.resolved(host: peer.host, opening.elapsed))
            next(addresses)
        case .failure(let error): failed(error)
        }
    }

    // MARK: Addresses

    private func choose(
        among candidates: [SocketAddress], of peer: Peer, then next: @escaping ([SocketAddress]) -> Void
    ) {
        let candidates = candidates.prefix(NameLookup.maximumAddresses)
        let subject = ConnectionChallenge.Subject.addresses(candidates.compactMap(\.address))
        challenged(
            ConnectionChallenge(subject, from: peer) { [self] decision in
                guard isPending else { return }
                switch decision {
                case .addresses(let chosen):
                    let allowed = chosen.compactMap { address in candidates.first { $0.address == address } }
                    reportDenied(candidates, of: peer, except: chosen)
                    if allowed.isEmpty { failed(ConnectFailure.denied(peer)) } else { next(allowed) }
                case .fail(let error):
                    reportDenied(candidates, of: peer, except: [])
                    failed(error)
                case .useDefault, .certificate: next(Array(candidates))
                }
            })
    }

    /// Reports the candidates that the caller has not chosen, if any.
    private func reportDenied(_ candidates: ArraySlice<SocketAddress>, of peer: Peer, except chosen: [IPAddress]) {
        var denied = AddressFilter.Denied(by: .onAddresses, host: peer.host, of: candidates.count)
        for address in candidates.compactMap(\.address) where !chosen.contains(address) {
            denied.add(address, because: nil)
        }
        if denied.count > 0 { reportDenied(denied) }
    }
}
