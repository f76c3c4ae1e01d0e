import NightjarHTTP

/// Decides, once for every response, whether its status is an answer or an error (DESIGN section 4), and whether its
/// content is what the caller's schema says, and what its endpoint does.
final class Validate: Stage, @unchecked Sendable {
    let hooks: StageHooks = [.incoming, .answered]
    /// For calls whose endpoint does not say it.
    private let validation: ResponseValidation
    /// Names of deprecated endpoints that the log has told of.
    private var warned: Set<String> = []

    init(_ validation: ResponseValidation) { self.validation = validation }

    func incoming(_ head: ResponseHead, _ call: Call) -> Verdict {
        // The body of an error belongs to the error, also when the caller streams.
        if !Validate.isExpected(head.status, call.options.expectedStatuses) { call.collectsBody = true }
        return .proceed
    }

    func answered(_ response: Response, _ call: Call) -> Verdict {
        guard Validate.isExpected(response.status, call.options.expectedStatuses) else {
            return .fail(Validate.error(of: response, to: call.request.method))
        }
        if let contract = call.options.contract {
            warnOnce(contract, call)
            if let error = mismatch(of: response, contract, call) { return .fail(error) }
        }
        guard let schema = call.options.schema else { return .proceed }
        do throws(NightjarError) {
            try response.check(schema)
            return .proceed
        } catch {
            return .fail(error)
        }
    }

    /// - Returns: what the call fails with.
    private func mismatch(of response: Response, _ contract: ResponseContract, _ call: Call) -> NightjarError? {
        let mode = contract.validation ?? validation
        guard mode != .off, call.task.handlers.body == nil else { return nil }
        do throws(NightjarError) {
            try contract.check(response)
            return nil
        } catch {
            guard mode == .warn else { return error }
            call.decide(.mismatched(problem: error.message))
            call.note(.warning, "\(call.request.method) \(call.request.url.redacted): \(error.message)")
            return nil
        }
    }

    /// Once for each endpoint.
    private func warnOnce(_ contract: ResponseContract, _ call: Call) {
        guard contract.isDeprecated, warned.count < Validate.maximumWarnings,
            warned.insert(contract.endpoint).inserted
        else { return }
        call.note(.warning, "endpoint \(quoted(contract.endpoint)) is deprecated")
    }

    /// Names remembered: more endpoints than any known API has deprecated.
    private static let maximumWarnings = 10_000

    static func error(of response: Response, to method: Method) -> NightjarError {
        let reason = response.head.reason.isEmpty ? "" : " \(response.head.reason)"
        let details = ErrorBody(parsing: response.body)
        let summary = details?.summary(besides: response.head.reason) ?? ""
        let told = summary.isEmpty ? "" : ": " + quoted(summary, limit: maximumSummary)
        return NightjarError(
            ErrorKind(unexpectedStatus: response.status), "\(method) answered \(response.status)\(reason)\(told)",
            phase: .receive, response: response, details: details, attempts: response.attempts,
            requestMayHaveBeenProcessed: true,
            retryAfter: RetryAfter.duration(response.headers, now: WallClock.secondsSince1970()))
    }

    /// Code points of what the server says that a message has room for; the rest is in the details.
    private static let maximumSummary = 200

    /// Without the caller's word: success, and 304, which only a caller's own condition can bring about.
    static func isExpected(_ status: Int, _ expected: [StatusRange]) -> Bool {
        if expected.isEmpty { return 200...299 ~= status || status == 304 }
        return expected.contains { $0.contains(status) }
    }
}
