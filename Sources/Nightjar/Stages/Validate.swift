import NightjarAPI
import NightjarHTTP

/// Decides whether the status of a response is a success or an error. Validates the body against the caller's schema
/// and the endpoint's description. Large bodies are validated on a worker thread if one can be started.
final class Validate: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.incoming, .responded] }
    /// The setting for endpoints that do not have their own.
    private let validation: ResponseValidation
    /// The deprecated endpoints that have been logged.
    private var warned: Set<String> = []

    init(_ validation: ResponseValidation) { self.validation = validation }

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        // The body of an error response is collected for the error, even if the caller streams.
        if !call.options.expectedStatuses.expects(head.status) { call.collectsBody = true }
        return .proceed
    }

    override func responded(_ response: Response, _ call: Call) -> Verdict {
        guard call.options.expectedStatuses.expects(response.status) else {
            let error = NightjarError(unexpected: response, to: call.request.method)
            guard call.options.isGraphQL else { return .fail(error) }
            return .fail(GraphQLResponse.problem(ofUnexpected: response, error.kind) ?? error)
        }
        let contract = call.options.contract
        if let contract { warnOnce(contract, call) }
        let mode = contract.map { $0.validation ?? validation } ?? .off
        let isDescribed = mode != .off && call.task.handlers.body == nil
        let isGraphQL = call.options.isGraphQL && call.task.handlers.body == nil
        guard isDescribed || isGraphQL || call.options.schema != nil else { return .proceed }
        let check = ResponseCheck(
            response, by: isDescribed ? contract : nil, and: call.options.schema, isGraphQL: isGraphQL,
            isEither: mode == .error)
        return check.map { perform($0, mode, call) } ?? .proceed
    }

    /// Runs a short check on the loop and a long check on a worker thread. The call may end during a long check.
    private func perform(_ check: ResponseCheck, _ mode: ResponseValidation, _ call: Call) -> Verdict {
        var check = check
        if let problems = check.short() { return verdict(problems, mode, call) }
        let task = call.task
        let whole: @Sendable () -> ResponseCheck.Problems = { [check] in
            var check = check
            return check.whole { !task.isFinished }
        }
        call.loop.checkers.run("checking the response", { () throws(NightjarError) in whole() }) {
            [weak self, weak call] result in
            guard let self, let call, !task.isFinished else { return }
            // If no worker thread could be started, the check runs on the loop.
            call.resume(verdict((try? result.get()) ?? whole(), mode, call))
        }
        return .wait
    }

    private func verdict(_ problems: ResponseCheck.Problems, _ mode: ResponseValidation, _ call: Call) -> Verdict {
        if let error = problems.described {
            guard mode == .warn else { return .fail(error) }
            call.decide(.mismatched(problem: error.message))
            call.note(.warning, "\(call.request.method) \(call.request.url.redacted): \(error.message)")
        }
        return problems.requested.map(Verdict.fail) ?? .proceed
    }

    /// Logs a warning once for each deprecated endpoint.
    private func warnOnce(_ contract: ResponseContract, _ call: Call) {
        guard contract.isDeprecated, warned.count < Validate.maximumWarnings,
            warned.insert(contract.endpoint).inserted
        else { return }
        call.note(.warning, "endpoint \(quoted(contract.endpoint)) is deprecated")
    }

    /// The maximum number of warnings. No known API has as many deprecated endpoints.
    private static let maximumWarnings = 10_000
}
