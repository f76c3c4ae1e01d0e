/// The request, the response and the decisions of the call that failed.
extension NightjarError {
    /// The error description in the body of a response.
    public typealias Details = ErrorBody

    private struct Call: ErrorContext {
        var response: Response?
        var details: ErrorBody?
        var decisions: [Decision] = []
        var sent: PreparedRequest?
        var connection: ConnectionRecord?
    }

    private var call: Call? { facts.context as? Call }

    /// Creates the error for an unexpected response.
    ///
    /// - Parameters:
    ///   - details: the error description in the response's body.
    ///   - wasProcessed: false if the response shows that the server has not processed the request.
    public init(
        _ kind: ErrorKind, _ message: String, response: Response, details: ErrorBody? = nil,
        retryAfter: Duration? = nil, wasProcessed: Bool = true
    ) {
        var facts = Facts(kind, message)
        facts.phase = .receive
        facts.status = response.status
        facts.attempts = response.attempts
        facts.requestMayHaveBeenProcessed = wasProcessed
        facts.retryAfter = retryAfter
        facts.context = Call(response: response, details: details)
        self.init(facts)
    }

    /// The response with the unexpected status, or the response that could not be decoded. Nil if there is none.
    public var response: Response? { call?.response }
    /// The error description in ``response``. Nil if its format is not recognized.
    public var details: ErrorBody? { call?.details }
    /// The decisions made during the call, first to last.
    public var decisions: [Decision] { call?.decisions ?? [] }

    /// The TLS connection on which the last request was sent. Nil without TLS, and if no request was sent.
    public var tls: TLSDetails? { call?.connection?.tlsDetails ?? response?.tls }

    /// The last request that was sent or prepared. Nil if the error does not belong to a call.
    public var request: RequestRecord? { (call?.sent ?? response?.sent).map(RequestRecord.init) }

    /// Returns the curl command line that sends the failed request. See ``Response/curl(showsSecrets:)``.
    public func curl(showsSecrets: Bool = false) -> String? {
        request.map { CurlCommand($0, showsSecrets: showsSecrets).text }
    }

    /// Returns a copy of this error with the URL, request, number of attempts and connection of the call. Keeps a URL, a
    /// request and a connection that the error already has, and a higher number of attempts.
    public func of(
        _ request: PreparedRequest, attempts: Int, on connection: ConnectionRecord? = nil
    ) -> NightjarError {
        changed { facts, call in
            facts.url = facts.url ?? request.url.redacted
            facts.attempts = max(attempts, facts.attempts)
            call.sent = call.sent ?? request
            call.connection = call.connection ?? connection
        }
    }

    /// A copy of this error whose response has no body. ``details`` is kept.
    public var withoutBody: NightjarError {
        guard let response else { return self }
        return changed { $1.response = response.withoutBody }
    }

    /// Returns a copy of this error with the errors of earlier attempts and the decisions of the call.
    public func after(_ earlier: [NightjarError], _ decisions: [Decision]) -> NightjarError {
        guard !earlier.isEmpty || !decisions.isEmpty else { return self }
        return changed { facts, call in
            facts.earlier = earlier + facts.earlier
            call.decisions = decisions + call.decisions
        }
    }

    /// Returns a copy of this error with the values of `response`, for a response that could not be decoded.
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
