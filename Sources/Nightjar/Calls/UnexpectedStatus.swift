import NightjarHTTP

extension NightjarError {
    /// The error of a call that was answered with a status that its caller does not expect, with what the response tells about
    /// the reason.
    init(unexpected response: Response, to method: Method) {
        let reason = response.head.reason.isEmpty ? "" : " \(response.head.reason)"
        let details = ErrorBody(response)
        let summary = details?.summary(besides: response.head.reason) ?? ""
        var told = summary.isEmpty ? "" : ": " + quoted(summary, limit: NightjarError.longestSummary)
        if let challenge = ErrorBody.challenge(of: response) { told += "; the server asks for \(challenge)" }
        self.init(
            ErrorKind(unexpectedStatus: response.status), "\(method) answered \(response.status)\(reason)\(told)",
            phase: .receive, response: response, details: details, attempts: response.attempts,
            requestMayHaveBeenProcessed: true,
            retryAfter: RetryAfter.duration(response.headers, now: WallClock.secondsSince1970()))
    }

    /// The longest summary of the server's error in a message, in code points. The details have all of it.
    private static let longestSummary = 200
}

extension [StatusRange] {
    /// Whether a status is a success. Without ranges, the statuses 200 to 299 and 304 are.
    func expects(_ status: Int) -> Bool {
        if isEmpty { return 200...299 ~= status || status == 304 }
        return contains { $0.contains(status) }
    }
}
