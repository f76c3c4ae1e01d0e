import NIOCore
import NightjarHTTP

/// The cache of a client by hand, as its calls see it: with the client's base URL, headers and credentials.
extension Client {
    /// The stored answer that `request` would get, of any age and status, without asking a server; nil when there is none.
    ///
    /// Waits on this thread: for the disk at most, and for the login's token where that is being renewed.
    ///
    /// - Throws: what is wrong with the request, whose status matters where it expects others; `closed`, `forked`;
    ///   `invalid_request` for a client without a cache, for another method than GET and HEAD, and for a body.
    public func cached(_ request: Request) throws(NightjarError) -> Response? {
        let request = try lookUp(request)
        do throws(NightjarError) {
            return try sendBlocking(request)
        } catch {
            guard error.kind == .cacheMiss else { throw error }
            return nil
        }
    }

    /// The same without waiting: `finished` hears what ``cached(_:)`` returns or throws.
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

    /// Stores an answer as if a server had just sent it for `request`: its headers say how long it is good for. Where they
    /// do not, one below 400 is for calls that take an answer of any age.
    ///
    /// - Parameters:
    ///   - request: a GET.
    ///   - headers: a Date is not needed.
    /// - Throws: `invalid_argument` when the rules do not allow to keep it (RFC 9111 section 3), with the reason;
    ///   `invalid_request` for a client without a cache.
    public func insert(
        _ status: Int = 200, headers: Headers, body: ByteBuffer, for request: Request
    ) throws(NightjarError) {
        let (request, planted) = try planting(status, headers, body, request)
        _ = try sendBlocking(request, planting: planted)
    }

    /// The same without waiting.
    @discardableResult
    public func insert(
        _ status: Int = 200, headers: Headers, body: ByteBuffer, for request: Request, on queue: CompletionQueue?,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientTask {
        let (request, planted) = try planting(status, headers, body, request)
        return try start(
            request, on: queue, TaskHandlers { _, result in finished(result.map { _ in () }) }, planting: planted)
    }

    /// Removes all stored responses of the URL that `request` asks for, whoever requested them.
    ///
    /// - Returns: how many there were.
    /// - Throws: what is wrong with the request; `storage` as ``CacheStorage/remove(url:)``.
    @discardableResult
    public func removeCached(_ request: Request) throws(NightjarError) -> Int {
        let cache = try storage()
        return try cache.remove(url: prepare(request, idle: nil).url)
    }

    /// Removes all stored responses whose URL begins as that of `request`, byte by byte.
    ///
    /// - Returns: how many there were.
    /// - Throws: as ``removeCached(_:)``.
    @discardableResult
    public func removeCached(beginningWith request: Request) throws(NightjarError) -> Int {
        let cache = try storage()
        return try cache.remove(prefix: prepare(request, idle: nil).url.cacheAddress)
    }

    /// Whether a call of this request may get a stored answer that it fetches anew meanwhile. One that wants to hear of that
    /// shares no exchange, so what may share one is left out, unless its policy is to be answered so.
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
        guard !Fork.hasHappened(since: birth) else { throw Client.forked }
        guard let cache else { throw Client.hasNoCache }
        return cache
    }

    private func lookUp(_ request: Request) throws(NightjarError) -> Request {
        _ = try storage()
        guard request.method == .get || request.method == .head, case .none = request.body else {
            throw NightjarError(
                .invalidRequest, "answers to GET and HEAD without a body alone are stored, so no other is looked up")
        }
        var request = request
        request.usesCache = true
        request.cachePolicy = .cacheOnly
        request.coalesces = false
        if request.expectedStatuses.isEmpty { request.expectedStatuses = [StatusRange(100, 999)] }
        return request
    }

    private func planting(
        _ status: Int, _ headers: Headers, _ body: ByteBuffer, _ request: Request
    ) throws(NightjarError) -> (Request, PlantedAnswer) {
        _ = try storage()
        guard request.method == .get, case .none = request.body else {
            throw NightjarError(
                .invalidArgument,
                "answers to GET without a body alone are stored, and this is one to \(request.method)")
        }
        guard 100...999 ~= status else {
            throw NightjarError(.invalidArgument, "\(status) is not a status from 100 to 999")
        }
        var request = request
        request.usesCache = true
        // By which what nothing says to be fresh is kept, too.
        request.cachePolicy = .cacheElseLoad
        request.coalesces = false
        request.expectedStatuses = [StatusRange(100, 999)]
        request.schema = nil
        request.contract = nil
        let head = ResponseHead(status: status, headers: headers, contentLength: body.readableBytes)
        return (request, PlantedAnswer(head: head, body: body))
    }

    private static let hasNoCache = NightjarError(.invalidRequest, "the client has no cache; configure one")
}
