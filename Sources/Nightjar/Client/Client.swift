import NIOCore
import NightjarCoding
import NightjarHTTP
import NightjarTransport
import Synchronization

/// An API client: a connection pool, policies, and the event loop that runs them.
///
/// Any thread may use a client. Clients share nothing; create one for each API or for each core.
public final class Client: Sendable {
    let loop: ClientLoop
    let template: RequestTemplate
    /// For requests without credentials.
    let anonymousTemplate: RequestTemplate
    /// The API key that is added to the query or the cookies of requests to the base URL's origin.
    let attachedKey: APIKey?
    /// The credentials that requests choose from. Nil: all requests use the same credentials.
    let schemes: SchemeCredentials?
    /// The logins whose credentials change during the client's lifetime.
    let logins: [Login]
    /// The origin that receives the client's tokens; nil: there are none.
    let loginOrigin: Origin?
    let timeouts: Timeouts
    let maximumBody: Int
    let decompresses: Bool
    let coalesces: Bool
    private let limitGroups: [String]
    let retry: RetrySettings
    let respectsRetryAfter: Bool
    let hooks: CallHooks?
    /// The URLs that calls may request; nil: any.
    let scope: Confinement?
    let pathScope: PathScope?
    /// The limits that the calls of a sandboxed script cannot loosen.
    let bounds: CallBounds
    let auth: Authentication?
    let responseValidation: ResponseValidation
    /// The endpoints; nil: no catalog was configured.
    public let catalog: Catalog?
    /// The folder whose files OpenAPI documents may reference; nil: the folder of each document.
    let openAPIFolder: String?
    let forkGeneration = Fork.generation
    /// The mock that responds instead of servers; nil: none.
    public let mock: Mock?
    /// The cookie jar; nil: none.
    public let cookies: CookieStorage?
    /// The listener number for log messages of the cookie file.
    private let cookieListener: Int?
    /// The cache; nil: none.
    public let cache: CacheStorage?
    let cachePolicy: CachePolicy
    let sessions: TokenSessions
    let limit: Limit?
    private let fresh: FreshResponses?
    /// The listener number for log messages of the disk cache.
    private let cacheListener: Int?
    /// The first requested origin. Most absolute targets of a client have this origin, so it is parsed only once.
    private let firstOrigin = AtomicLazyReference<KnownOrigin>()
    let repeated = RepeatedRequests()
    /// Queues of finished blocking calls, kept for reuse.
    private let blockingQueues = Mutex<[CompletionQueue]>([])

    /// - Throws: `invalid_url`, `invalid_request`, `invalid_argument` or `tls` if the configuration is invalid.
    public convenience init(_ configuration: Configuration = Configuration()) throws(NightjarError) {
        try self.init(configuration, transport: nil)
    }

    /// - Parameter transport: Creates the transport for the client's loop; nil: the network.
    public init(
        _ configuration: Configuration, transport: (@Sendable (any EventLoop) -> any HTTPTransport)?
    ) throws(NightjarError) {
        var configuration = try configuration.knowingItsEndpoints().knowingItsProviders().knowingItsSecrets
        catalog = configuration.catalog
        openAPIFolder = configuration.openAPIFolder
        responseValidation = configuration.responseValidation
        attachedKey = configuration.attachedKey
        let sessions = TokenSessions()
        configuration.sessions = sessions
        self.sessions = sessions
        let base = try configuration.baseURL.map { text throws(NightjarError) in try RequestURL(base: text) }
        template = try configuration.template(base)
        anonymousTemplate = try configuration.anonymousTemplate(base)
        loginOrigin = try configuration.loginOrigin(template)
        logins = configuration.logins
        schemes = try configuration.schemeCredentials(template)
        try configuration.timeouts.check()
        configuration.timeouts = configuration.timeouts.filled(from: Configuration().timeouts)
        timeouts = configuration.timeouts
        maximumBody = configuration.maximumBody
        decompresses = configuration.decompresses
        coalesces = configuration.coalesces
        limitGroups = configuration.limitGroups.names
        retry = configuration.retry
        respectsRetryAfter = configuration.respectsRetryAfter
        let cookies = try configuration.openCookies()
        configuration.cookies = cookies
        self.cookies = cookies
        cache = try configuration.openCache()
        configuration.cache = cache
        cachePolicy = configuration.cachePolicy
        configuration.freshResponses = configuration.makeFreshResponses()
        fresh = configuration.freshResponses
        hooks = configuration.hooks
        let pathScope = try configuration.pathScope.map { text throws(NightjarError) in try PathScope(text) }
        self.pathScope = pathScope
        scope = try configuration.confinement(pathScope, base)
        bounds = CallBounds(configuration)
        auth = configuration.auth
        mock = configuration.mock
        let cassette = try configuration.openCassette()
        let thread = try LoopThread()
        do throws(NightjarError) {
            var carrier: any HTTPTransport
            if let transport {
                carrier = transport(thread.loop)
            } else {
                var network = configuration.transport
                network.userAgent = network.userAgent ?? configuration.userAgent
                carrier = try NetworkTransport(loop: thread.loop, clock: thread.clock, configuration: network)
            }
            carrier = configuration.makeTransport(carrier, cassette, on: thread.loop, base: base)
            let chain = ClientChain(configuration, base: base?.origin)
            let loop = ClientLoop(
                thread: thread, transport: carrier,
                chain: chain.chain,
                innerChain: Chain(StageKind.inner.flatMap { $0.stages(for: configuration, base: nil) }),
                innerTimeouts: configuration.timeouts, log: configuration.log)
            self.loop = loop
            limit = chain.limit
            for login in logins {
                let issuer = try login.tokenLogin?.issuer(anonymousTemplate)
                sessions.add(login.tokenLogin, issuer, responses: chain.cache, on: loop)
            }
            loop.components = [sessions]
            cookieListener = cookies?.listen { [weak loop] in loop?.submit(.note($0, $1)) }
            cassette?.listen { [weak loop] in loop?.note($0, $1) }
            cacheListener = cache?.disk?.listen { [weak loop] in loop?.submit(.note($0, $1)) }
        } catch {
            thread.stop()
            throw error
        }
    }

    deinit { close() }

    /// Starts a call without blocking.
    ///
    /// - Parameters:
    ///   - queue: Where the callbacks run. They never run inside this call, but another thread that polls the queue may
    ///     run them before this method returns. If nil, they run on the client's loop thread and must not block.
    /// - Throws: `invalid_url` or `invalid_request` for an invalid request; `closed`; `forked`. Network failures are
    ///   reported to `finished`.
    @discardableResult
    public func start(
        _ request: borrowing Request, on queue: CompletionQueue?, _ handlers: consuming TaskHandlers
    ) throws(NightjarError) -> ClientTask {
        try start(makeTask(request, on: queue, handlers))
    }

    /// Returns the prepared call for a request that consists of a method and a target only. Nil: the request has not
    /// been prepared yet.
    package func repeated(_ method: UnsafeRawBufferPointer, _ target: UnsafeRawBufferPointer) -> RepeatedRequests.Call?
    {
        Fork.hasForked(since: forkGeneration) ? nil : repeated.find(method, target)
    }

    /// Starts a call whose request is already prepared.
    package func start(
        _ known: RepeatedRequests.Call, on queue: CompletionQueue?, _ handlers: consuming TaskHandlers
    ) throws(NightjarError) -> ClientTask {
        try start(try makeTask(known.prepared, known.options, on: queue, handlers))
    }

    /// - Parameter made: A task, and its response if it is already available.
    private func start(_ made: (task: ClientTask, response: Response?)) throws(NightjarError) -> ClientTask {
        let task = made.task
        if let queue = task.queue, !queue.register(task) { throw NightjarError(.closed, "the queue is closed") }
        if let queue = task.queue, let response = made.response {
            task.markFinished()
            var events = [QueueEvent.finished(task, .success(response))]
            queue.post(&events)
        } else {
            try submit(task)
        }
        return task
    }

    private func submit(_ task: ClientTask) throws(NightjarError) {
        guard loop.submit(.start(task)) else {
            task.queue?.forget(task)
            throw NightjarError(.closed, "the client is closed")
        }
    }

    /// - Parameter insertion: A response to store in the cache instead of sending the request.
    func start(
        _ request: Request, on queue: CompletionQueue?, _ handlers: TaskHandlers, inserting insertion: CacheInsertion
    ) throws(NightjarError) -> ClientTask {
        let (task, _) = try makeTask(request, on: queue, handlers, inserting: insertion)
        if let queue, !queue.register(task) { throw NightjarError(.closed, "the queue is closed") }
        try submit(task)
        return task
    }

    /// - Parameter insertion: A response to store in the cache instead of sending the request.
    /// - Returns: The task, and its response if it is already available.
    private func makeTask(
        _ request: borrowing Request, on queue: CompletionQueue?, _ handlers: consuming TaskHandlers,
        inserting insertion: CacheInsertion? = nil
    ) throws(NightjarError) -> (ClientTask, Response?) {
        guard !Fork.hasForked(since: forkGeneration) else { throw Client.forked }
        guard request.schema == nil || handlers.body == nil else {
            throw NightjarError(
                .invalidRequest,
                "a streamed response cannot be validated against a schema; collect the response "
                    + "or remove the schema")
        }
        if let group = request.limitGroup, !limitGroups.contains(where: { $0.isExactly(group) }) {
            throw unknown(group: group)
        }
        let (prepared, options) = try insertion == nil ? made(of: request) : made(of: request, inserting: insertion)
        return try makeTask(prepared, options, on: queue, handlers)
    }

    private func makeTask(
        _ prepared: PreparedRequest, _ options: CallOptions, on queue: CompletionQueue?,
        _ handlers: consuming TaskHandlers
    ) throws(NightjarError) -> (ClientTask, Response?) {
        let hold = try hold(prepared, options, isStreamed: handlers.body != nil)
        let response = queue == nil ? nil : freshResponse(prepared, options, handlers)
        return (ClientTask(prepared, options, handlers: handlers, queue: queue, client: loop, hold: hold), response)
    }

    private func freshResponse(
        _ prepared: PreparedRequest, _ options: CallOptions, _ handlers: borrowing TaskHandlers
    ) -> Response? {
        guard let fresh, options.cache != nil, options.chain == nil, prepared.method == .get,
            options.acceptsAnyResponse,
            handlers.isForCompleteResponses
        else { return nil }
        return fresh.find(prepared, fresh.options(of: options), maximumBody: options.maximumBody)
    }

    private func unknown(group: String) -> NightjarError {
        let hint = nearestName(to: group, among: limitGroups).map { "; did you mean \(quoted($0))?" } ?? ""
        return NightjarError(.invalidRequest, "the client has no limit group \(quoted(group))\(hint)")
    }

    /// Returns the request to send and its options. A repeated request reuses the earlier result.
    private func made(of request: borrowing Request) throws(NightjarError) -> (PreparedRequest, CallOptions) {
        let fingerprint = request.fingerprint
        if let fingerprint, let known = repeated.find(request, fingerprint) { return (known.prepared, known.options) }
        let (prepared, options) = try made(of: request, inserting: nil)
        if let fingerprint { repeated.made(prepared, options, of: request, fingerprint) }
        return (prepared, options)
    }

    private func made(
        of request: borrowing Request, inserting insertion: CacheInsertion?
    ) throws(NightjarError) -> (PreparedRequest, CallOptions) {
        let choice = try choice(for: request)
        try request.timeouts.check()
        let options = options(of: request, inserting: insertion, login: choice == nil ? 0 : choice?.login)
        return (try prepare(request, choice, idle: options.timeouts.idle), options)
    }

    /// The credentials of a request. Nil: the request uses the client's only credentials.
    private func choice(for request: borrowing Request) throws(NightjarError) -> SchemeCredentials.Choice? {
        if let schemes { return try schemes.choice(for: request) }
        if let scheme = request.schemes.first, request.usesAuth {
            throw NightjarError(
                .invalidRequest,
                "the request names the scheme \(quoted(scheme)), but the client's credentials have no scheme "
                    + "names; set them in "
                    + "the option auth.schemes")
        }
        return nil
    }

    /// The origin of the base URL.
    package var baseOrigin: Origin? { template.base?.origin }

    /// The names of header fields that the configuration marks as sensitive.
    var sensitiveNames: [String] { template.sensitiveNames }

    /// The request is borrowed because it is large: copying it costs more than writing its head.
    func prepare(_ request: borrowing Request, idle: Duration?) throws(NightjarError) -> PreparedRequest {
        try prepare(request, try choice(for: request), idle: idle)
    }

    private func prepare(
        _ request: borrowing Request, _ choice: SchemeCredentials.Choice?, idle: Duration?
    ) throws(NightjarError) -> PreparedRequest {
        guard request.idempotencyKey == .none else {
            var keyed = try request.withIdempotencyKey()
            keyed.idempotencyKey = .none
            return try prepare(keyed, choice, idle: idle)
        }
        let prepared = try prepare(request, request.usesAuth ? template : anonymousTemplate, idle: idle)
        try (request.confinement ?? scope)?.check(request)
        if let refusal = (request.confinement ?? scope)?.refusal(of: prepared.url) { throw refusal }
        guard request.usesAuth else { return prepared }
        guard attachedKey != nil || choice != nil, prepared.origin == template.base?.origin else { return prepared }
        if let attachedKey { return try attachedKey.attached(to: prepared) }
        return try choice?.attached(to: prepared) ?? prepared
    }

    private func prepare(
        _ request: borrowing Request, _ template: RequestTemplate, idle: Duration?
    ) throws(NightjarError) -> PreparedRequest {
        guard !request.needsContent(idle: idle) else {
            return try PreparedRequest(try request.withContent(for: template, idle: idle), template)
        }
        let known = firstOrigin.load()
        let prepared = try PreparedRequest(request, template, known: known?.origin)
        if known == nil { _ = firstOrigin.storeIfNil(KnownOrigin(prepared.origin)) }
        return prepared
    }

    private final class KnownOrigin: Sendable {
        let origin: Origin

        init(_ origin: Origin) { self.origin = origin }
    }

    /// Sends a request and blocks the thread. The call's callbacks run on this thread meanwhile, including
    /// `handlers.finished`.
    public func sendBlocking(_ request: Request, handlers: TaskHandlers? = nil) throws(NightjarError) -> Response {
        try sendBlocking(request, handlers: handlers, inserting: nil)
    }

    func sendBlocking(
        _ request: Request, handlers: TaskHandlers? = nil, inserting insertion: CacheInsertion?
    ) throws(NightjarError) -> Response {
        try checkMayWait()
        guard handlers?.refreshed == nil || handlers?.refreshQueue != nil else {
            throw NightjarError(
                .invalidRequest,
                "a blocking call returns before the background revalidation ends; set refreshQueue to receive its "
                    + "result")
        }
        let queue = takeQueue()
        let outcome = Outcome()
        var taskHandlers = handlers ?? TaskHandlers { _, _ in }
        let finished = taskHandlers.finished
        taskHandlers.finished = { task, result in
            outcome.result = result
            finished(task, result)
        }
        do throws(NightjarError) {
            let (task, response) = try makeTask(request, on: queue, taskHandlers, inserting: insertion)
            if let response {
                task.markFinished()
                taskHandlers.finished(task, .success(response))
            } else {
                guard queue.register(task) else { throw NightjarError(.closed, "the queue is closed") }
                try submit(task)
            }
        } catch {
            keep(queue)
            throw error
        }
        let result = try wait(on: queue) { outcome.result }
        keep(queue)
        return try result.get()
    }

    /// Returns a queue for a blocking call. Return it with ``keep(_:)`` when no task uses it any more.
    func takeQueue() -> CompletionQueue { blockingQueues.withLock { $0.popLast() } ?? CompletionQueue() }

    func keep(_ queue: CompletionQueue) { blockingQueues.withLock { $0.append(queue) } }

    static let forked = NightjarError(
        .forked, "this client belongs to the parent process; create a new one after fork")

    /// Used only on the waiting thread.
    private final class Outcome: @unchecked Sendable {
        var result: Result<Response, NightjarError>?
    }

    /// Closes the client and returns when none of its work runs any more.
    ///
    /// Cancels all calls in flight, so that each completes. Waits up to 15 s for a token refresh in progress, because the
    /// old token may already have been redeemed. Closes the connections and saves the cookies. Waits up to 5 s for another
    /// process that locks the disk cache; invalidations that cannot be written are logged.
    ///
    /// Later calls fail with `closed`. On the client's own thread this method returns at once. In a forked child it does
    /// nothing, because the threads belong to the parent.
    public func close() {
        guard !Fork.hasForked(since: forkGeneration) else { return }
        fresh?.close()
        loop.stop()
        repeated.forget()
        if let cookieListener { cookies?.unlisten(cookieListener) }
        // Pending changes are on disk, or logged, when this method returns.
        do throws(NightjarError) {
            try cache?.flush()
        } catch {
            loop.noteAtEnd(.warning, error.message)
        }
        if let cacheListener { cache?.disk?.unlisten(cacheListener) }
        // An error of the last save cannot be reported to a caller. Call `flush` on the storage to receive it.
        try? cookies?.flush()
    }
}
