import NightjarHTTP

/// A challenge that the caller has not decided yet.
struct PendingChallenge {
    let details: Authentication.Challenge.Details
    private let decision: PendingDecision

    /// - Parameter decided: Called on the loop with the response, at most once.
    init(
        _ details: Authentication.Challenge.Details, _ handler: Authentication.ChallengeHandler, on loop: ClientLoop,
        decided: @escaping @Sendable (Authentication.Challenge.Response) -> Void
    ) {
        self.details = details
        decision = PendingDecision(on: loop, at: handler.place) { [loop] in
            handler.decide(
                Authentication.Challenge(details) { response in
                    loop.submit(.run { decided(response) })
                })
        }
    }

    /// Posts the challenge for a call that waits for the decision. Called on the loop.
    ///
    /// - Returns: False if no queue can run the callback now.
    @discardableResult
    func post(for call: Call) -> Bool { decision.post(for: call) }

    /// Withdraws the challenge: no queue can take it any more. Any thread.
    func withdraw() { decision.withdraw() }
}
