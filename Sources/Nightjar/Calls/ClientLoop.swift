import NIOCore
import NightjarHTTP
import NightjarSystem
import NightjarTransport
import Synchronization

/// The event loop of one client. Callers submit messages. The loop carries them out and posts events.
///
/// Members are used on the loop only, unless their comment or the comment above their section names other threads.
final class ClientLoop: @unchecked Sendable {
    let thread: LoopThread
    private let forkGeneration = Fork.generation
    /// Whether the loop belongs to the parent of this forked process.
    var isOfParent: Bool { Fork.hasForked(since: forkGeneration) }
    private let monitor = Monitor()
    /// The number of threads that are about to wake the loop. The loop must not stop before they have woken it.
    private let wakingThreads = Atomic<Int>(0)
    // Under the monitor's lock:
    private var inbox: [Message] = []
    private var isScheduled = false
    private var isClosed = false
    private var isShutDown = false
    /// Whether the client accepts no new calls and operations.
    private var isDraining = false
    /// The number of batches in progress.
    private var batches = 0

    // On the loop:
    let chain: Chain
    /// The chain of token requests, without authentication and redirects.
    private let innerChain: Chain
    private let innerTimeouts: Timeouts
    /// Set before the first call.
    var components: [any LoopComponent] = []
    /// The receivers of the steps of calls. Set before the first call.
    var stepReceivers: [any StepReceiver] = []
    /// Requests the caller's decision about a connection that a call waits for. Returns false if the call must not
    /// decide. Nil: connections wait for no decisions. Set before the first call.
    var decideConnection: ((ConnectionChallenge, Call) -> Bool)?
    private(set) var isClosing = false
    private(set) var hasShutDown = false
    /// Whether the client was closed on the loop. The loop then releases its thread itself.
    private var endsItself = false
    let transport: any HTTPTransport
    let log: LogSink?
    /// Threads for blocking work.
    let workers: WorkerThreads
    /// Threads for the files of downloads, so that other file operations do not wait for them. They start with the first
    /// transfer.
    let transferWorkers: WorkerThreads
    /// Threads for processor-intensive work, so that file operations do not wait for it.
    let checkers: WorkerThreads
    private var spareInbox: [Message] = []
    private(set) var calls: [Call] = []
    /// The decisions that any call or operation of the client may run, also a later one.
    var openDecisions: [PendingDecision] = []
    var operations = OperationRegistry()
    /// Callbacks of pending work other than calls. Called when the client is closed.
    private var listeners: [ObjectIdentifier: () -> Void] = [:]
    /// Callbacks of resources, which are called after writes.
    var writeListeners: [ObjectIdentifier: (Write) -> Void] = [:]
    /// The events whose callbacks run on the loop.
    private var loopEvents: [QueueEvent] = []
    private var outbox: [QueueEvent] = []
    /// The queue that ``outbox`` is for.
    private var outboxQueue: CompletionQueue?
    private var isFlushScheduled = false
    var eventCoalescer = EventCoalescer()
    var alarm = Alarm()
    /// The client's timers, by number. They are cancelled when the client is closed, because the event loop outlives
    /// the client.
    var timers: [Int: Scheduled<Void>] = [:]
    var lastTimer = 0

    /// - Parameter innerTimeouts: The timeouts of token requests.
    init(
        thread: LoopThread, transport: any HTTPTransport, chain: Chain, innerChain: Chain,
        innerTimeouts: Timeouts, log: LogSink?
    ) {
        self.log = log
        self.innerChain = innerChain
        self.innerTimeouts = innerTimeouts
        self.thread = thread
        clock = thread.clock
        gate = LoopGate(thread.loop)
        self.transport = transport
        self.chain = chain
        workers = WorkerThreads(ClientLoop.workerCount, for: thread.loop)
        transferWorkers = WorkerThreads(ClientLoop.workerCount, for: thread.loop)
        checkers = WorkerThreads(ClientLoop.checkerCount, for: thread.loop)
    }

    var isOnLoop: Bool { thread.loop.inEventLoop }
    var eventLoop: any EventLoop { thread.loop }
    /// The present time in nanoseconds of a monotonic clock. Used on the loop.
    var now: UInt64 { clock.now.uptimeNanoseconds }
    /// Passes results from other threads to the loop, unless the client has closed.
    let gate: LoopGate
    /// Used on the loop.
    let clock: LoopClock

    // MARK: Any thread

    /// - Returns: False if the client is closed or belongs to the parent process, and for new work of a draining client.
    @discardableResult
    func submit(_ message: consuming Message) -> Bool {
        guard !Fork.hasForked(since: forkGeneration) else { return false }
        monitor.lock()
        if isClosed || isDraining && rejectsWhileDraining(message) {
            monitor.unlock()
            return false
        }
        if case .close = message { isClosed = true }
        inbox.append(message)
        let wakes = !isScheduled
        isScheduled = true
        if wakes { wakingThreads.add(1, ordering: .relaxed) }
        monitor.unlock()
        // After unlocking, because the loop takes the same lock at once.
        if wakes {
            thread.loop.execute { self.drainInbox() }
            wakingThreads.subtract(1, ordering: .releasing)
        }
        return true
    }

    /// Whether new calls and operations are accepted. Any thread.
    var acceptsWork: Bool { monitor.withLock { !isClosed && !isDraining } }

    /// Rejects new calls and operations from now on. Any thread.
    func rejectNewWork() { monitor.withLock { isDraining = true } }

    /// Registers a batch until ``batchEnded()``. Returns false if the client accepts no work. Any thread.
    func batchBegan() -> Bool {
        monitor.withLock {
            guard !isClosed, !isDraining else { return false }
            batches += 1
            return true
        }
    }

    func batchEnded() {
        let isAwaited = monitor.withLock {
            batches -= 1
            return isDraining
        }
        if isAwaited { submit(.run { self.checkDrained() }) }
    }

    var hasBatches: Bool { monitor.withLock { batches > 0 } }

    /// The operations in flight start their calls on the loop.
    private func rejectsWhileDraining(_ message: borrowing Message) -> Bool {
        switch message {
        case .start: !isOnLoop
        case .begin(let operation): !(operation is Drain)
        default: false
        }
    }

    /// Whether a component has work in progress that must not be lost. Abandons other work.
    var mustFinish: Bool {
        var mustNot = false
        for component in components where component.mustFinish() { mustNot = true }
        return mustNot
    }

    /// Ends every call and releases the thread. Later messages are rejected. Waits up to 15 seconds for token refreshes
    /// in progress, because the refresh token may already have been redeemed, and for the saves of logins and logouts.
    ///
    /// On the loop, this method returns at once: it may run inside a call, and the work in progress needs this thread.
    func stop() {
        if isOnLoop { endsItself = true }
        submit(.close)
        guard !isOnLoop else { return }
        monitor.withLock { while !isShutDown { monitor.wait(until: nil) } }
        endThread()
    }

    private func endThread() {
        // A thread that submitted an earlier message may not have woken the loop yet.
        while wakingThreads.load(ordering: .acquiring) > 0 { sched_yield() }
        thread.stop()
    }

    // MARK: Messages, on the loop

    private func drainInbox() {
        var batch: [Message] = []
        swap(&batch, &spareInbox)  // Otherwise both variables would share storage, which the next append would copy.
        monitor.withLock {
            swap(&batch, &inbox)
            isScheduled = false
        }
        for index in batch.indices {
            // The cached time becomes stale while a long batch is processed.
            if index % ClientLoop.messagesAMoment == 0 { clock.release() }
            clock.hold()
            perform(exchange(&batch[index], with: .nothing))
        }
        clock.release()
        batch.removeAll(keepingCapacity: batch.count <= ClientLoop.largestSpare)
        spareInbox = batch
    }

    private func perform(_ message: consuming Message) {
        switch consume message {
        case .start(let task), .startNext(let task):
            let call = Call(task, on: self)
            take(call)
            if task.isCancelled { call.cancel() } else { call.begin() }
        case .begin(let operation): operation.started()
        case .cancel(let task): task.call?.cancel()
        case .resume(let task): task.call?.resume()
        case .bodyPart(let task, let part): task.call?.feed?.send(part)
        case .rewound(let task): task.call?.feed?.rewound()
        case .note(let level, let text): note(level, text)
        case .decided(let task, let decision): task.call?.decided(decision)
        case .run(let body): body()
        case .close: close()
        case .nothing: break
        }
    }

    private func close() {
        isClosing = true
        endCalls { !$0.isInner }
        let waiting = listeners
        listeners = [:]
        for notify in waiting.values { notify() }
        for operation in operations.all { operation.clientClosed() }
        guard mustFinish else { return shutDown() }
        after(ClientLoop.closeGracePeriod) { self.shutDown() }
    }

    /// Called when work of a component has ended. Shuts down a closing client, and ends a drain, that waited only for this
    /// work.
    func componentProgressed() {
        guard isClosing else { return checkDrained() }
        if !mustFinish { shutDown() }
    }

    private func shutDown() {
        guard !hasShutDown else { return }
        hasShutDown = true
        isClosing = true
        endCalls { _ in true }
        transport.shutDown()
        workers.shutDown()
        transferWorkers.shutDown()
        checkers.shutDown()
        for component in components { component.shutDown() }
        for decision in openDecisions { decision.withdraw() }
        openDecisions = []
        for timer in timers.values { timer.cancel() }
        timers = [:]
        gate.close()
        monitor.withLock {
            isShutDown = true
            monitor.broadcast()
        }
        if endsItself { endThread() }
    }

    private func endCalls(_ isMeant: (Call) -> Bool) {
        // The end of one call may end others, but does not start a call.
        for call in calls.filter(isMeant) {
            call.finish(
                .failure(
                    NightjarError(
                        .cancelled, "the client was closed during the call",
                        requestMayHaveBeenProcessed: call.isOnConnection)))
        }
        runLoopEvents()
        sendOutbox()
    }

    // MARK: Calls

    /// Registers a call until ``forget(_:)``. The caller must then start it with `begin()` or end it.
    func take(_ call: Call) {
        call.task.call = call
        call.place = calls.count
        calls.append(call)
        call.reportStart()
        if !openDecisions.isEmpty { postOpenDecisions(to: call.task.decisionQueue) }
    }

    /// Sends a token request as an internal call. The response may have any status.
    ///
    /// - Parameter limit: The total timeout.
    func send(
        _ request: PreparedRequest, within limit: Duration,
        completion: @escaping (Result<Response, NightjarError>) -> Void
    ) {
        var timeouts = innerTimeouts
        timeouts.total = limit
        let options = CallOptions(
            CallSettings(
                timeouts: timeouts, maximumBody: ClientLoop.largestInnerBody, decompresses: true, usesCookies: false))
        let task = ClientTask(request, options, handlers: TaskHandlers { _, _ in }, queue: nil, client: self)
        let call = Call(task, on: self, chain: innerChain, completion: completion)
        take(call)
        call.begin()
    }

    func forget(_ call: Call) {
        guard call.place < calls.count, calls[call.place] === call, let last = calls.popLast() else { return }
        if last !== call {
            calls[call.place] = last
            last.place = call.place
        }
        checkDrained()
    }

    /// Calls `body` at most once, when the client is closed, unless ``removeCloseListener(_:)`` is called first.
    func addCloseListener(_ object: AnyObject, _ body: @escaping () -> Void) {
        listeners[ObjectIdentifier(object)] = body
    }

    func removeCloseListener(_ object: AnyObject) { listeners[ObjectIdentifier(object)] = nil }

    // MARK: Events

    /// Posts an event, at the latest when the loop has finished its current work, so that one wake-up delivers many
    /// events. Runs no callback.
    ///
    /// - Parameter queue: The queue of the event. Nil: the event's callback runs on the loop.
    func post(_ event: consuming QueueEvent, to queue: CompletionQueue?) {
        if !isFlushScheduled {
            isFlushScheduled = true
            thread.loop.execute { self.flushEvents() }
        }
        guard let queue else { return loopEvents.append(event) }
        if queue !== outboxQueue { sendOutbox() }
        outboxQueue = queue
        outbox.append(event)
    }

    private func flushEvents() {
        runLoopEvents()
        sendOutbox()
        isFlushScheduled = false
        // A callback may have posted an event to the loop.
        if !loopEvents.isEmpty {
            isFlushScheduled = true
            thread.loop.execute { self.flushEvents() }
        }
        // A delay would also delay the other clients of a shared loop.
        if !thread.isShared, let delay = eventCoalescer.delay() { LoopThread.sleep(delay) }
    }

    private func runLoopEvents() {
        guard !loopEvents.isEmpty else { return }
        var events: [QueueEvent] = []
        swap(&events, &loopEvents)  // The callbacks may post more events.
        for index in events.indices { exchange(&events[index], with: .wake).run(in: nil) }
    }

    private func sendOutbox() {
        if !outbox.isEmpty { outboxQueue?.post(&outbox) }
    }

    /// Disks rarely gain from more threads. With two, a hanging disk operation does not block all others.
    private static let workerCount = 2
    /// Large responses are rare, so more threads would gain little.
    private static let checkerCount = 2
    /// The maximum response body of a token request in bytes. Token responses are a few kilobytes long.
    private static let largestInnerBody = 1 << 20
    /// How long closing a client waits for token refreshes, logins and logouts in progress. Later results are lost.
    private static let closeGracePeriod = Duration.seconds(15)
    /// The number of messages handled with one cached time: a few hundred microseconds of work.
    private static let messagesAMoment = 64
    /// The maximum number of array elements kept for reuse.
    private static let largestSpare = 4096
}
