import NightjarHTTP

/// A request for a token that the token provider has not responded to.
struct PendingTokenRequest {
    /// The refresh that needs the token.
    let refresh: TokenRefresh.Refresh
    private let decision: PendingDecision

    /// - Parameter provided: Called on the loop with each response of the provider.
    init(
        for refresh: TokenRefresh.Refresh, wasRejected: Bool, to provider: TokenProvider, on loop: ClientLoop,
        provided: @escaping @Sendable (Result<Token, NightjarError>) -> Void
    ) {
        self.refresh = refresh
        let request = TokenProvider.Request(wasRejected: wasRejected) { [loop] token in
            loop.submit(.run { provided(token) })
        }
        decision = PendingDecision(on: loop, at: provider.place) { provider.provide(request) }
    }

    /// Posts the request for a call that waits for the token. Called on the loop.
    func post(for call: Call) { decision.post(for: call) }

    /// Withdraws the request: no queue can take it any more.
    func withdraw() { decision.withdraw() }

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
