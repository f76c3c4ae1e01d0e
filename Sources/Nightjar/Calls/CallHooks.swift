import NIOCore
import NightjarCrypto
import NightjarHTTP

/// Hooks that run before and after each call of a client.
public final class CallHooks: Sendable {
    /// Runs once for each call, before a request is sent or the cache responds. May change the headers, or fail the
    /// call by throwing an error.
    let before: (@Sendable (inout Request) throws(NightjarError) -> Void)?
    /// Receives the request of the call and the result before the caller does.
    let after: (@Sendable (Request, Result<Response, NightjarError>) -> Void)?
    /// Decides whether the cache stores a response.
    let store: (@Sendable (Request, Response) -> Bool)?
    let runOnLoop: Bool
    /// Runs in place of ``before`` and responds later.
    let deferred: (@Sendable (Pending) -> Void)?
    /// Runs on the loop in place of ``store`` and responds later.
    let deferredStore: (@Sendable (PendingStore) -> Void)?

    /// - Parameters:
    ///   - runOnLoop: If true, the hooks run on the client's loop thread and must not block. If false, they run where the
    ///     call's callbacks run, for example in `CompletionQueue.poll` or inside the blocking call, and the call waits
    ///     for the hook that runs before the call.
    ///   - before: Runs once for each call, before a request is sent or the cache responds. May change the headers, or
    ///     fail the call by throwing an error.
    ///   - after: Receives the result before the caller does, and the request with the headers that `before` has set.
    ///   - store: Decides whether the cache stores a complete response that it could store. If it returns false, the
    ///     response is not stored and replaces no stored response; older entries for the request are removed. The call
    ///     waits for the decision. The body is empty if the caller receives it in parts. The hook is not called
    ///     for 304 responses, because they update an entry. If `runOnLoop` is false and no callback receives the result of
    ///     a background revalidation, the result is not stored.
    public init(
        runOnLoop: Bool = true, before: (@Sendable (inout Request) throws(NightjarError) -> Void)? = nil,
        after: (@Sendable (Request, Result<Response, NightjarError>) -> Void)? = nil,
        store: (@Sendable (Request, Response) -> Bool)? = nil
    ) {
        self.runOnLoop = runOnLoop
        self.before = before
        self.after = after
        self.store = store
        deferred = nil
        deferredStore = nil
    }

    /// Creates hooks that respond later. `deferred` runs where the call's callbacks run, and `store` on the loop.
    package init(
        deferred: (@Sendable (Pending) -> Void)?, store deferredStore: (@Sendable (PendingStore) -> Void)? = nil
    ) {
        self.deferred = deferred
        self.deferredStore = deferredStore
        store = nil
        runOnLoop = false
        before = nil
        after = nil
    }

    var decidesStoring: Bool { store != nil || deferredStore != nil }
    /// Whether the decision about storing needs no queue of a call.
    var storesOnLoop: Bool { runOnLoop || deferredStore != nil }

    /// Decides whether the cache stores a response.
    func decide(_ pending: PendingStore) {
        if let deferredStore { return deferredStore(pending) }
        pending.respond(store?(pending.request, pending.response) ?? true)
    }

    func run(before request: Request) -> Result<PreparedRequest, NightjarError> {
        var hooked = request
        do throws(NightjarError) {
            try before?(&hooked)
            return .success(hooked.prepared)
        } catch {
            return .failure(error)
        }
    }
}

extension CallHooks {
    /// The request of a call that is passed to a hook. Contains secrets.
    public struct Request: Sendable {
        /// The number of the call, as ``ClientTask/callID``.
        public let callID: Int
        private(set) var prepared: PreparedRequest

        init(of task: ClientTask) {
            callID = task.callID
            prepared = task.hookedRequest ?? task.request
        }

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

        /// The body as it is sent. Empty without a body. Nil for a body that is supplied or read while it is sent: a
        /// stream, a file or a multipart form.
        public var body: ByteBuffer? {
            switch prepared.body {
            case .none, .upgrade: ByteBuffer()
            case .bytes(let bytes): bytes
            case .stream, .file, .multipart: nil
            }
        }

        /// The SHA-256 digest of ``body`` in lower-case hexadecimal digits. Nil if there is no ``body``. Computed on
        /// each access.
        public var bodySHA256: String? {
            guard let body else { return nil }
            let digest = RunningDigest()
            body.withUnsafeReadableBytes { digest.update($0) }
            return digest.finish().reduce(into: "") { text, byte in
                text.append(byte < 16 ? "0" : "")
                text.append(String(byte, radix: 16))
            }
        }

        /// Replaces all header fields named `name`. A nil value removes them.
        ///
        /// - Throws: `invalid_request` if the value is invalid or the field must not be set by callers.
        public mutating func setHeader(_ name: String, _ value: String?) throws(NightjarError) {
            prepared = try prepared.settingByCaller(name, value)
        }
    }

    /// A response that the cache stores if the hook allows it.
    package final class PendingStore: Sendable {
        package let request: Request
        package let response: Response
        private let decided: @Sendable (Bool) -> Void

        init(_ request: Request, _ response: Response, decided: @escaping @Sendable (Bool) -> Void) {
            self.request = request
            self.response = response
            self.decided = decided
        }

        /// Stores the response or not. Decisions after the first one are ignored. Any thread.
        package func respond(_ isStored: Bool) { decided(isStored) }
    }

    /// A call that waits for its deferred hook.
    package final class Pending: Sendable {
        package let request: Request
        private let task: ClientTask

        init(of task: ClientTask) {
            request = Request(of: task)
            self.task = task
        }

        /// Continues the call with a request, or fails the call. Responses after the first one are ignored. Any thread.
        package func respond(_ result: Result<Request, NightjarError>) { task.hooked(result.map(\.prepared)) }
    }
}
