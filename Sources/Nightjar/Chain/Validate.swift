import NightjarHTTP

/// Decides, once for every response, whether its status is an answer or an error (DESIGN section 4).
final class Validate: Stage, @unchecked Sendable {
    let hooks: StageHooks = [.incoming, .answered]

    func incoming(_ head: ResponseHead, _ call: Call) -> Verdict {
        // The body of an error belongs to the error, also when the caller streams.
        if !Validate.isExpected(head.status, call.options.expectedStatuses) { call.collectsBody = true }
        return .proceed
    }

    func answered(_ response: Response, _ call: Call) -> Verdict {
        if Validate.isExpected(response.status, call.options.expectedStatuses) { return .proceed }
        return .fail(
            NightjarError(
                ErrorKind(unexpectedStatus: response.status), Validate.message(call.request.method, response),
                phase: .receive, response: response, requestMayHaveBeenProcessed: true,
                retryAfter: RetryAfter.duration(response.headers, now: WallClock.secondsSince1970())))
    }

    /// What was asked, the status, and what the server says about it.
    private static func message(_ method: Method, _ response: Response) -> String {
        let reason = response.head.reason
        var message = "\(method) answered \(response.status)\(reason.isEmpty ? "" : " \(reason)")"
        if let summary = ErrorBody(parsing: response.body)?.summary, summary != reason {
            // Problem details mostly have the reason for a title.
            let isRepeated = !reason.isEmpty && summary.hasPrefix("\(reason): ")
            message += ": " + quoted(isRepeated ? summary.dropFirst(reason.count + 2) : summary[...], limit: 200)
        }
        return message
    }

    /// Without the caller's word: success, and 304, which only a caller's own condition can bring about.
    static func isExpected(_ status: Int, _ expected: [StatusRange]) -> Bool {
        if expected.isEmpty { return 200...299 ~= status || status == 304 }
        return expected.contains { $0.contains(status) }
    }
}
