import NightjarHTTP

/// A decision request for a token, posted to every queue that may respond to it.
///
/// It is posted to the queues of all calls that wait for the token, because any queue may be polled late or never, and
/// any call may be cancelled. The first queue that is polled takes it.
struct PendingTokenRequest {
    let tokenRequest: TokenRequest
    let refresh: TokenRefresh.Refresh
    private let provider: TokenProvider
    private unowned let loop: ClientLoop
    /// The queues it was posted to. They are retained so that no other queue gets the same address.
    private var queues: [ObjectIdentifier: CompletionQueue] = [:]
    private var isOnLoop = false

    init(
        _ tokenRequest: TokenRequest, to provider: TokenProvider, for refresh: TokenRefresh.Refresh, on loop: ClientLoop
    ) {
        self.tokenRequest = tokenRequest
        self.provider = provider
        self.refresh = refresh
        self.loop = loop
    }

    /// Posts the request where the call's callbacks run.
    mutating func put(to call: Call) {
        guard !tokenRequest.isTaken, !isOnLoop else { return }
        let event = QueueEvent.run { [provider, tokenRequest] in
            if tokenRequest.take() { provider.provide(tokenRequest) }
        }
        for queue in provider.runsOnLoop ? [nil] : call.eventQueues {
            guard let queue else {
                isOnLoop = true
                return loop.post(event, to: nil)
            }
            guard queues.updateValue(queue, forKey: ObjectIdentifier(queue)) == nil else { continue }
            loop.post(event, to: queue)
        }
    }

    /// Withdraws the request: no queue can take it any more.
    func withdraw() { _ = tokenRequest.take() }
}
