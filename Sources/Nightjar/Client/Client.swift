import NIOCore
import NightjarCoding
import NightjarHTTP
import NightjarTesting
import NightjarTransport
import Synchronization

/// An API client: a connection pool, policies, and the event loop that runs them.
///
/// Any thread may use a client. A program can create one client for each API or each core: each client has its own
/// event loop and its own connections.
public final class Client: Sendable {
    let loop: ClientLoop
    /// Nil if the network was replaced. Used on the loop.
    let network: NetworkTransport?
    let template: RequestTemplate
    /// The template of requests without credentials.
    let anonymousTemplate: RequestTemplate
    /// The API key that is added to the query or the cookies of requests to the base URL's origin.
    let attachedKey: APIKey?
    /// The client's credentials by security scheme. Nil: the client's credentials have no scheme names.
    let schemes: SchemeCredentials?
    /// The logins whose credentials change during the client's lifetime.
    let logins: [Login]
    /// The only origin that receives the credentials of ``logins``; nil: the client has no logins.
    let loginOrigin: Origin?
    let timeouts: Timeouts
    let maximumBody: Int
    let decompresses: Bool
    let coalesces: Bool
    let limitGroups: [String]
    let retry: RetrySettings
    let respectsRetryAfter: Bool
    let connectivity: ConnectivitySettings
    let hooks: CallHooks?
    let middleware: [any Middleware]
    let decoding: JSONDecodingOptions
    let encoding: JSONEncodingOptions
    /// Whether exchanges are recorded, so that WebSockets must not be compressed.
    let isRecording: Bool
    /// Whether an observer keeps the messages of WebSockets.
    let keepsMessages: Bool
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
    /// Identifies the listener that logs messages of the cookie file.
    private let cookieListener: Int?
    /// The HTTP cache; nil: none.
    public let cache: CacheStorage?
    let cachePolicy: CachePolicy
    let sessions: TokenSessions
    let limit: Limit?
    /// Whether a challenge callback decides challenges.
    let requestsPassword: Bool
    /// The passwords that the challenge callback has provided. Nil without a callback. Used on the loop.
    let requestPassword: RequestPassword?
    let redirect: RedirectSettings
    let fresh: FreshResponses?
    /// Identifies the listener that logs messages of the disk cache.
    private let cacheListener: Int?
    /// The origin of the first request. Most absolute targets of a client have this origin, so it is parsed only once.
    let firstOrigin = AtomicLazyReference<CachedOrigin>()
    let repeated = RepeatedRequests()
    let journal: ClientJournal
    /// Queues of finished blocking calls, kept for reuse.
    let blockingQueues = Mutex<[CompletionQueue]>([])

    /// Creates a client and its event loop.
    ///
    /// - Throws: `invalid_url`, `invalid_request`, `invalid_argument` or `tls` if the configuration is invalid;
    ///   `storage` or `decoding` if a configured file cannot be used; `connect` if the system has no thread or
    ///   descriptor left; `forked` for a jar or a cache of the parent process.
    public convenience init(_ configuration: Configuration = Configuration()) throws(NightjarError) {
        try self.init(configuration, transport: nil)
    }

    /// - Parameter transport: Creates the transport for the client's loop; nil: the network.
    package init(
        _ configuration: Configuration, transport: (@Sendable (any EventLoop) -> any HTTPTransport)?
    ) throws(NightjarError) {
        var configuration = try configuration.loadingOpenAPI().mergingTokenProviders().withSensitiveKeyNames
        catalog = configuration.catalog
        openAPIFolder = configuration.openAPIFolder
        responseValidation = configuration.responseValidation
        attachedKey = configuration.attachedKey
        sessions = TokenSessions()
        configuration.sessions = sessions
        configuration.clientNetwork = ClientNetwork()
        connectivity = configuration.connectivity
        let base = try configuration.baseURL.map { text throws(NightjarError) in try RequestURL(base: text) }
        template = try configuration.template(base)
        anonymousTemplate = try configuration.anonymousTemplate(base)
        loginOrigin = try configuration.loginOrigin(template)
        logins = configuration.logins
        schemes = try configuration.schemeCredentials(template)
        try configuration.timeouts.check()
        try configuration.checkPauseHeader()
        configuration.timeouts = configuration.timeouts.filled(from: Configuration().timeouts)
        timeouts = configuration.timeouts
        maximumBody = configuration.maximumBody
        decompresses = configuration.decompresses
        coalesces = configuration.coalesces
        requestsPassword = configuration.onChallenge != nil
        configuration.transport.tls.requestsDecisions = requestsPassword
        let stepObservers = configuration.observers.filter(\.observesSteps)
        configuration.transport.reportsSteps = !stepObservers.isEmpty
        configuration.transport.requestsNames = configuration.resolver != nil
        configuration.transport.requestsAddresses = configuration.onAddresses != nil
        redirect = configuration.redirect
        limitGroups = configuration.limitGroups.names
        retry = configuration.retry
        respectsRetryAfter = configuration.respectsRetryAfter
        try configuration.openStores()
        cookies = configuration.cookies
        cache = configuration.cache
        cachePolicy = configuration.cachePolicy
        fresh = configuration.freshResponses
        hooks = configuration.hooks
        middleware = configuration.middleware
        decoding = configuration.decoding ?? JSONDecodingOptions()
        encoding = configuration.encoding
        isRecording = configuration.cassette != nil || configuration.recording != nil
        keepsMessages = configuration.observers.contains(where: \.keepsMessages)
        pathScope = try configuration.pathScope.map { text throws(NightjarError) in try PathScope(text) }
        scope = try configuration.confinement(pathScope, base)
        bounds = CallBounds(configuration)
        auth = configuration.auth
        mock = configuration.mock
        journal = ClientJournal(configuration)
        let cassette = try configuration.openCassette()
        let thread = try configuration.openLoop()
        do throws(NightjarError) {
            let (carrier, network) = try configuration.openTransport(transport, cassette, on: thread, base: base)
            let chain = ClientChain(configuration, base: base?.origin)
            let loop = ClientLoop(
                thread: thread, transport: carrier, chain: chain.chain, innerChain: chain.inner,
                innerTimeouts: configuration.timeouts, log: configuration.log)
            loop.stepReceivers = stepObservers
            self.loop = loop
            self.network = network
            network?.observePinning { [weak loop] event in loop?.note(event) }
            network?.observeKeyLog { [weak loop] event in loop?.note(event) }
            limit = chain.limit
            requestPassword = chain.requestPassword
            loop.decideConnection = configuration.connectionDecisions
            for login in logins {
                let issuer = try login.tokenLogin?.issuer(anonymousTemplate)
                sessions.add(login.tokenLogin, issuer, responses: chain.cache, on: loop)
            }
            loop.components = [sessions, configuration.clientNetwork]
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
    /// - Throws: An error that is found before the call starts, such as `invalid_url` or `invalid_request` for an
    ///   invalid request, `closed` or `forked`. Network failures are reported to `finished`.
    @discardableResult
    public func start(
        _ request: borrowing Request, on queue: CompletionQueue?, _ handlers: consuming TaskHandlers
    ) throws(NightjarError) -> ClientTask {
        try start(makeTask(request, on: queue, handlers), ofBatch: false)
    }

    /// Starts a call of a batch that is in progress, also while the client drains.
    func startNext(
        _ request: borrowing Request, on queue: CompletionQueue?, _ handlers: consuming TaskHandlers
    ) throws(NightjarError) -> ClientTask {
        try start(makeTask(request, on: queue, handlers), ofBatch: true)
    }

    /// The origin of the base URL.
    package var baseOrigin: Origin? { template.base?.origin }

    /// The names of header fields that the configuration marks as sensitive.
    var sensitiveNames: [String] { template.sensitiveNames }

    /// Returns the prepared call for a request that consists of a method and a target only. Nil if the request is not
    /// stored.
    package func repeated(_ method: UnsafeRawBufferPointer, _ target: UnsafeRawBufferPointer) -> RepeatedRequests.Call?
    {
        Fork.hasForked(since: forkGeneration) ? nil : repeated.find(method, target)
    }

    /// Starts a call whose request is already prepared.
    package func start(
        _ known: RepeatedRequests.Call, on queue: CompletionQueue?, _ handlers: consuming TaskHandlers
    ) throws(NightjarError) -> ClientTask {
        try start(try makeTask(known.prepared, known.options, on: queue, handlers), ofBatch: false)
    }

    /// - Parameter made: A task, and its response if it is already available.
    private func start(
        _ made: (task: ClientTask, response: Response?), ofBatch: Bool
    ) throws(NightjarError) -> ClientTask {
        let task = made.task
        if let queue = task.queue, !queue.register(task) { throw NightjarError(.closed, "the queue is closed") }
        if let queue = task.queue, let response = made.response {
            task.markFinished()
            var events = [QueueEvent.finished(task, .success(response))]
            queue.post(&events)
        } else {
            try submit(ofBatch ? .startNext(task) : .start(task), of: task)
        }
        return task
    }

    func submit(_ task: ClientTask) throws(NightjarError) { try submit(.start(task), of: task) }

    private func submit(_ message: ClientLoop.Message, of task: ClientTask) throws(NightjarError) {
        guard loop.submit(message) else {
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
    func makeTask(
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
        let (prepared, options) =
            try insertion == nil ? preparedCall(of: request) : preparedCall(of: request, inserting: insertion)
        let isStreamed = handlers.head != nil && handlers.body != nil
        let made = try makeTask(prepared, options, on: queue, handlers)
        if isStreamed { made.0.source = StreamSource(self, copy request) }
        guard let canceller = request.canceller else { return made }
        canceller.add(made.0)
        // The loop reports the cancellation.
        return canceller.isCancelled ? (made.0, nil) : made
    }

    private func makeTask(
        _ prepared: PreparedRequest, _ options: CallOptions, on queue: CompletionQueue?,
        _ handlers: consuming TaskHandlers
    ) throws(NightjarError) -> (ClientTask, Response?) {
        let reservation = try reserveMemory(prepared, options, isStreamed: handlers.body != nil)
        let response = queue == nil ? nil : freshResponse(prepared, options, handlers)
        return (
            ClientTask(prepared, options, handlers: handlers, queue: queue, client: loop, reservation: reservation),
            response
        )
    }

    private func freshResponse(
        _ prepared: PreparedRequest, _ options: CallOptions, _ handlers: borrowing TaskHandlers
    ) -> Response? {
        guard let fresh, options.cache != nil, options.chain == nil, prepared.method == .get,
            options.acceptsAnyResponse,
            handlers.isForCompleteResponses
        else { return nil }
        return fresh.find(prepared, options)
    }

    static let forked = NightjarError.forkedClient

    /// Closes the client.
    ///
    /// Cancels all calls in flight; each call completes. Waits up to 15 s for a token refresh in progress, because the
    /// refresh token may already have been redeemed, and for the saves of logins and logouts. Closes the connections
    /// and saves the cookies. Waits up to 5 s for another process that locks the disk cache or the journal, and logs
    /// invalidations that cannot be written.
    ///
    /// Later calls fail with `closed`. On the client's own thread, this method waits neither for logins and token
    /// refreshes nor for the disk cache. In a forked child, it does nothing, because the threads belong to the parent.
    public func close() {
        guard !Fork.hasForked(since: forkGeneration) else { return }
        fresh?.close()
        loop.stop()
        repeated.forget()
        journal.close()
        if let cookieListener { cookies?.unlisten(cookieListener) }
        flushCache()
        if let cacheListener { cache?.disk?.unlisten(cacheListener) }
        // The error is ignored, because this method cannot throw. A program can call `CookieStorage.flush` itself.
        try? cookies?.flush()
    }

    /// Writes pending changes of the cache to disk, or logs them. Waits for the disk, except on the client's own thread.
    private func flushCache() {
        guard !loop.isOnLoop else {
            cache?.disk?.flush { [loop] error in loop.noteAtEnd(.warning, error.message) }
            return
        }
        do throws(NightjarError) {
            try cache?.flush()
        } catch {
            loop.noteAtEnd(.warning, error.message)
        }
    }
}
