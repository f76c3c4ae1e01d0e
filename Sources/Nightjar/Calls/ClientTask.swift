import NIOCore
import NightjarHTTP
import Synchronization

/// What the one who starts a call hears of it. The handlers run where the task delivers: inside
/// `CompletionQueue.poll`, one after the other, in the order in which things happened.
public struct TaskHandlers: Sendable {
    /// The final head, before the body; never for an answer that becomes an error, nor after a cancel.
    public var head: (@Sendable (ClientTask, ResponseHead) -> Void)?
    /// Content as it comes. When set, the response is not collected and its `body` is empty. Reading from the
    /// network pauses while more than ``ClientTask/window`` bytes are not yet handled.
    public var body: (@Sendable (ClientTask, ByteBuffer) -> Void)?
    /// True: bytes given to `body` count as handled only after ``ClientTask/consumed(_:)``.
    public var creditsAreManual = false
    /// Asked for the next part of a `RequestBody.stream`, of at most so many bytes.
    public var provideBody: (@Sendable (ClientTask, _ maximum: Int) -> BodyPart)?
    /// Called before ``provideBody`` is asked for the first part again, because another attempt sends the body anew: the
    /// source begins from its start. Nil: what was given is gone, and such a call is not repeated.
    public var rewindBody: (@Sendable (ClientTask) -> Void)?
    /// Told how far the bodies of the present attempt have come, about ten times a second while they move, and once more before
    /// ``finished`` when the call succeeds. One that was not handled in time is passed over.
    public var progress: (@Sendable (ClientTask, TransferProgress) -> Void)?
    /// Asked whether a failed attempt is repeated, with what the client would do.
    public var retry: (@Sendable (ClientTask, RetryQuestion) -> RetryAnswer)?
    /// Asked before a redirect is followed, when all of the answer that redirects is there.
    public var redirect: (@Sendable (ClientTask, RedirectHop) -> RedirectAnswer)?
    /// What came of fetching anew, where ``finished`` was given an answer of the store meanwhile
    /// (``CachePolicy/offlineFirst``, stale-while-revalidate): once, behind it, and never where nothing was fetched, as
    /// ``ClientTask/isRefreshing`` tells.
    public var refreshed: (@Sendable (Result<Response, NightjarError>) -> Void)?
    /// Where ``refreshed`` runs; nil: where the others do. A blocking call has returned by then, and needs one; then
    /// ``refreshed`` may run before its return, on the thread that polls.
    public var refreshQueue: CompletionQueue?
    /// Exactly once, last but for ``refreshed``.
    public var finished: @Sendable (ClientTask, Result<Response, NightjarError>) -> Void

    public init(finished: @escaping @Sendable (ClientTask, Result<Response, NightjarError>) -> Void) {
        self.finished = finished
    }
}

/// The next part of a streamed request body.
public enum BodyPart: Sendable {
    case bytes(ByteBuffer)
    case end
    /// The source is broken: the call fails as `invalid_request` with this message and the connection is closed, so
    /// that the server cannot take half a body for a whole one.
    case failed(String)
    /// None is at hand: ``ClientTask/provide(_:)`` will bring it.
    case later
}

/// One call, in progress or finished: what its caller holds. Any thread may use it.
public final class ClientTask: ClientWork, @unchecked Sendable {
    /// Bytes of a streamed response that may wait for their handler before reading pauses; each part counts
    /// ``partCost`` more.
    public static let window = 256 * 1024

    /// Bytes that a part costs beside its content, so that a server which sends one at a time is held back too.
    static let partCost = 256

    let request: PreparedRequest
    let options: CallOptions
    let handlers: TaskHandlers
    let queue: CompletionQueue?
    /// Counts the memory held for the task; nil: it is not counted.
    package let hold: MemoryHold?
    private let client: ClientLoop

    /// The call on the loop while it lasts; touched there only.
    var call: Call?
    /// Where the queue keeps this task; under the queue's lock.
    var placeInQueue = 0

    private let wasCancelled = Atomic<Bool>(false)
    private let hasFinished = Atomic<Bool>(false)
    private let hasProgress = Atomic<Bool>(false)
    private let hasRefresh = Atomic<Bool>(false)
    private let unhandledBytes = Atomic<Int>(0)
    private let isHeldBack = Atomic<Bool>(false)
    /// Part of the answer was not delivered, because of a cancel. Touched where the events are handled.
    private var isIncomplete = false

    init(
        _ request: PreparedRequest, _ options: CallOptions, handlers: consuming TaskHandlers,
        queue: CompletionQueue?, client: ClientLoop, hold: MemoryHold? = nil
    ) {
        self.hold = hold
        self.request = request
        self.options = options
        self.handlers = handlers
        self.queue = queue
        self.client = client
    }

    package override var isOfParent: Bool { client.isOfParent }

    /// What is asked, its target joined with the base URL and its query.
    public var url: RequestURL { request.url }

    /// What ``TaskHandlers/head`` brings, as a response without its body.
    public func response(_ head: ResponseHead) -> Response {
        Response(
            head: head, body: ByteBuffer(), trailers: Headers(), url: url, attempts: 1, timing: Timing(),
            source: .network,
            redirects: [], decisions: [], sent: request, hold: hold)
    }

    /// Ends the call with `cancelled` unless it has ended already. Again, or later: nothing happens.
    public override func cancel() {
        guard !isFinished, !wasCancelled.exchange(true, ordering: .relaxed) else { return }
        client.submit(.cancel(self))
    }

    /// Whether ``TaskHandlers/finished`` has been delivered, or is due at its queue.
    public override var isFinished: Bool { hasFinished.load(ordering: .acquiring) }

    /// Whether the stored answer that ``TaskHandlers/finished`` was given is fetched anew by this call: what comes of that,
    /// ``TaskHandlers/refreshed`` is told.
    public internal(set) var isRefreshing: Bool {
        get { hasRefresh.load(ordering: .acquiring) }
        set { hasRefresh.store(newValue, ordering: .releasing) }
    }

    /// Tells that `count` bytes of the response are handled, where ``TaskHandlers/creditsAreManual`` is set.
    public func consumed(_ count: Int) {
        guard count > 0 else { return }
        credit(count)
    }

    private func credit(_ count: Int) {
        let left = unhandledBytes.subtract(count, ordering: .sequentiallyConsistent).newValue
        if left <= ClientTask.window / 2, isHeldBack.exchange(false, ordering: .sequentiallyConsistent) {
            client.submit(.resume(self))
        }
    }

    /// Brings the part that ``TaskHandlers/provideBody`` put off by ``BodyPart/later``; once for each time it did.
    public func provide(_ part: BodyPart) {
        if case .later = part { return }
        client.submit(.bodyPart(self, part))
    }

    /// Brings the answer that ``TaskHandlers/redirect`` put off by ``RedirectAnswer/later``; once for each time it did.
    public func redirect(_ answer: RedirectAnswer) {
        if case .later = answer { return }
        client.submit(.decided(self, answer))
    }

    /// Brings the answer that ``TaskHandlers/retry`` put off by ``RetryAnswer/later``; once for each time it did.
    public func retry(_ answer: RetryAnswer) {
        if case .later = answer { return }
        client.submit(.decided(self, answer))
    }

    // MARK: On the loop

    var isCancelled: Bool { wasCancelled.load(ordering: .relaxed) }

    /// Whether the progress that was told last has been handled, so that more may be told; it then counts as not handled.
    func progressIsDue() -> Bool { !hasProgress.exchange(true, ordering: .relaxed) }

    func markFinished() { hasFinished.store(true, ordering: .releasing) }

    /// Counts bytes that go out to the handler.
    ///
    /// - Returns: true when reading has to pause until a `.resume` is submitted.
    func holdsBack(afterAdding count: Int) -> Bool {
        let waiting = unhandledBytes.add(count + ClientTask.partCost, ordering: .sequentiallyConsistent).newValue
        guard waiting > ClientTask.window else { return false }
        isHeldBack.store(true, ordering: .sequentiallyConsistent)
        // The handler may have caught up before it could see the mark.
        if unhandledBytes.load(ordering: .sequentiallyConsistent) <= ClientTask.window / 2 {
            return !isHeldBack.exchange(false, ordering: .sequentiallyConsistent)
        }
        return true
    }

    // MARK: On the thread that handles the events

    func deliver(head: ResponseHead) {
        if wasCancelled.load(ordering: .relaxed) { isIncomplete = true } else { handlers.head?(self, head) }
    }

    func deliver(progress: TransferProgress) {
        hasProgress.store(false, ordering: .relaxed)
        if !wasCancelled.load(ordering: .relaxed) { handlers.progress?(self, progress) }
    }

    func deliver(body: ByteBuffer) {
        let isWanted = !wasCancelled.load(ordering: .relaxed)
        if isWanted { handlers.body?(self, body) } else { isIncomplete = true }
        let isHandled = !isWanted || !handlers.creditsAreManual
        credit(ClientTask.partCost + (isHandled ? body.readableBytes : 0))
    }

    /// The answer may have been complete when the cancel came, and its rest on its way here: a success would then pass
    /// half an answer off as a whole one.
    func deliver(_ result: consuming Result<Response, NightjarError>) {
        if isIncomplete, case .success(let response) = result {
            let error = NightjarError(.cancelled, "the call was cancelled", requestMayHaveBeenProcessed: true)
            result = .failure(error.of(request, attempts: response.attempts))
            isRefreshing = false
        }
        if let hooks = options.hooks, !hooks.runOnLoop { hooks.after?(result) }
        handlers.finished(self, result)
        guard case .success(var response) = consume result else { return }
        if isKnownUniquelyReferenced(&response) { client.giveBack(response) }
    }

    func deliver(_ request: DecisionRequest) {
        guard !wasCancelled.load(ordering: .relaxed), let decision = request.callHandler(of: self) else { return }
        client.submit(.decided(self, decision))
    }

    func deliverRewind() {
        guard !wasCancelled.load(ordering: .relaxed) else { return }
        handlers.rewindBody?(self)
        client.submit(.rewound(self))
    }

    func deliverBodyRequest(_ maximum: Int) {
        guard !wasCancelled.load(ordering: .relaxed) else { return }
        provide(
            handlers.provideBody?(self, maximum)
                ?? .failed("the request has a streamed body but nothing provides it"))
    }
}

/// What a call is bounded by, the client's settings filled in. Shared by calls that are alike.
final class CallOptions: Sendable {
    /// Nil where there is no limit.
    let timeouts: Timeouts
    /// The same as the loop counts.
    let limits: Limits
    let maximumBody: Int
    let expectedStatuses: [StatusRange]
    let schema: JSONSchema?
    let contract: ResponseContract?
    /// Repeating it does no harm, whatever its method.
    let isIdempotent: Bool
    /// Nil: the client's.
    let redirect: RedirectSettings?
    /// Nil: the client's.
    let retry: RetrySettings?
    /// See ``Configuration/respectsRetryAfter``.
    let respectsRetryAfter: Bool
    let decompresses: Bool
    let usesCookies: Bool
    let coalesces: Bool
    /// Nil: not at all.
    let cache: CachePolicy?
    /// Goes into the cache in place of what a server would answer.
    let planted: PlantedAnswer?
    let limitGroup: String?
    /// The number of the client's login whose token is for this call; nil: none is.
    let login: Int?
    let hooks: CallHooks?
    /// The restrictions of the call; nil: none.
    let confinement: Confinement?
    /// The stages that the call passes; nil: the client's.
    let chain: Chain?

    init(
        timeouts: Timeouts, maximumBody: Int, expectedStatuses: [StatusRange] = [], schema: JSONSchema? = nil,
        contract: ResponseContract? = nil, isIdempotent: Bool = false,
        redirect: RedirectSettings? = nil, retry: RetrySettings? = nil, respectsRetryAfter: Bool = true,
        decompresses: Bool, usesCookies: Bool,
        coalesces: Bool = false, cache: CachePolicy? = nil, planted: PlantedAnswer? = nil, limitGroup: String? = nil,
        login: Int? = nil, hooks: CallHooks? = nil, confinement: Confinement? = nil
    ) {
        let timeouts = timeouts.limits
        self.timeouts = timeouts
        limits = Limits(
            total: timeouts.total.map { .nanoseconds($0.nanosecondsClamped) },
            idle: timeouts.idle.map { .nanoseconds($0.nanosecondsClamped) })
        self.maximumBody = maximumBody
        self.expectedStatuses = expectedStatuses
        self.schema = schema
        self.contract = contract
        self.isIdempotent = isIdempotent
        self.redirect = redirect
        self.retry = retry
        self.respectsRetryAfter = respectsRetryAfter
        self.decompresses = decompresses
        self.usesCookies = usesCookies
        self.coalesces = coalesces
        self.cache = cache
        self.planted = planted
        self.limitGroup = limitGroup
        self.login = login
        self.hooks = hooks
        self.confinement = confinement
        chain = (confinement?.space as? any ChainOwner)?.chain
    }

    /// Those of an exchange that calls share: each of them has its own limit for all of it, and its own hooks.
    var ofSharedExchange: CallOptions {
        CallOptions(
            timeouts: Timeouts(connect: timeouts.connect, idle: timeouts.idle), maximumBody: maximumBody,
            expectedStatuses: expectedStatuses, schema: schema, isIdempotent: isIdempotent, redirect: redirect,
            retry: retry, respectsRetryAfter: respectsRetryAfter, decompresses: decompresses, usesCookies: usesCookies,
            coalesces: coalesces, cache: cache,
            limitGroup: limitGroup, login: login, confinement: confinement)
    }

    /// Lengths of time; nil: none.
    struct Limits: Sendable {
        let total: TimeAmount?
        let idle: TimeAmount?
    }
}

extension TaskHandlers {
    /// Nothing is asked or told before the end.
    var isForWholeAnswers: Bool {
        body == nil && head == nil && redirect == nil && retry == nil
    }
}
