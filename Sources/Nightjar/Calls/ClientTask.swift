import NIOCore
import NightjarHTTP
import Synchronization

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
    /// The request as changed by the hook that ran before the call. Nil: unchanged. Written on the loop before the
    /// result is posted.
    var hookedRequest: PreparedRequest?
    /// The index of this task in its queue's list. Protected by the queue's lock.
    var positionInQueue = 0

    /// ``callID``; 0: not requested yet.
    private let number = Atomic<Int>(0)
    private static let numbers = Atomic<Int>(0)
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

    /// The number of the call, unique in this process: the same in ``CallHooks/Request/callID`` and
    /// ``CallObserver/CallReport/number``. Counts from 1, in the order in which the numbers are first requested.
    public var callID: Int {
        let known = number.load(ordering: .relaxed)
        guard known == 0 else { return known }
        let new = ClientTask.numbers.add(1, ordering: .relaxed).newValue
        let (wasSet, other) = number.compareExchange(expected: 0, desired: new, ordering: .relaxed)
        return wasSet ? new : other
    }

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
        // A pause after a cancel has no effect.
        queue.run { [self] in isCancelled ? delivery.end(in: queue) : delivery.release(in: queue) }
        client.submit(.resume(self))
    }

    /// Whether the client must not read from the network. False from the start of ``resume()``, which continues reading.
    var isPaused: Bool { delivery.isPaused }

    /// Holds an event back if the task is paused and not cancelled. Used where the events are delivered.
    @inline(__always)
    func holds(_ event: @autoclosure () -> QueueEvent) -> Bool {
        delivery.holdsEvents && !isCancelled && delivery.hold(event())
    }

    /// Delivers the events that were held back before an error or a cancel.
    func endPause() {
        if let queue, delivery.holdsEvents { delivery.end(in: queue) }
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

    /// Provides the result of a hook that responds later.
    func hooked(_ result: Result<PreparedRequest, NightjarError>) { client.submit(.decided(self, result)) }

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
        let request = CallHooks.Request(of: self)
        guard let queue = handlers.decisionQueue else { return after(request, result) }
        client.post(.run { after(request, result) }, to: queue)
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
