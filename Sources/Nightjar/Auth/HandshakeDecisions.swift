import NightjarHTTP
import NightjarTransport

/// Requests the caller's decisions about TLS handshakes. Used on the loop.
final class HandshakeDecisions: @unchecked Sendable {
    private let handler: Authentication.ChallengeHandler

    init(_ handler: Authentication.ChallengeHandler) { self.handler = handler }

    /// The request for one decision, and the calls that wait for it.
    private final class Request {
        let pending: PendingChallenge
        var calls: [Call] = []

        init(_ pending: PendingChallenge) { self.pending = pending }
    }

    /// Requests the decision about a connection that the call waits for.
    ///
    /// - Returns: False if the decision is not about a handshake, if no queue can run the callback, or if the call must
    ///   not decide: after a redirect to another origin, a client certificate is sent only if it is configured.
    func request(_ challenge: ConnectionChallenge, for call: Call) -> Bool {
        guard let kind = Authentication.Challenge.Kind(challenge.subject) else { return false }
        if call.credentialsAreDropped, case .clientCertificate = challenge.subject { return false }
        let request = challenge.request as? Request ?? begin(challenge, kind, on: call.loop)
        guard request.pending.post(for: call) else { return false }
        request.calls.append(call)
        return true
    }

    private func begin(
        _ challenge: ConnectionChallenge, _ kind: Authentication.Challenge.Kind, on loop: ClientLoop
    ) -> Request {
        let details = Authentication.Challenge.Details(
            kind: kind, host: challenge.host, port: challenge.port, isProxy: challenge.isProxy)
        let decide = OnLoop<Authentication.Challenge.Response> { [self] response in
            decided(challenge, details, response, on: loop)
        }
        let pending = PendingChallenge(details, handler, on: loop) { decide.body($0) }
        let request = Request(pending)
        challenge.request = request
        challenge.withdrawn = { pending.withdraw() }
        return request
    }

    private func decided(
        _ challenge: ConnectionChallenge, _ details: Authentication.Challenge.Details,
        _ response: Authentication.Challenge.Response, on loop: ClientLoop
    ) {
        guard challenge.isPending else { return }
        let calls = (challenge.request as? Request)?.calls ?? []
        for call in calls where call.state != .finished { call.decide(details.decision(response)) }
        switch response {
        case .useDefault, .password: challenge.decide(.useDefault)
        case .cancel(let message): challenge.decide(.fail(details.cancelled(message, phase: .tls)))
        case .certificate(let certificate):
            let finish = OnLoop<ConnectionChallenge.Decision> { challenge.decide($0) }
            loop.workers.run("reading the client certificate", failsAs: .tls) { () throws(NightjarError) in
                try certificate.loaded()
            } then: { result in
                switch result {
                case .success(let identity): finish.body(.certificate(identity))
                case .failure(let error): finish.body(.fail(error))
                }
            }
        }
    }
}

extension Authentication.Challenge.Kind {
    /// Creates the kind of a decision. Nil if the decision is not about a TLS handshake.
    fileprivate init?(_ subject: ConnectionChallenge.Subject) {
        switch subject {
        case .clientCertificate(let authorities): self = .clientCertificate(authorities: authorities)
        case .serverTrust(let chain): self = .serverTrust(chain: chain)
        case .name, .addresses: return nil
        }
    }
}
