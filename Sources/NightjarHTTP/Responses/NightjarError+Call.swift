/// The call that failed: its request, its response and what was decided for it.
extension NightjarError {
    private struct Call: ErrorContext {
        var response: Response?
        var details: ErrorBody?
        var decisions: [Decision] = []
        var sent: PreparedRequest?
    }

    private var call: Call? { facts.context as? Call }

    public init(
        _ kind: ErrorKind, _ message: String, phase: ErrorPhase? = nil, url: String? = nil, response: Response?,
        details: ErrorBody? = nil, attempts: Int = 0, code: Int32 = 0, requestMayHaveBeenProcessed: Bool = false,
        retryAfter: Duration? = nil
    ) {
        var facts = Facts(
            kind: kind, message: message, phase: phase, url: url, status: response?.status, attempts: attempts,
            code: code, requestMayHaveBeenProcessed: requestMayHaveBeenProcessed, retryAfter: retryAfter)
        if response != nil || details != nil { facts.context = Call(response: response, details: details) }
        self.init(facts)
    }

    /// The answer, when there was one (the kinds that name a status, and `decoding`).
    public var response: Response? { call?.response }
    /// What the server says about it in the body of ``response``, where that is understood.
    public var details: ErrorBody? { call?.details }
    /// Why the call went as it did, first to last.
    public var decisions: [Decision] { call?.decisions ?? [] }

    /// What was sent last, or was about to be; nil for a failure that belongs to no call.
    public var request: RequestRecord? { (call?.sent ?? response?.sent).map(RequestRecord.init) }

    /// The curl command line that sends the failed request. See ``Response/curl(showsSecrets:)``.
    public func curl(showsSecrets: Bool = false) -> String? {
        request.map { CurlCommand($0, showsSecrets: showsSecrets).text }
    }

    /// A copy of this error with the URL, request and number of attempts of the call.
    public func of(_ request: PreparedRequest, attempts: Int) -> NightjarError {
        changed { facts, call in
            facts.url = facts.url ?? request.url.redacted
            facts.attempts = max(attempts, facts.attempts)
            call.sent = call.sent ?? request
        }
    }

    /// A copy of this error whose response has no body. ``details`` is kept.
    public var withoutBody: NightjarError {
        guard let response else { return self }
        return changed { $1.response = response.withoutBody }
    }

    /// A copy of this error with the errors of earlier attempts and the decisions of the call.
    public func after(_ earlier: [NightjarError], _ decisions: [Decision]) -> NightjarError {
        guard !earlier.isEmpty || !decisions.isEmpty else { return self }
        return changed { facts, call in
            facts.earlier = earlier + facts.earlier
            call.decisions = decisions + call.decisions
        }
    }

    /// A copy of this error for a failure to read this response.
    public func about(_ response: Response) -> NightjarError {
        changed { facts, call in
            facts.phase = .receive
            facts.url = response.url
            facts.status = response.status
            facts.attempts = response.attempts
            facts.requestMayHaveBeenProcessed = true
            call.response = response
        }
    }

    private func changed(_ change: (inout Facts, inout Call) -> Void) -> NightjarError {
        var facts = facts
        var call = call ?? Call()
        change(&facts, &call)
        facts.context = call
        return NightjarError(facts)
    }
}
