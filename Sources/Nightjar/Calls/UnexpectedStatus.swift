import NightjarHTTP

extension NightjarError {
    /// The error of a call whose response has an unexpected status. Includes the reason that the response gives.
    init(unexpected response: Response, to method: Method) {
        let phrase = response.head.reason.isEmpty ? ReasonPhrase.of(response.status) : response.head.reason
        let reason = phrase.isEmpty ? "" : " \(phrase)"
        let details = ErrorBody(response)
        let summary = details?.summary(excluding: phrase) ?? ""
        var explanation = summary.isEmpty ? "" : ": " + quoted(summary, limit: NightjarError.longestSummary)
        if let challenge = ErrorBody.challenge(of: response) { explanation += "; the server requires \(challenge)" }
        self.init(
            ErrorKind(unexpectedStatus: response.status),
            "\(method) returned \(response.status)\(reason)\(explanation)",
            response: response, details: details,
            retryAfter: RetryAfter.duration(response.headers, now: WallClock.secondsSince1970()))
    }

    /// The maximum length of the server's error summary in a message, in code points. The details contain the whole
    /// text.
    private static let longestSummary = 200
}

extension [StatusRange] {
    /// Whether a status is a success. An empty list means 200 to 299 and 304.
    func expects(_ status: Int) -> Bool {
        if isEmpty { return 200...299 ~= status || status == 304 }
        return contains { $0.contains(status) }
    }
}
