import NightjarHTTP

/// A request for a token that the token provider has not responded to.
///
/// If the provider does not run on the loop, the request is posted to the queues of all calls that wait for the token.
/// A queue may be polled late or never, and a call may be cancelled. The first queue that is polled calls the provider.
struct PendingTokenRequest {
    /// The refresh that needs the token.
    let refresh: TokenRefresh.Refresh
    private let tokenRequest: TokenProvider.Request
    private let provider: TokenProvider
    private unowned let loop: ClientLoop
    /// The queues that the request was posted to, retained so that no other queue gets the same address.
    private var queues: [ObjectIdentifier: CompletionQueue] = [:]
    private var isOnLoop = false

    /// - Parameter provided: Called on the loop with each response of the provider.
    init(
        for refresh: TokenRefresh.Refresh, wasRejected: Bool, to provider: TokenProvider, on loop: ClientLoop,
        provided: @escaping @Sendable (Result<Token, NightjarError>) -> Void
    ) {
        self.refresh = refresh
        self.provider = provider
        self.loop = loop
        tokenRequest = TokenProvider.Request(wasRejected: wasRejected) { [loop] token in
            loop.submit(.run { provided(token) })
        }
    }

    /// Posts the request to the loop if the provider runs there, and otherwise where the call's callbacks run.
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

    /// Returns the outcome of a refresh to which the provider responded with `token`.
    static func outcome(of token: Result<Token, NightjarError>) -> (LoginUpdate.Outcome, NightjarError?) {
        switch token {
        case .success(let token) where token.authorization != nil: return (.refreshed(token), nil)
        case .success:
            let message =
                "the token provider returned a token that is empty or has a character that is not allowed in a header"
            return (.failed(.providerFailed), NightjarError(.invalidArgument, message))
        case .failure(let error):
            return (.failed(error.kind == .unauthorized ? .invalidGrant : .providerFailed), error)
        }
    }
}
