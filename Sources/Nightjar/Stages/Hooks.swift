import NightjarHTTP

/// Runs the program's hook before each call and, if the hooks run on the loop, the hook after each call. The hook
/// before the call may change or reject the request.
final class Hooks: Stage, @unchecked Sendable {
    override var hooks: StageHooks {
        var hooks: StageHooks = []
        if code.before != nil { hooks.insert(.outgoing) }
        if code.after != nil, code.runOnLoop { hooks.insert(.ended) }
        return hooks
    }
    private let code: CallHooks

    init(_ code: CallHooks) { self.code = code }

    override func outgoing(_ call: Call) -> Verdict {
        guard !code.runOnLoop else { return verdict(code.run(before: call.request), call) }
        return call.request(
            DecisionRequestOf { [code, request = call.request] _ in
                code.run(before: request)
            } resume: { [self] (result: Result<PreparedRequest, NightjarError>, call) in
                verdict(result, call)
            })
    }

    private func verdict(_ result: Result<PreparedRequest, NightjarError>, _ call: Call) -> Verdict {
        switch result {
        case .success(let changed):
            call.request = changed
            return .proceed
        case .failure(let error): return .fail(error)
        }
    }

    override func ended(_ result: Result<Response, NightjarError>, _ call: Call) { code.after?(result) }
}
