import NightjarHTTP

/// Attaches the token of the call's login for the login's origin. After a 401 response, waits for a refreshed token and
/// repeats the call once, unless the call cannot be repeated.
///
/// A call with its own Authorization field, or with authentication disabled, is not changed.
final class Authenticate: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.outgoing, .incoming, .responded, .failed, .ended] }
    private let origin: Origin
    private let sessions: TokenSessions

    init(_ origin: Origin, _ sessions: TokenSessions) {
        self.origin = origin
        self.sessions = sessions
    }

    override func outgoing(_ call: Call) -> Verdict {
        guard let manager = sessions[call.options.login], call.request.origin == origin,
            call.sendsLogin
        else { return .proceed }
        // A cached response may be sufficient even if no new token can be obtained. If the request is sent to the
        // server, the server rejects the token if it has expired.
        if call.options.cache?.ignoresAge == true, !manager.concerns(call),
            let verdict = manager.attachCurrentToken(call)
        {
            return verdict
        }
        return manager.requestToken(call)
    }

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        guard let manager = sessions[call.options.login], manager.concerns(call) else { return .proceed }
        let isRefused = head.status == 401 && call.request.origin == origin && call.sendsLogin
        manager.note(isRefused: isRefused, call)
        if isRefused { call.collectsBody = true }
        return .proceed
    }

    override func responded(_ response: Response, _ call: Call) -> Verdict {
        guard let verdict = refused(call) else { return .proceed }
        if case .proceed = verdict { return .respond(call.settle(response)) }
        return verdict
    }

    /// Handles a 401 response whose body failed. The body is not needed to repeat the call.
    override func failed(_ error: NightjarError, _ call: Call) -> Verdict { refused(call) ?? .proceed }

    private func refused(_ call: Call) -> Verdict? {
        guard let manager = sessions[call.options.login], manager.takeRefusal(call) else { return nil }
        guard call.bodyIsReplayable else {
            let cause = "the server rejected the token (401)"
            call.decide(.notRetried(cause: cause, because: RetryPolicy.Reason.bodyWasConsumed.description))
            manager.refusedPermanently(call)
            return .proceed
        }
        call.wasRejectedByLimit = true
        return manager.refused(call)
    }

    override func ended(_ result: Result<Response, NightjarError>, _ call: Call) {
        sessions[call.options.login]?.ended(call)
    }
}
