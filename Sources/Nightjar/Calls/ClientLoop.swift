import Glibc
import NIOCore
import NightjarHTTP
import NightjarTransport
import Synchronization

/// State that lives on a client's loop, whose work may have to end before the loop does.
protocol LoopResident: AnyObject {
    /// Called when the client is closed: stops the work that would not be lost. Returns whether other work is in progress.
    func mustNotBeCut() -> Bool
    /// Called once, when the loop ends.
    func shutDown()
}

/// The client's side of the thread boundary: callers submit messages, the loop carries them out and sends events back.
///
/// What is not `submit` or `stop` lives on the loop and is touched by nothing else.
final class ClientLoop: @unchecked Sendable {
    enum Message {
        case start(ClientTask)
        case cancel(ClientTask)
        case resume(ClientTask)
        // What is large lies apart, for messages are moved about.
        indirect case bodyPart(ClientTask, BodyPart)
        case rewound(ClientTask)
        /// A line for the log.
        indirect case note(LogLevel, String)
        /// The caller's decision that a ``DecisionRequest`` has asked for.
        indirect case decided(ClientTask, any Sendable)
        /// Something to do on the loop.
        case run(@Sendable () -> Void)
        case close
        /// Has been read.
        case nothing
    }

    private let thread: LoopThread
    private let birth = Fork.generation
    /// Whether the loop belongs to the parent of this forked process.
    var isOfParent: Bool { Fork.hasHappened(since: birth) }
    private let monitor = Monitor()
    /// Threads that are about to wake the loop, which must not stop before they have.
    private let wakers = Atomic<Int>(0)
    // Under the monitor's lock:
    private var mail: [Message] = []
    private var spent = SpentResponses()
    private var isScheduled = false
    private var isClosed = false
    private var isShutDown = false

    // On the loop:
    let chain: Chain
    /// For calls of the client's own, which wait for no token and follow nothing.
    private let innerChain: Chain
    private let innerTimeouts: Timeouts
    /// Set before the first call.
    var residents: [any LoopResident] = []
    private(set) var isClosing = false
    private var hasShutDown = false
    /// Nobody waits for the thread's end.
    private var endsItself = false
    let transport: any HTTPTransport
    let log: LogSink?
    /// For what blocks.
    let workers: WorkerThreads
    /// For what takes a processor long. Files do not wait for it.
    let checkers: WorkerThreads
    private var spareMail: [Message] = []
    private var spentBefore: [Response] = []
    var spareBodies = SpareBodies()
    private var calls: [Call] = []
    /// Told when the client is closed: what waits and is no call.
    private var listeners: [ObjectIdentifier: () -> Void] = [:]
    private var outbox: [QueueEvent] = []
    /// Whom ``outbox`` is for.
    private var addressee: CompletionQueue?
    var moderation = Moderation()
    private var alarm = Alarm()
    /// The client's timers, by number. They are cancelled when the client is closed, because the loop outlives it.
    private var timers: [Int: Scheduled<Void>] = [:]
    private var lastTimer = 0

    /// - Parameter innerTimeouts: those of the client's own calls.
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
        checkers = WorkerThreads(ClientLoop.checkerCount, for: thread.loop)
    }

    var isOnLoop: Bool { thread.loop.inEventLoop }
    var eventLoop: any EventLoop { thread.loop }
    /// For threads whose work may end after the client.
    let gate: LoopGate
    /// On the loop.
    let clock: LoopClock

    // MARK: From any thread

    /// - Returns: false when the client is closed, or the parent process's.
    @discardableResult
    func submit(_ message: consuming Message) -> Bool {
        guard !Fork.hasHappened(since: birth) else { return false }
        monitor.lock()
        if isClosed {
            monitor.unlock()
            return false
        }
        if case .close = message { isClosed = true }
        mail.append(message)
        let wakes = !isScheduled
        isScheduled = true
        if wakes { wakers.add(1, ordering: .relaxed) }
        monitor.unlock()
        // Behind the lock: the loop would otherwise run straight into it.
        if wakes {
            thread.loop.execute { self.readMail() }
            wakers.subtract(1, ordering: .releasing)
        }
        return true
    }

    /// An answer that nobody holds any more ends on the loop, with its next mail.
    func giveBack(_ response: Response) { monitor.withLock { spent.take(response) } }

    /// Whether a resident does work that would be lost.
    private var mustNotBeCut: Bool {
        var mustNot = false
        for resident in residents where resident.mustNotBeCut() { mustNot = true }
        return mustNot
    }

    /// Ends every call and the thread. Later messages are refused. A new token that is on its way is waited for: the old
    /// one may be spent.
    ///
    /// On the loop it returns at once: it may be called in the midst of a call, and a new token needs this thread.
    func stop() {
        if isOnLoop { endsItself = true }
        submit(.close)
        guard !isOnLoop else { return }
        monitor.withLock { while !isShutDown { monitor.wait(until: nil) } }
        endThread()
    }

    private func endThread() {
        // Whoever was to wake the loop for the mail before may not have come to it yet.
        while wakers.load(ordering: .acquiring) > 0 { sched_yield() }
        thread.stop()
    }

    // MARK: Mail, on the loop

    private func readMail() {
        var batch: [Message] = []
        swap(&batch, &spareMail)  // or the two would share storage, and the next to write copy it
        monitor.withLock {
            swap(&batch, &mail)
            isScheduled = false
            spent.handOut(&spentBefore)
        }
        for response in spentBefore { spareBodies.keep(response.body) }
        spentBefore.removeAll(keepingCapacity: true)
        for index in batch.indices {
            // Of many, those at the end are later.
            if index % ClientLoop.messagesAMoment == 0 { clock.release() }
            clock.hold()
            carryOut(exchange(&batch[index], with: .nothing))
        }
        clock.release()
        batch.removeAll(keepingCapacity: batch.count <= ClientLoop.largestSpare)
        spareMail = batch
    }

    private func carryOut(_ message: consuming Message) {
        switch consume message {
        case .start(let task):
            let call = Call(task, on: self)
            take(call)
            if task.isCancelled { call.cancel() } else { call.begin() }
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
        for tell in waiting.values { tell() }
        guard mustNotBeCut else { return shutDown() }
        after(ClientLoop.farewell) { self.shutDown() }
    }

    /// Work of a resident has ended.
    func residentProgressed() {
        if isClosing, !mustNotBeCut { shutDown() }
    }

    private func shutDown() {
        guard !hasShutDown else { return }
        hasShutDown = true
        isClosing = true
        endCalls { _ in true }
        transport.shutDown()
        workers.shutDown()
        checkers.shutDown()
        for resident in residents { resident.shutDown() }
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
        // The end of one may be that of others, and none begins.
        for call in calls.filter(isMeant) {
            call.finish(
                .failure(
                    NightjarError(
                        .cancelled, "the client was closed during the call",
                        requestMayHaveBeenProcessed: call.isOnConnection)))
        }
        sendEvents()
    }

    // MARK: Calls

    /// Keeps a call until ``forget(_:)``. It is still to begin.
    func take(_ call: Call) {
        call.task.call = call
        call.place = calls.count
        calls.append(call)
    }

    /// Makes a call of the client's own, whose answer may have any status.
    ///
    /// - Parameter limit: for all of it.
    func send(
        _ request: PreparedRequest, within limit: Duration,
        conclude: @escaping (Result<Response, NightjarError>) -> Void
    ) {
        var timeouts = innerTimeouts
        timeouts.total = limit
        let options = CallOptions(
            timeouts: timeouts, maximumBody: ClientLoop.largestInnerBody, expectedStatuses: [], decompresses: true,
            usesCookies: false)
        let task = ClientTask(request, options, handlers: TaskHandlers { _, _ in }, queue: nil, client: self)
        let call = Call(task, on: self, chain: innerChain, conclude: conclude)
        take(call)
        call.begin()
    }

    func forget(_ call: Call) {
        guard call.place < calls.count, calls[call.place] === call, let last = calls.popLast() else { return }
        if last !== call {
            calls[call.place] = last
            last.place = call.place
        }
    }

    /// Has `body` run when the client is closed, until ``stopTelling(_:)``. Once at most.
    func tellOfClose(_ object: AnyObject, _ body: @escaping () -> Void) { listeners[ObjectIdentifier(object)] = body }

    func stopTelling(_ object: AnyObject) { listeners[ObjectIdentifier(object)] = nil }

    // MARK: Events

    /// Sends an event when the loop has done what is at hand, so that one wake-up serves many completions.
    ///
    /// - Parameter queue: nil: the handlers run here, on the loop.
    func post(_ event: consuming QueueEvent, to queue: CompletionQueue?) {
        if outbox.isEmpty { thread.loop.execute { self.sendGathered() } }
        // Handlers that run here may post events to a queue in turn.
        while !outbox.isEmpty, queue !== addressee { sendEvents() }
        addressee = queue
        outbox.append(event)
    }

    private func sendGathered() {
        sendEvents()
        if let rest = moderation.rest() { LoopThread.rest(rest) }
    }

    private func sendEvents() {
        guard !outbox.isEmpty else { return }
        if let addressee {
            addressee.post(&outbox)
            return
        }
        var events: [QueueEvent] = []
        swap(&events, &outbox)  // the handlers may post more
        for index in events.indices { exchange(&events[index], with: .wake).run(in: nil) }
    }

    /// A line of the log.
    func note(_ level: LogLevel, _ message: String) {
        guard let log, log.level >= level else { return }
        let line = LogLine(level: level, message: message)
        if log.admits(line) { post(.run { log.deliver(line) }, to: log.queue) }
    }

    /// Writes to the log what only the end of the client has shown, on the thread that closes it.
    func noteAtEnd(_ level: LogLevel, _ message: String) {
        guard let log, log.level >= level else { return }
        let line = LogLine(level: level, message: message)
        guard log.admits(line) else { return }
        guard let queue = log.queue else { return log.deliver(line) }
        var events: [QueueEvent] = [.run { log.deliver(line) }]
        queue.post(&events)
    }

    // MARK: Time

    func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
        schedule(at: .now() + .nanoseconds(delay.nanosecondsClamped), body)
    }

    /// Runs `body` on the loop at `moment`, unless the client is closed before.
    private func schedule(at moment: NIODeadline, _ body: @escaping @Sendable () -> Void) {
        guard !hasShutDown else { return }
        lastTimer += 1
        let timer = lastTimer
        timers[timer] = thread.loop.scheduleTask(deadline: moment) {
            self.timers[timer] = nil
            body()
        }
    }

    /// Makes sure that limits of time are looked at no later than at `moment`.
    ///
    /// One timer serves all calls: it costs a call a comparison, and goes off about as rarely as the limits are long.
    func watch(until moment: NIODeadline) {
        guard alarm.arm(at: moment.uptimeNanoseconds) else { return }
        schedule(at: moment) { self.checkLimits(due: moment) }
    }

    private func checkLimits(due: NIODeadline) {
        guard alarm.rang(at: due.uptimeNanoseconds) else { return }
        let now = clock.now
        var earliest = NIODeadline.distantFuture
        var index = calls.count
        while index > 0 {
            index -= 1
            guard index < calls.count else { continue }
            if let limit = calls[index].checkLimits(now) { earliest = min(earliest, limit) }
        }
        if earliest < .distantFuture { watch(until: max(earliest, now + ClientLoop.finestWatch)) }
    }

    /// Limits of many calls that run out close together are checked together.
    private static let finestWatch = TimeAmount.milliseconds(2)
    /// Disks seldom gain by more, and one that hangs should not hold up all files.
    private static let workerCount = 2
    /// A client has one thread for all else, so more would gain little: few answers are large.
    private static let checkerCount = 2
    /// Token endpoints answer in a few kilobytes.
    private static let largestInnerBody = 1 << 20
    /// How long a client that is closed waits for a new token. A server that has not answered by then has lost it.
    private static let farewell = Duration.seconds(15)
    /// Some hundred microseconds' worth.
    private static let messagesAMoment = 64
    /// Array storage kept for reuse, in elements.
    private static let largestSpare = 4096
}
