import NightjarHTTP

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
