import NIOCore
import NightjarCoding
import NightjarHTTP
import NightjarTransport
import Synchronization

/// An API client: a pool of connections, policies, and the event loop they live on.
///
/// Any thread may use it. Clients share nothing; open one for each API, or one for each core.
public final class Client: Sendable {
    let loop: ClientLoop
    let template: RequestTemplate
    /// For calls that carry no credentials.
    let anonymousTemplate: RequestTemplate
    /// Put into the query, or beside the cookies, of requests to the base URL's origin.
    let attachedKey: APIKey?
    /// What requests choose from; nil: all carry the same.
    let schemes: SchemeCredentials?
    /// Those that change while it lives.
    let logins: [Login]
    /// The origin that the client's token goes to; nil: it has none.
    let loginOrigin: Origin?
    let timeouts: Timeouts
    let maximumBody: Int
    let decompresses: Bool
    let coalesces: Bool
    private let limitGroups: [String]
    let retry: RetrySettings
    let respectsRetryAfter: Bool
    let hooks: CallHooks?
    /// The URLs that its calls may request; nil: any.
    let scope: Confinement?
    let pathScope: PathScope?
    /// The limits that the calls of a sandboxed script cannot loosen.
    let bounds: CallBounds
    let auth: Authentication?
    let responseValidation: ResponseValidation
    /// The endpoints that it knows; nil: it was given none.
    public let catalog: Catalog?
    /// The folder whose files OpenAPI documents may reference; nil: the folder of each document.
    let openAPIFolder: String?
    let birth = Fork.generation
    /// What answers in place of servers; nil: they do.
    public let mock: Mock?
    /// Its cookies; nil: it keeps none.
    public let cookies: CookieStorage?
    /// The number under which the log hears of the cookie file.
    private let cookieListener: Int?
    /// Where its answers are kept; nil: they are not.
    public let cache: CacheStorage?
    let cachePolicy: CachePolicy
    let sessions: TokenSessions
    let limit: Limit?
    private let fresh: FreshAnswers?
    /// The same for the cache on disk.
    private let cacheListener: Int?
    /// The first origin that was asked: most absolute targets of a client are of it, and need not be read again.
    private let firstOrigin = AtomicLazyReference<KnownOrigin>()
    let repeated = RepeatedRequests()
    /// Queues of blocking calls, kept for the next.
    private let blockingQueues = Mutex<[CompletionQueue]>([])

    /// - Throws: `invalid_url`, `invalid_request`, `invalid_argument` or `tls` when the configuration cannot work.
    public convenience init(_ configuration: Configuration = Configuration()) throws(NightjarError) {
        try self.init(configuration, transport: nil)
    }

    /// - Parameter transport: makes what carries the requests, given the client's loop; nil: the network.
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
        configuration.freshAnswers = configuration.makeFreshAnswers()
        fresh = configuration.freshAnswers
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
            carrier = configuration.staged(carrier, cassette, on: thread.loop, base: base)
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
            loop.residents = [sessions]
            cookieListener = cookies?.listen { [weak loop] in loop?.submit(.note($0, $1)) }
            cassette?.listen { [weak loop] in loop?.note($0, $1) }
            cacheListener = cache?.disk?.listen { [weak loop] in loop?.submit(.note($0, $1)) }
        } catch {
            thread.stop()
            throw error
        }
    }

    deinit { close() }

    /// Starts a call without waiting.
    ///
    /// - Parameters:
    ///   - queue: where the handlers run: never inside this call, though a thread that polls the queue may run them
    ///     before this returns. Nil: on the client's loop thread, where they must not block.
    /// - Throws: what is wrong with the request itself (`invalid_url`, `invalid_request`), `closed` or `forked`. What
    ///   goes wrong on the network arrives in `finished`.
    @discardableResult
    public func start(
        _ request: borrowing Request, on queue: CompletionQueue?, _ handlers: consuming TaskHandlers
    ) throws(NightjarError) -> ClientTask {
        try start(makeTask(request, on: queue, handlers))
    }

    /// What was made of a request that says its method and target, and no more; nil: it is to be made.
    package func repeated(_ method: UnsafeRawBufferPointer, _ target: UnsafeRawBufferPointer) -> RepeatedRequests.Call?
    {
        Fork.hasHappened(since: birth) ? nil : repeated.find(method, target)
    }

    /// Starts a call anew, whose request needs to be neither read nor checked.
    package func start(
        _ known: RepeatedRequests.Call, on queue: CompletionQueue?, _ handlers: consuming TaskHandlers
    ) throws(NightjarError) -> ClientTask {
        try start(try makeTask(known.prepared, known.options, on: queue, handlers))
    }

    /// - Parameter made: a task, and its answer where that is at hand.
    private func start(_ made: (task: ClientTask, answer: Response?)) throws(NightjarError) -> ClientTask {
        let task = made.task
        if let queue = task.queue, !queue.register(task) { throw NightjarError(.closed, "the queue is closed") }
        if let queue = task.queue, let answer = made.answer {
            task.markFinished()
            var events = [QueueEvent.finished(task, .success(answer))]
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

    /// - Parameter planted: goes into the cache in place of a server's answer.
    func start(
        _ request: Request, on queue: CompletionQueue?, _ handlers: TaskHandlers, planting planted: PlantedAnswer
    ) throws(NightjarError) -> ClientTask {
        let (task, _) = try makeTask(request, on: queue, handlers, planting: planted)
        if let queue, !queue.register(task) { throw NightjarError(.closed, "the queue is closed") }
        try submit(task)
        return task
    }

    /// - Parameter planted: goes into the cache in place of a server's answer.
    /// - Returns: the answer too, where it is at hand.
    private func makeTask(
        _ request: borrowing Request, on queue: CompletionQueue?, _ handlers: consuming TaskHandlers,
        planting planted: PlantedAnswer? = nil
    ) throws(NightjarError) -> (ClientTask, Response?) {
        guard !Fork.hasHappened(since: birth) else { throw Client.forked }
        guard request.schema == nil || handlers.body == nil else {
            throw NightjarError(
                .invalidRequest, "a streamed answer cannot be checked against a schema; collect it, or leave one out")
        }
        if let group = request.limitGroup, !limitGroups.contains(where: { $0.isExactly(group) }) {
            throw unknown(group: group)
        }
        let (prepared, options) = try planted == nil ? made(of: request) : made(of: request, planting: planted)
        return try makeTask(prepared, options, on: queue, handlers)
    }

    private func makeTask(
        _ prepared: PreparedRequest, _ options: CallOptions, on queue: CompletionQueue?,
        _ handlers: consuming TaskHandlers
    ) throws(NightjarError) -> (ClientTask, Response?) {
        let hold = try hold(prepared, options, isStreamed: handlers.body != nil)
        let answer = queue == nil ? nil : freshAnswer(prepared, options, handlers)
        return (ClientTask(prepared, options, handlers: handlers, queue: queue, client: loop, hold: hold), answer)
    }

    private func freshAnswer(
        _ prepared: PreparedRequest, _ options: CallOptions, _ handlers: borrowing TaskHandlers
    ) -> Response? {
        guard let fresh, options.cache != nil, options.chain == nil, prepared.method == .get, options.hasNoSay,
            handlers.isForWholeAnswers
        else { return nil }
        return fresh.find(prepared, fresh.options(of: options), maximumBody: options.maximumBody)
    }

    private func unknown(group: String) -> NightjarError {
        let hint = nearestName(to: group, among: limitGroups).map { "; did you mean \(quoted($0))?" } ?? ""
        return NightjarError(.invalidRequest, "the client has no limit group \(quoted(group))\(hint)")
    }

    /// What goes on the wire, and how: of a request that comes again and again, what was made of it before.
    private func made(of request: borrowing Request) throws(NightjarError) -> (PreparedRequest, CallOptions) {
        let fingerprint = request.fingerprint
        if let fingerprint, let known = repeated.find(request, fingerprint) { return (known.prepared, known.options) }
        let (prepared, options) = try made(of: request, planting: nil)
        if let fingerprint { repeated.made(prepared, options, of: request, fingerprint) }
        return (prepared, options)
    }

    private func made(
        of request: borrowing Request, planting planted: PlantedAnswer?
    ) throws(NightjarError) -> (PreparedRequest, CallOptions) {
        let choice = try choice(for: request)
        try request.timeouts.check()
        let options = options(of: request, planting: planted, login: choice == nil ? 0 : choice?.login)
        return (try prepare(request, choice, idle: options.timeouts.idle), options)
    }

    /// The credentials that a request carries; nil: those that all do.
    private func choice(for request: borrowing Request) throws(NightjarError) -> SchemeCredentials.Choice? {
        if let schemes { return try schemes.choice(for: request) }
        if let scheme = request.schemes.first, request.usesAuth {
            throw NightjarError(
                .invalidRequest,
                "the request names the scheme \(quoted(scheme)), and the client's credentials have no names; give them by "
                    + "auth.schemes")
        }
        return nil
    }

    /// That of the base URL.
    package var baseOrigin: Origin? { template.base?.origin }

    /// Names of fields that the configuration calls credentials.
    var sensitiveNames: [String] { template.sensitiveNames }

    /// Borrowed all the way: a request is large, and copying it costs more than writing its head.
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

    /// Sends and waits on this thread, running the handlers of this call meanwhile. `handlers.finished` also runs.
    public func sendBlocking(_ request: Request, handlers: TaskHandlers? = nil) throws(NightjarError) -> Response {
        try sendBlocking(request, handlers: handlers, planting: nil)
    }

    func sendBlocking(
        _ request: Request, handlers: TaskHandlers? = nil, planting planted: PlantedAnswer?
    ) throws(NightjarError) -> Response {
        try checkMayWait()
        guard handlers?.refreshed == nil || handlers?.refreshQueue != nil else {
            throw NightjarError(
                .invalidRequest,
                "a blocking call has returned when what it fetches anew has come; name a queue to hear of it")
        }
        let queue = takeQueue()
        let outcome = Outcome()
        var told = handlers ?? TaskHandlers { _, _ in }
        let finished = told.finished
        told.finished = { task, result in
            outcome.result = result
            finished(task, result)
        }
        do throws(NightjarError) {
            let (task, answer) = try makeTask(request, on: queue, told, planting: planted)
            if let answer {
                task.markFinished()
                told.finished(task, .success(answer))
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

    /// A queue for blocking calls of one thread; ``keep(_:)`` takes it back when nothing delivers there any more.
    func takeQueue() -> CompletionQueue { blockingQueues.withLock { $0.popLast() } ?? CompletionQueue() }

    func keep(_ queue: CompletionQueue) { blockingQueues.withLock { $0.append(queue) } }

    static let forked = NightjarError(
        .forked, "this client belongs to the parent process; make a new one after fork")

    /// Written and read on the thread that waits.
    private final class Outcome: @unchecked Sendable {
        var result: Result<Response, NightjarError>?
    }

    /// Cancels every call in flight, so that each finishes, waits for a new token that is on its way (15 s at most: the old
    /// one may be spent), closes the connections, saves the cookies and returns when nothing of this client runs any more.
    /// Waits up to 5 s for another process that holds the cache on disk: invalidations that cannot be written are reported to the log.
    /// Later calls fail with `closed`. On the client's own thread it returns at once. In a forked child it does nothing: the threads are the parent's.
    public func close() {
        guard !Fork.hasHappened(since: birth) else { return }
        fresh?.close()
        loop.stop()
        repeated.forget()
        if let cookieListener { cookies?.unlisten(cookieListener) }
        // Pending changes are on disk, or reported, when this returns.
        do throws(NightjarError) {
            try cache?.flush()
        } catch {
            loop.noteAtEnd(.warning, error.message)
        }
        if let cacheListener { cache?.disk?.unlisten(cacheListener) }
        // What could not be saved is told to who flushes; here there is nobody left to tell.
        try? cookies?.flush()
    }
}
