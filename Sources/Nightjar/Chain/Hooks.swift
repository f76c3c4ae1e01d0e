import NightjarHTTP

/// Runs the caller's code before each call, which may change or refuse it, and after.
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

/// Code that runs before and after each call of a client.
public final class CallHooks: Sendable {
    /// May change the headers, or refuse the call by an error, which the call then fails with.
    let before: (@Sendable (inout HookedRequest) throws(NightjarError) -> Void)?
    /// Sees what the call came to, just before the caller does.
    let after: (@Sendable (Result<Response, NightjarError>) -> Void)?
    let runOnLoop: Bool

    /// - Parameter runOnLoop: true: on the client's loop thread, where they must not block; false: where the handlers of
    ///   the call run, in `CompletionQueue.poll` or inside the blocking call, and the call waits for it.
    public init(
        runOnLoop: Bool = true, before: (@Sendable (inout HookedRequest) throws(NightjarError) -> Void)? = nil,
        after: (@Sendable (Result<Response, NightjarError>) -> Void)? = nil
    ) {
        self.runOnLoop = runOnLoop
        self.before = before
        self.after = after
    }

    func run(before request: PreparedRequest) -> Result<PreparedRequest, NightjarError> {
        var hooked = HookedRequest(request)
        do throws(NightjarError) {
            try before?(&hooked)
            return .success(hooked.prepared)
        } catch {
            return .failure(error)
        }
    }
}

/// A request on its way to the wire, as a hook sees it: secrets included.
public struct HookedRequest: Sendable {
    private(set) var prepared: PreparedRequest

    init(_ request: PreparedRequest) { prepared = request }

    public var method: Method { prepared.method }
    public var url: RequestURL { prepared.url }
    /// All fields, Host and those that frame the message among them. Cookies come later.
    public var headers: Headers { prepared.fields }

    /// Sets a header in the place of those of the same name; nil removes them.
    ///
    /// - Throws: `invalid_request` when it cannot stand in a header or is not for callers to set.
    public mutating func setHeader(_ name: String, _ value: String?) throws(NightjarError) {
        prepared = try prepared.settingByCaller(name, value)
    }
}
