import NIOCore
import NightjarHTTP

/// Manual access to the cache. Requests get the client's base URL, headers and credentials, so that they match the
/// entries of the client's calls.
extension Client {
    /// Returns the cached response to `request` without a request to the server. Returns nil if the cache has no usable
    /// response.
    ///
    /// The policy ``CachePolicy/cacheOnly`` applies: responses of any age are returned, except stale errors and
    /// responses that have been invalidated, for example by a write of this client. Blocks the thread while the disk is
    /// read. If the login of the request has no token yet, first obtains a token as for a call.
    ///
    /// - Throws: Any error of a call, such as the error of an unexpected status if the request sets expected statuses;
    ///   `invalid_request` for a client without a cache, for a method other than GET and HEAD, and for a request with a
    ///   body.
    public func cached(_ request: Request) throws(NightjarError) -> Response? {
        let request = try lookUp(request)
        do throws(NightjarError) {
            return try sendBlocking(request)
        } catch {
            guard error.kind == .cacheMiss else { throw error }
            return nil
        }
    }

    /// Like ``cached(_:)``, but does not block: `finished` receives the result.
    @discardableResult
    public func lookUp(
        _ request: Request, on queue: CompletionQueue?,
        finished: @escaping @Sendable (Result<Response?, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientTask {
        try start(
            try lookUp(request), on: queue,
            TaskHandlers { _, result in
                switch result {
                case .success(let response): finished(.success(response))
                case .failure(let error): finished(error.kind == .cacheMiss ? .success(nil) : .failure(error))
                }
            })
    }

    /// Stores a response as if a server had just sent it for `request`. The headers determine how long the response is
    /// fresh. Without freshness information, a response with a status below 400 is used only by calls that accept stale
    /// responses.
    ///
    /// - Parameters:
    ///   - request: A GET request.
    ///   - headers: The fields of the response. A Date field is not needed.
    /// - Throws: `invalid_argument` with the reason if RFC 9111 section 3 forbids storing the response, and for a
    ///   method other than GET, a body of the request, an invalid status or a Content-Length that does not match
    ///   `body`; `too_large` if `body` is too large for the cache; `invalid_request` for a client without a cache;
    ///   other errors of a call, such as `closed`.
    public func insert(
        _ status: Int = 200, headers: Headers, body: ByteBuffer, for request: Request
    ) throws(NightjarError) {
        let (request, insertion) = try inserting(status, headers, body, request)
        _ = try sendBlocking(request, inserting: insertion)
    }

    /// Like ``insert(_:headers:body:for:)``, but does not block: `finished` receives the result.
    @discardableResult
    public func insert(
        _ status: Int = 200, headers: Headers, body: ByteBuffer, for request: Request, on queue: CompletionQueue?,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientTask {
        let (request, insertion) = try inserting(status, headers, body, request)
        return try start(
            request, on: queue, TaskHandlers { _, result in finished(result.map { _ in () }) }, inserting: insertion)
    }

    /// Removes all cached responses for the URL of `request`, in all partitions.
    ///
    /// - Returns: The number of removed entries.
    /// - Throws: An error for an invalid request; `invalid_request` for a client without a cache; `storage`, as
    ///   described for ``CacheStorage/remove(url:)``; `forked`.
    @discardableResult
    public func removeCached(_ request: Request) throws(NightjarError) -> Int {
        let cache = try storage()
        return try cache.remove(url: prepare(request, idle: nil).url)
    }

    /// Removes all cached responses whose URL begins with the URL of `request`, compared byte by byte. The API key that
    /// the client adds to the query is not compared.
    ///
    /// - Returns: The number of removed entries.
    /// - Throws: As ``removeCached(_:)``.
    @discardableResult
    public func removeCached(beginningWith request: Request) throws(NightjarError) -> Int {
        let cache = try storage()
        _ = try prepare(request, idle: nil)
        let url = try url(of: request)
        return try cache.remove(prefix: url.cacheAddress, shown: url.redacted)
    }

    /// Whether ``TaskHandlers/refreshed`` should be set for a call with this request.
    ///
    /// The callback reports the background revalidation of a cached response. A call with this callback is not
    /// coalesced with other calls. Therefore the result is false for calls that may be coalesced, unless their policy
    /// is `offlineFirst`.
    public func mayRefresh(_ request: Request) -> Bool {
        guard cache != nil, request.usesCache else { return false }
        return Client.mayRefresh(request.cachePolicy ?? cachePolicy, coalesces: request.coalesces ?? coalesces)
    }

    package func mayRefresh(_ known: RepeatedRequests.Call) -> Bool {
        guard let policy = known.options.cache else { return false }
        return Client.mayRefresh(policy, coalesces: known.options.coalesces)
    }

    private static func mayRefresh(_ policy: CachePolicy, coalesces: Bool) -> Bool {
        policy == .offlineFirst || !coalesces
    }

    private func storage() throws(NightjarError) -> CacheStorage {
        guard !Fork.hasForked(since: forkGeneration) else { throw Client.forked }
        guard let cache else { throw Client.hasNoCache }
        return cache
    }

    private func lookUp(_ request: Request) throws(NightjarError) -> Request {
        _ = try storage()
        guard request.method == .get || request.method == .head, case .none = request.body else {
            throw NightjarError(
                .invalidRequest,
                "looking up the cache failed: the request must be GET or HEAD without a body, got \(request.shape)")
        }
        var request = request
        request.usesCache = true
        request.cachePolicy = .cacheOnly
        request.coalesces = false
        if request.expectedStatuses.isEmpty { request.expectedStatuses = [StatusRange(100, 999)] }
        return request
    }

    private func inserting(
        _ status: Int, _ headers: Headers, _ body: ByteBuffer, _ request: Request
    ) throws(NightjarError) -> (Request, CacheInsertion) {
        _ = try storage()
        guard request.method == .get, case .none = request.body else {
            throw NightjarError(
                .invalidArgument,
                "inserting the response failed: the request must be GET without a body, got \(request.shape)")
        }
        guard 100...999 ~= status else {
            throw NightjarError(.invalidArgument, "the status must be between 100 and 999, got \(status)")
        }
        var request = request
        request.usesCache = true
        // With this policy, responses without freshness information are stored, too.
        request.cachePolicy = .cacheElseLoad
        request.coalesces = false
        request.expectedStatuses = [StatusRange(100, 999)]
        request.schema = nil
        request.contract = nil
        let head = ResponseHead(status: status, headers: headers, contentLength: body.readableBytes)
        return (request, CacheInsertion(head: head, body: body))
    }

    private static let hasNoCache = NightjarError(.invalidRequest, "the client has no cache; set the option cache")
}

extension Request {
    /// The method, and whether the request has a body.
    fileprivate var shape: String { if case .none = body { method.name } else { "\(method) with a body" } }
}
