import NightjarHTTP

/// Runs the program's hook before each call and, if the hooks run on the loop, the hook after each call. The hook
/// before the call may change or reject the request.
final class Hooks: Stage, @unchecked Sendable {
    override var hooks: StageHooks {
        var hooks: StageHooks = []
        if code.before != nil || code.deferred != nil { hooks.insert(.outgoing) }
        if code.after != nil, code.runOnLoop { hooks.insert(.ended) }
        return hooks
    }
    private let code: CallHooks

    init(_ code: CallHooks) { self.code = code }

    override func outgoing(_ call: Call) -> Verdict {
        guard !code.runOnLoop else { return verdict(code.run(before: CallHooks.Request(of: call.task)), call) }
        return call.request(
            DecisionRequestOf { [code] task in
                guard let deferred = code.deferred else { return code.run(before: CallHooks.Request(of: task)) }
                deferred(CallHooks.Pending(of: task))
                return nil
            } resume: { [self] (result: Result<PreparedRequest, NightjarError>, call) in
                verdict(result, call)
            })
    }

    private func verdict(_ result: Result<PreparedRequest, NightjarError>, _ call: Call) -> Verdict {
        switch result {
        case .success(let changed):
            if changed !== call.request { call.task.hookedRequest = changed }
            call.request = changed
            return .proceed
        case .failure(let error): return .fail(error)
        }
    }

    override func ended(_ result: Result<Response, NightjarError>, _ call: Call) {
        code.after?(CallHooks.Request(of: call.task), result)
    }
}
