import NIOCore
import NightjarHTTP
import Synchronization

/// The callbacks of a call. They run one at a time, in the order of the events: inside `CompletionQueue.poll`,
/// `CompletionQueue.close` or the blocking call, or on the client's loop thread if the call has no queue. ``refreshed``
/// can have a queue of its own.
public struct TaskHandlers: Sendable {
    /// Called with the response, whose body is empty, when its final head has been received. Called only if ``body`` is
    /// set. Not called after a cancel, or if the status is unexpected.
    public var head: (@Sendable (ClientTask, Response) -> Void)?
    /// Called with each part of the response body. If set, the response is not collected and its `body` is empty. The
    /// body of a response with an unexpected status is collected for the error instead. Reading from the network pauses
    /// when more than ``ClientTask/window`` bytes are unconsumed.
    public var body: (@Sendable (ClientTask, ByteBuffer) -> Void)?
    /// Called on the loop with each interim response (1xx) and the URL that was requested.
    package var interim: (@Sendable (ResponseHead, RequestURL) -> Void)?
    /// Whether a response with a head is passed to ``head`` and ``body``. Otherwise it is collected. Called on the loop.
    /// Nil: every response is, if ``body`` is set.
    package var streams: (@Sendable (ResponseHead) -> Bool)?
    /// If true, bytes passed to `body` count as consumed only after ``ClientTask/consumed(_:)``.
    public var creditsAreManual = false
    /// Reading from the network pauses when more bytes of a streamed response than this number are unconsumed.
    package var window = ClientTask.window
    /// Returns the next part of a `RequestBody.stream`, at most `maximum` bytes.
    public var provideBody: (@Sendable (ClientTask, _ maximum: Int) -> BodyPart)?
    /// Called before another attempt sends the body again, if an earlier attempt has requested a part. The source must
    /// restart from its beginning. If nil, a call is not repeated after a part was requested.
    public var rewindBody: (@Sendable (ClientTask) -> Void)?
    /// Called with the progress of the current attempt's bodies: about ten times a second while data moves, and once
    /// more before ``finished`` if the call succeeds and the progress has changed. Except for this last event, no event
    /// is posted while an earlier progress event is pending.
    public var progress: (@Sendable (ClientTask, Progress) -> Void)?
    /// Called when the call begins to wait for the network; see ``ConnectivitySettings/maximumWait``.
    public var waiting: (@Sendable (ClientTask, OfflineReason) -> Void)?
    /// Decides whether a failed attempt is retried. Receives the client's own decision. Called after an error other
    /// than a cancel or the total timeout, and after a transient status that is not expected. Not called if part of the
    /// response was delivered, or if the request was rejected before it reached the transport. Not called for
    /// `pin_mismatch`, which is never retried.
    public var retry: (@Sendable (ClientTask, FailedAttempt) -> RetryAction)?
    /// Decides whether a redirect is followed. Called after the redirect response has been received completely, or its
    /// body has failed.
    public var redirect: (@Sendable (ClientTask, ProposedRedirect) -> RedirectAction)?
    /// Called once with the result of a background revalidation, after ``finished`` received a cached response
    /// (``CachePolicy/offlineFirst``, stale-while-revalidate). Not called if nothing is revalidated; see
    /// ``ClientTask/isRefreshing``.
    public var refreshed: (@Sendable (Result<Response, NightjarError>) -> Void)?
    /// The queue on which ``refreshed`` runs. Nil: the queue of the other callbacks. A blocking call needs a queue,
    /// because ``refreshed`` usually runs after the call has returned. If another thread polls the queue, ``refreshed``
    /// may also run before the call returns.
    public var refreshQueue: CompletionQueue?
    /// The queue on which hooks and decisions run, if the other callbacks run on the loop. Nil: the queue of the other
    /// callbacks.
    package var decisionQueue: CompletionQueue?
    /// Replaces the result before ``finished`` receives it. A handler that decodes the body uses it to report an invalid
    /// body. Called once.
    package var convertResult: ResultConversion?
    /// Called exactly once if the call was started. Only ``refreshed`` can follow.
    public var finished: @Sendable (ClientTask, Result<Response, NightjarError>) -> Void

    public init(finished: @escaping @Sendable (ClientTask, Result<Response, NightjarError>) -> Void) {
        self.finished = finished
    }
}

extension TaskHandlers {
    package typealias ResultConversion =
        @Sendable (ClientTask, Result<Response, NightjarError>) -> Result<Response, NightjarError>

    /// The next part of a streamed request body.
    public enum BodyPart: Sendable {
        case bytes(ByteBuffer)
        case end
        /// The source failed. The call fails with `invalid_request` and this message. The connection is closed, so that
        /// the server cannot mistake the partial body for a complete body.
        case failed(String)
        /// No data is available yet; call ``ClientTask/provide(_:)`` later.
        case later
    }
}

/// The caller's handle of one call, in progress or finished. Any thread may use it.
public final class ClientTask: ClientWork, @unchecked Sendable {
    /// 256 KiB: reading pauses when more bytes of a streamed response are unconsumed, and continues at half of this
    /// number. Each part counts 256 bytes in addition to its content.
    public static let window = 256 * 1024

    /// The bytes that a part counts in addition to its content. They limit the number of queued parts if a server sends
    /// single bytes.
    static let partCost = 256

    let request: PreparedRequest
    let options: CallOptions
    let handlers: TaskHandlers
    let queue: CompletionQueue?
    override var completionQueue: CompletionQueue? { queue }
    /// The queue of hooks and decisions.
    var decisionQueue: CompletionQueue? { handlers.decisionQueue ?? queue }
    /// Counts the memory held for the task. Nil: the memory is not counted.
    package let reservation: MemoryReservation?
    private let client: ClientLoop

    /// The call while it runs. Used on the loop only.
    var call: Call?
    /// Whether the request was sent again after a connection was lost, although the server may have processed it. Used on
    /// the loop.
    var wasRepeated = false
    /// The index of this task in its queue's list. Protected by the queue's lock.
    var positionInQueue = 0

    private let wasCancelled = Atomic<Bool>(false)
    private let hasFinished = Atomic<Bool>(false)
    private let hasProgress = Atomic<Bool>(false)
    private let hasRefresh = Atomic<Bool>(false)
    private let unhandledBytes = Atomic<Int>(0)
    private let isHeldBack = Atomic<Bool>(false)
    /// Whether part of the response was not delivered because of a cancel. Used where the events are delivered.
    private var isIncomplete = false
    /// The request of a streamed response, so that its rest can become a download. Nil: the response is collected.
    var source: StreamSource?
    /// The delivered part of a streamed response. Used where the events are delivered.
    private var delivered = DeliveredStream()
    /// Receives the rest of the response in place of ``handlers``. Used where the events are delivered.
    private var receiver: StreamReceiver?
    private let isHandedOver = Atomic<Bool>(false)
    private let isInHeadHandler = Atomic<Bool>(false)
    private let delivery = PausableDelivery()

    init(
        _ request: PreparedRequest, _ options: CallOptions, handlers: consuming TaskHandlers,
        queue: CompletionQueue?, client: ClientLoop, reservation: MemoryReservation? = nil
    ) {
        self.reservation = reservation
        self.request = request
        self.options = options
        self.handlers = handlers
        self.queue = queue
        self.client = client
    }

    package override var isOfParent: Bool { client.isOfParent }

    /// The request URL, resolved against the base URL, with its query.
    public var url: RequestURL { request.url }

    /// Ends the call with `cancelled`. Has no effect if the call has ended or was cancelled before, or if its response has
    /// become a download.
    public override func cancel() {
        if !isHandedOver.load(ordering: .relaxed) { cancelExchange() }
    }

    /// Ends the call also if its response has become a download.
    func cancelExchange() {
        defer { resume() }
        guard !wasCancelled.exchange(true, ordering: .relaxed), !isFinished else { return }
        client.submit(.cancel(self))
    }

    /// Runs `body` on the client's loop. Returns false if the client is closed.
    func runOnLoop(_ body: @escaping @Sendable () -> Void) -> Bool { client.submit(.run(body)) }

    /// Whether ``TaskHandlers/finished`` has been called, or is queued.
    public override var isFinished: Bool { hasFinished.load(ordering: .acquiring) }

    /// Whether the cached response passed to ``TaskHandlers/finished`` is revalidated in the background.
    /// ``TaskHandlers/refreshed`` receives the result. The value stays true after the revalidation has ended.
    public internal(set) var isRefreshing: Bool {
        get { hasRefresh.load(ordering: .acquiring) }
        set { hasRefresh.store(newValue, ordering: .releasing) }
    }

    /// Reports `count` bytes of the response as consumed. Call it only if ``TaskHandlers/creditsAreManual`` is set.
    public func consumed(_ count: Int) {
        guard count > 0 else { return }
        credit(count)
    }

    private func credit(_ count: Int) {
        let left = unhandledBytes.subtract(count, ordering: .sequentiallyConsistent).newValue
        if left <= handlers.window / 2, isHeldBack.exchange(false, ordering: .sequentiallyConsistent) {
            client.submit(.resume(self))
        }
    }

    /// Provides the part that ``TaskHandlers/provideBody`` deferred with ``TaskHandlers/BodyPart/later``. Call it once
    /// for each deferral.
    public func provide(_ part: TaskHandlers.BodyPart) {
        if case .later = part { return }
        client.submit(.bodyPart(self, part))
    }

    /// Lets ``TaskHandlers/provideBody`` run again after it has returned ``TaskHandlers/BodyPart/later``, also if it has not
    /// returned yet. Has no effect otherwise. Use either this method or ``provide(_:)``.
    public func resumeBody() {
        client.submit(.run { [self] in call?.feed?.resumed() })
    }

    public override func pause() {
        if queue != nil { delivery.pause() }
    }

    public override func resume() {
        guard let queue, delivery.resume() else { return }
        queue.run { [self] in delivery.release(in: queue) }
        client.submit(.resume(self))
    }

    /// Whether the callbacks are held back. Any thread.
    var isPaused: Bool { delivery.isPaused }

    /// Holds an event back if the task is paused. Used where the events are delivered.
    @inline(__always)
    func holds(_ event: @autoclosure () -> QueueEvent) -> Bool { delivery.isPaused && delivery.hold(event()) }

    /// Delivers the events that were held back before an error.
    func endPause() {
        if let queue, delivery.isPaused { delivery.end(in: queue) }
    }

    /// Provides the decision that ``TaskHandlers/redirect`` deferred with ``TaskHandlers/RedirectAction/later``. Call
    /// it once for each deferral.
    public func redirect(_ action: TaskHandlers.RedirectAction) {
        if case .later = action { return }
        client.submit(.decided(self, action))
    }

    /// Provides the decision that ``TaskHandlers/retry`` deferred with ``TaskHandlers/RetryAction/later``. Call it once
    /// for each deferral.
    public func retry(_ action: TaskHandlers.RetryAction) {
        if case .later = action { return }
        client.submit(.decided(self, action))
    }

    // MARK: On the loop

    var isCancelled: Bool { wasCancelled.load(ordering: .relaxed) }

    /// Returns whether the last progress event has been delivered, and marks a new event as pending.
    func progressIsDue() -> Bool { !hasProgress.exchange(true, ordering: .relaxed) }

    func markFinished() { hasFinished.store(true, ordering: .releasing) }

    /// Counts bytes that are posted to the callback.
    ///
    /// - Returns: Whether reading must pause until a `.resume` is submitted.
    func holdsBack(afterAdding count: Int) -> Bool {
        let waiting = unhandledBytes.add(count + ClientTask.partCost, ordering: .sequentiallyConsistent).newValue
        guard waiting > handlers.window else { return false }
        isHeldBack.store(true, ordering: .sequentiallyConsistent)
        // The callback may have consumed the bytes before the flag was set.
        if unhandledBytes.load(ordering: .sequentiallyConsistent) <= handlers.window / 2 {
            return !isHeldBack.exchange(false, ordering: .sequentiallyConsistent)
        }
        return true
    }

    // MARK: On the thread that delivers the events

    func deliver(head response: Response) {
        guard !wasCancelled.load(ordering: .relaxed) else { return isIncomplete = true }
        if source != nil { delivered.head = response }
        isInHeadHandler.store(true, ordering: .relaxed)
        handlers.head?(self, response)
        isInHeadHandler.store(false, ordering: .relaxed)
    }

    /// Whether ``TaskHandlers/head`` runs now.
    package var isDeliveringHead: Bool { isInHeadHandler.load(ordering: .relaxed) }

    /// Takes back ``handOver(holding:to:)``, because nothing receives the response. The call ends with `cancelled`.
    func revokeHandOver() {
        receiver = nil
        isIncomplete = true
        cancelExchange()
    }

    /// The head of a streamed response, after it was delivered. Used where the events are delivered.
    var deliveredHead: Response? { delivered.head }

    /// The streamed response after its end. Nil before its end, and if the response was collected. Used where the events
    /// are delivered.
    package var endedStream: EndedStream? {
        guard let source, let head = delivered.head, let end = delivered.end else { return nil }
        return EndedStream(source: source, head: head, bytes: delivered.bytes, end: end)
    }

    /// Passes the rest of a streamed response to a receiver. The handlers receive nothing more of it; ``handlers``'
    /// `finished` receives the head at the end.
    ///
    /// - Parameter held: The number of bytes that were delivered and that the caller still has.
    /// - Returns: The head, and the result if the response has ended.
    /// - Throws: `invalid_argument` if there is no head yet, or if part of the body was consumed; `cancelled`.
    func handOver(
        holding held: Int, to receiver: StreamReceiver
    ) throws(NightjarError) -> (head: Response, end: Result<Response, NightjarError>?) {
        guard let head = delivered.head else {
            throw NightjarError(
                .invalidArgument, "only a streamed response whose head has arrived can become a download")
        }
        guard self.receiver == nil else {
            throw NightjarError(.invalidArgument, "the response has become a download already")
        }
        guard !wasCancelled.load(ordering: .relaxed) else {
            throw NightjarError(.cancelled, "the call was cancelled before its response became a download")
        }
        try StreamSource.check(held, of: delivered.bytes)
        self.receiver = receiver
        isHandedOver.store(true, ordering: .relaxed)
        client.submit(.run { [self] in call?.limits.total = nil })
        return (head, delivered.end)
    }

    func deliver(progress: TaskHandlers.Progress) {
        hasProgress.store(false, ordering: .relaxed)
        if !wasCancelled.load(ordering: .relaxed) { handlers.progress?(self, progress) }
    }

    func deliver(waiting reason: OfflineReason) {
        if !wasCancelled.load(ordering: .relaxed) { handlers.waiting?(self, reason) }
    }

    func deliver(body: ByteBuffer) {
        if let receiver {
            receiver.body(body)
            return credit(ClientTask.partCost)
        }
        delivered.bytes += body.readableBytes
        let isWanted = !wasCancelled.load(ordering: .relaxed)
        if isWanted { handlers.body?(self, body) } else { isIncomplete = true }
        let isHandled = !isWanted || !handlers.creditsAreManual
        credit(ClientTask.partCost + (isHandled ? body.readableBytes : 0))
    }

    /// If a cancel arrived after the response was complete but before all parts were delivered, the result becomes
    /// `cancelled`. Otherwise a truncated response would look complete.
    func deliver(_ result: consuming Result<Response, NightjarError>) {
        if let receiver, let head = delivered.head {
            receiver.end(copy result)
            result = .success(head)
        } else if delivered.head != nil {
            delivered.end = copy result
        }
        if isIncomplete, case .success(let response) = result {
            let error = NightjarError(.cancelled, "the call was cancelled", requestMayHaveBeenProcessed: true)
            result = .failure(error.of(request, attempts: response.attempts))
            isRefreshing = false
        }
        if let convertResult = handlers.convertResult { result = convertResult(self, result) }
        runAfterHook(result)
        handlers.finished(self, result)
        markDelivered()
    }

    private func runAfterHook(_ result: Result<Response, NightjarError>) {
        guard let hooks = options.hooks, !hooks.runOnLoop, let after = hooks.after else { return }
        guard let queue = handlers.decisionQueue else { return after(result) }
        client.post(.run { after(result) }, to: queue)
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
        let part =
            handlers.provideBody?(self, maximum)
            ?? .failed("the request has a streamed body but no body callback")
        // Without a queue, this is the loop. WebSockets often have nothing to send.
        if queue == nil, case .later = part { call?.feed?.send(part) } else { client.submit(.bodyPart(self, part)) }
    }
}

extension TaskHandlers {
    /// Whether the caller receives the response only when it is complete, and makes no decisions.
    var isForCompleteResponses: Bool {
        body == nil && head == nil && redirect == nil && retry == nil
    }
}

/// The client and the request of a streamed response.
final class StreamSource: @unchecked Sendable {
    /// The `Client`. The call does not keep it open. Written once.
    private(set) weak var client: (any AnyObject & Sendable)?
    let request: Request

    init(_ client: any AnyObject & Sendable, _ request: Request) { (self.client, self.request) = (client, request) }

    /// Checks that no part of a body was consumed.
    static func check(_ held: Int, of delivered: Int) throws(NightjarError) {
        guard held != delivered else { return }
        throw NightjarError(
            .invalidArgument,
            "\(delivered - held) bytes of the response were read; start the download before the body is read")
    }
}

/// A streamed response that has ended. Unlike its task, it does not refer to the handlers.
package struct EndedStream: Sendable {
    let source: StreamSource
    let head: Response
    /// The number of body bytes that were delivered.
    let bytes: Int
    let end: Result<Response, NightjarError>
}

/// The delivered part of a streamed response.
private struct DeliveredStream {
    var head: Response?
    var bytes = 0
    var end: Result<Response, NightjarError>?
}

/// Receives the body of a response, and its end, where the events of the call are delivered.
struct StreamReceiver: Sendable {
    let body: @Sendable (ByteBuffer) -> Void
    let end: @Sendable (Result<Response, NightjarError>) -> Void
}
