import NightjarHTTP
import NightjarTransport

/// Requests the caller's decisions about names and addresses. Used on the loop.
final class AddressDecisions {
    private typealias AddressRequest = TransportConfiguration.AddressRequest

    private let resolver: TransportConfiguration.AddressCallback?
    private let filter: TransportConfiguration.AddressCallback?

    /// Returns nil if there is no callback.
    init?(resolver: TransportConfiguration.AddressCallback?, filter: TransportConfiguration.AddressCallback?) {
        guard resolver != nil || filter != nil else { return nil }
        self.resolver = resolver
        self.filter = filter
    }

    /// Requests the decision about a connection that the call waits for.
    ///
    /// - Returns: False if the decision is not about addresses, or if no queue can run the callback.
    func request(_ challenge: ConnectionChallenge, for call: Call) -> Bool {
        if let pending = challenge.request as? PendingDecision { return pending.post(for: call) }
        switch challenge.subject {
        case .name: return begin(challenge, resolver, nil, for: call)
        case .addresses(let candidates): return begin(challenge, filter, candidates, for: call)
        case .clientCertificate, .serverTrust: return false
        }
    }

    private func begin(
        _ challenge: ConnectionChallenge, _ callback: TransportConfiguration.AddressCallback?,
        _ candidates: [TransportConfiguration.IPAddress]?, for call: Call
    ) -> Bool {
        guard let callback else { return false }
        let details = AddressRequest.Details(
            host: challenge.host, port: challenge.port, isProxy: challenge.isProxy, candidates: candidates)
        let closed = ConnectionChallenge.Decision.fail(details.failure("the client was closed"))
        if callback.endsWithClient, call.loop.isClosing {
            challenge.decide(closed)
            return true
        }
        let decide = OnLoop<ConnectionChallenge.Decision> { challenge.decide($0) }
        let pending = PendingDecision(on: call.loop, at: callback.place) { [loop = call.loop] in
            callback.decide(AddressRequest(details) { decision in loop.submit(.run { decide.body(decision) }) })
        }
        challenge.request = pending
        challenge.withdrawn = { [loop = call.loop] in
            pending.withdraw()
            loop.removeCloseListener(pending)
        }
        if callback.endsWithClient {
            // The client must have notified all listeners before it handles the decision.
            call.loop.addCloseListener(pending) { [loop = call.loop] in loop.after(.zero) { decide.body(closed) } }
        }
        return pending.post(for: call)
    }
}
