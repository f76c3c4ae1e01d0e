import NIOCore

extension HTTP1Connection {
    /// Requests a decision of the callers whose exchanges wait for the connection.
    func challenged(_ challenge: ConnectionChallenge) {
        guard isConnecting, let loop = channel?.eventLoop else { return }
        self.challenge = challenge
        if host.requestDecision(challenge) { return }
        // A connection for which no exchange waits is not opened without the caller's decision.
        let decision: ConnectionChallenge.Decision =
            host.pool.waitingCount > 0 ? .useDefault : .fail(TransportHost.abandoned)
        loop.assumeIsolated().execute { challenge.decide(decision) }
    }
}
