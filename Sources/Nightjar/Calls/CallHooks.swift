import NightjarHTTP

/// Hooks that run before and after each call of a client.
public final class CallHooks: Sendable {
    /// Runs once for each call, before a request is sent or the cache responds. May change the headers, or fail the
    /// call by throwing an error.
    let before: (@Sendable (inout Request) throws(NightjarError) -> Void)?
    /// Receives the result before the caller does.
    let after: (@Sendable (Result<Response, NightjarError>) -> Void)?
    let runOnLoop: Bool

    /// - Parameter runOnLoop: If true, the hooks run on the client's loop thread and must not block. If false, they run
    ///   where the call's callbacks run, for example in `CompletionQueue.poll` or inside the blocking call, and the
    ///   call waits for the hook that runs before the call.
    public init(
        runOnLoop: Bool = true, before: (@Sendable (inout Request) throws(NightjarError) -> Void)? = nil,
        after: (@Sendable (Result<Response, NightjarError>) -> Void)? = nil
    ) {
        self.runOnLoop = runOnLoop
        self.before = before
        self.after = after
    }

    func run(before request: PreparedRequest) -> Result<PreparedRequest, NightjarError> {
        var hooked = Request(request)
        do throws(NightjarError) {
            try before?(&hooked)
            return .success(hooked.prepared)
        } catch {
            return .failure(error)
        }
    }
}

extension CallHooks {
    /// The request that is passed to a hook before it is sent. Contains secrets.
    public struct Request: Sendable {
        private(set) var prepared: PreparedRequest

        init(_ request: PreparedRequest) { prepared = request }

        public var method: Method { prepared.method }
        public var url: RequestURL { prepared.url }
        /// The header fields, including Host and the framing fields. Some fields are added later, such as the cookies
        /// of the jar, the credentials of logins and the conditional fields of the cache.
        public var headers: Headers { prepared.fields }

        /// The cache partition of the call; see ``Nightjar/Request/cachePartition``.
        public var cachePartition: String? {
            get { prepared.cachePartition }
            set { prepared = prepared.withCachePartition(newValue) }
        }

        /// Replaces all header fields named `name`. A nil value removes them.
        ///
        /// - Throws: `invalid_request` if the value is invalid or the field must not be set by callers.
        public mutating func setHeader(_ name: String, _ value: String?) throws(NightjarError) {
            prepared = try prepared.settingByCaller(name, value)
        }
    }
}
