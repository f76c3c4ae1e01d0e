import CPlatform
import NIOCore
import NightjarHTTP
import NightjarSystem
import NightjarTransport

/// Holds the events of tasks until a thread polls them.
///
/// Tasks of any number of clients can deliver to one queue. The events of a queue never run on the library's threads:
/// ``poll(timeout:)`` and ``close()`` run them on the calling thread, one at a time. Any thread may call any method.
///
/// A queue that has events or tasks stays in memory, also when the program has no reference to it. Call ``close()`` when
/// the queue is not needed any more.
///
/// Wake-ups are coalesced: a poller or the descriptor is signalled when the queue becomes non-empty. One signal serves
/// all events that are posted before the next poll.
public final class CompletionQueue: @unchecked Sendable {
    private let monitor = Monitor()
    private let forkGeneration = Fork.generation

    /// Whether the queue belongs to the parent of this forked process.
    package var isOfParent: Bool { Fork.hasForked(since: forkGeneration) }

    // Under the monitor's lock:
    private var events: [QueueEvent] = []
    /// The events that a poll has taken over but not run. They precede ``events``.
    private var remaining: [QueueEvent] = []
    /// The index of the first event in ``remaining`` that has not been run.
    private var firstRemaining = 0
    private var spare: [QueueEvent] = []
    private var blockedPollers = 0
    private var runningPoller: pthread_t?
    private var eventDescriptor: Int32 = -1
    private var descriptorIsReadable = false
    private var tasks: [ClientTask] = []
    /// Batches, page requests of paginators, and client operations.
    private var otherWork: [ObjectIdentifier: any Cancellable] = [:]
    private var isClosed = false

    public init() {}

    deinit {
        if eventDescriptor >= 0 { cplatform_close_alarm(eventDescriptor, isOfParent) }
    }

    // MARK: Called by the loops

    /// Takes over the events and wakes a waiting thread. Leaves `new` empty, with storage for reuse.
    ///
    /// - Returns: False if the events were dropped, because the queue is closed and idle or this is a forked child.
    @discardableResult
    func post(_ new: inout [QueueEvent]) -> Bool {
        guard !Fork.hasForked(since: forkGeneration) else {
            new.removeAll()
            return false
        }
        monitor.lock()
        if isClosed, isIdle {
            // Nothing polls the closed queue. Open clients may still post log lines and observer events.
            monitor.unlock()
            new.removeAll()
            return false
        }
        let wasEmpty = events.isEmpty
        if wasEmpty { swap(&events, &new) } else { events.append(contentsOf: new) }
        let wakesPoller = wasEmpty && blockedPollers > 0
        if wasEmpty { markReadable() }
        monitor.unlock()
        // After unlocking, because the woken thread takes the same lock at once.
        if wakesPoller { monitor.signal() }
        new.removeAll(keepingCapacity: new.count <= CompletionQueue.largestSpare)
        return true
    }

    /// Makes the descriptor readable. Called under the lock, so that the descriptor agrees with the list of events.
    private func markReadable() {
        guard eventDescriptor >= 0, !descriptorIsReadable else { return }
        cplatform_set_alarm(eventDescriptor)
        descriptorIsReadable = true
    }

    // MARK: Registration

    /// - Returns: False if the queue is closed.
    func register(_ task: ClientTask) -> Bool {
        monitor.withLock {
            if isClosed { return false }
            task.positionInQueue = tasks.count
            tasks.append(task)
            return true
        }
    }

    func forget(_ task: ClientTask) {
        monitor.withLock {
            let place = task.positionInQueue
            guard place < tasks.count, tasks[place] === task, let last = tasks.popLast() else { return }
            if last !== task {
                tasks[place] = last
                last.positionInQueue = place
            }
            wakeCloser()
        }
    }

    /// - Returns: False if the queue is closed.
    func register(_ work: any Cancellable) -> Bool {
        monitor.withLock {
            if isClosed { return false }
            otherWork[ObjectIdentifier(work)] = work
            return true
        }
    }

    func forget(_ work: any Cancellable) {
        monitor.withLock {
            otherWork[ObjectIdentifier(work)] = nil
            wakeCloser()
        }
    }

    /// Whether events are pending. Called under the lock.
    private var hasEvents: Bool { !events.isEmpty || firstRemaining < remaining.count }

    /// Whether nothing is registered. Called under the lock.
    private var isIdle: Bool { tasks.isEmpty && otherWork.isEmpty }

    /// Wakes the thread that is closing the queue, if nothing is registered any more. Needed because an operation that
    /// could not begin ends without an event. Called under the lock.
    private func wakeCloser() {
        if isClosed, blockedPollers > 0, isIdle { monitor.broadcast() }
    }

    // MARK: Called by the owner

    /// Runs pending events on this thread, in the order in which they were posted. If no event is pending and the queue
    /// is open, waits for the first event.
    ///
    /// Starts no event after 1,024 events or about 10 ms. The other events stay pending: the descriptor stays readable,
    /// and the next `poll` returns without waiting.
    ///
    /// - Parameter timeout: The maximum wait for the first event. Zero does not wait; nil waits without limit.
    /// - Returns: The number of events run, without those that an event's call of ``close()`` causes. Always 0 inside
    ///   an event of this queue and in a forked child.
    @discardableResult
    public func poll(timeout: Duration?) -> Int {
        let (count, mustDrain) = runEvents(timeout: timeout)
        if mustDrain { drain() }
        return count
    }

    /// Runs events on this thread until `isDone` returns true. Another thread may run events meanwhile.
    ///
    /// - Parameters:
    ///   - timeout: Nil: unlimited. Zero: the pending events are run.
    ///   - isDone: Called after events, also under a lock. Must become true when an event of this queue has run.
    /// - Returns: False after the timeout, and in a forked child.
    /// - Throws: `reentrant` inside an event of this queue.
    func poll(timeout: Duration?, until isDone: () -> Bool) throws(NightjarError) -> Bool {
        let deadline = timeout.map { ContinuousClock.now.advanced(by: $0) }
        while !isDone() {
            guard !Fork.hasForked(since: forkGeneration) else { return false }
            guard !isRunningHere else {
                throw NightjarError(
                    .reentrant, "a callback of a queue cannot wait for a task of the same queue; return from it first")
            }
            let left = deadline.map { max(ContinuousClock.now.duration(to: $0), .zero) }
            let mustDrain = runEvents(timeout: left, endsWithQueue: false, until: isDone).mustDrain
            if mustDrain { drain() }
            // The events of other tasks do not extend the wait.
            if left == .zero { return isDone() }
        }
        return true
    }

    /// Whether this thread runs an event of this queue.
    private var isRunningHere: Bool {
        monitor.withLock { runningPoller.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// - Parameters:
    ///   - endsWithQueue: Whether the wait for the first event ends when the queue is closed. Another thread may run
    ///     the last events of a closed queue.
    ///   - isDone: Whether the wait for the first event must end.
    /// - Returns: The number of events run, and whether the queue is closed and still has events or registered work.
    private func runEvents(
        timeout: Duration?, endsWithQueue: Bool = true, until isDone: () -> Bool = { false }
    ) -> (count: Int, mustDrain: Bool) {
        guard !Fork.hasForked(since: forkGeneration) else { return (0, false) }
        let me = pthread_self()
        monitor.lock()
        if let runningPoller, pthread_equal(runningPoller, me) != 0 {
            monitor.unlock()
            return (0, false)
        }
        if !hasEvents || runningPoller != nil, timeout != .zero, !(isClosed && endsWithQueue) {
            let deadline = timeout.map { Monitor.deadline(after: $0) }
            blockedPollers += 1
            while !hasEvents || runningPoller != nil, !(isClosed && endsWithQueue), !isDone() {
                monitor.wait(until: deadline)
                if let deadline, deadline.hasPassed { break }
            }
            blockedPollers -= 1
        }
        guard hasEvents, runningPoller == nil else {
            monitor.unlock()
            return (0, false)
        }
        var batch: [QueueEvent]
        let first = firstRemaining
        if first < remaining.count {
            batch = remaining
            remaining = []
        } else {
            batch = spare
            spare = []
            swap(&batch, &events)
        }
        firstRemaining = 0
        if descriptorIsReadable {
            cplatform_clear_alarm(eventDescriptor)
            descriptorIsReadable = false
        }
        runningPoller = me
        monitor.unlock()

        let end = run(&batch, from: first)
        let isComplete = end == batch.count
        if isComplete { batch.removeAll(keepingCapacity: end <= CompletionQueue.largestSpare) }

        monitor.lock()
        runningPoller = nil
        if isComplete {
            spare = batch
        } else {
            remaining = batch
            firstRemaining = end
        }
        // Events that arrived while earlier ones remained did not mark the descriptor.
        if hasEvents { markReadable() }
        if blockedPollers > 0 { monitor.broadcast() }
        let mustDrain = isClosed && !(isIdle && !hasEvents)
        monitor.unlock()
        return (end - first, mustDrain)
    }

    /// Runs events until the batch ends or a limit of the poll is reached.
    ///
    /// - Returns: The index of the first event that was not run.
    private func run(_ batch: inout [QueueEvent], from first: Int) -> Int {
        var index = first
        let end = min(batch.count, first + CompletionQueue.maximumEvents)
        let latest = end - first > 1 ? cplatform_coarse_time() + CompletionQueue.longestRun : .max
        while index < end {
            // The event is moved out, so that its objects are released now and not with the batch.
            exchange(&batch[index], with: .wake).run(in: self)
            index += 1
            if index < end, cplatform_coarse_time() >= latest { break }
        }
        return index
    }

    /// The maximum number of events that one poll runs. In load tests, one poll runs a few hundred.
    private static let maximumEvents = 1024
    /// The time in nanoseconds after which a poll starts no further event.
    private static let longestRun: Int64 = 10_000_000

    /// Waits until an event is pending, without running it.
    ///
    /// - Parameter timeout: The maximum wait; nil: no limit.
    package func waitForEvent(timeout: Duration?) {
        monitor.lock()
        let deadline = timeout.map { Monitor.deadline(after: $0) }
        blockedPollers += 1
        while !hasEvents, !isClosed {
            monitor.wait(until: deadline)
            if let deadline, deadline.hasPassed { break }
        }
        blockedPollers -= 1
        monitor.unlock()
    }

    /// Makes the current or next waiting `poll` return.
    public func wake() {
        var events = [QueueEvent.wake]
        post(&events)
    }

    /// Queues `body` for the next `poll`. Any thread. Dropped if the queue is closed and nothing is registered.
    public func run(_ body: @escaping @Sendable () -> Void) {
        var events = [QueueEvent.run(body)]
        post(&events)
    }

    /// Cancels all tasks and other work of this queue, and runs the remaining events, including each `finished`, on
    /// this thread. If an event of this queue calls this method, the running `poll` does this work before it returns.
    /// Afterwards, no task can be started on this queue.
    public func close() {
        guard !Fork.hasForked(since: forkGeneration) else { return }
        let isPolling = monitor.withLock {
            isClosed = true
            monitor.broadcast()
            return runningPoller.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        }
        if !isPolling { drain() }
    }

    private func drain() {
        for task in monitor.withLock({ tasks }) { task.cancelExchange() }
        for work in monitor.withLock({ Array(otherWork.values) }) { work.cancel() }
        while true {
            monitor.lock()
            while !hasEvents && !isIdle || runningPoller != nil {
                blockedPollers += 1
                monitor.wait(until: nil)
                blockedPollers -= 1
            }
            let isDone = !hasEvents && isIdle
            monitor.unlock()
            if isDone { return }
            _ = runEvents(timeout: .zero)
        }
    }

    /// A descriptor that is readable while an event is pending. -1 if the system has no descriptor left, and in a
    /// forked child. The queue owns the descriptor: watch it, but do not read or close it.
    public var descriptor: Int32 {
        guard !Fork.hasForked(since: forkGeneration) else { return -1 }
        return monitor.withLock {
            if eventDescriptor < 0 {
                eventDescriptor = cplatform_open_alarm()
                if hasEvents { markReadable() }
            }
            return eventDescriptor
        }
    }

    /// The maximum number of events whose array storage is kept between polls.
    private static let largestSpare = 4096
}

/// An event to run on the polling thread, or on the loop if there is no queue.
enum QueueEvent: Sendable {
    // Large and rare payloads are indirect, because events are copied often.
    case head(ClientTask, Response)
    case body(ClientTask, ByteBuffer)
    case progress(ClientTask, TaskHandlers.Progress)
    case provideBody(ClientTask, maximum: Int)
    case rewindBody(ClientTask)
    case finished(ClientTask, Result<Response, NightjarError>)
    case decision(ClientTask, DecisionRequest)
    case run(@Sendable () -> Void)
    case wake

    /// - Parameter queue: The queue that the task was registered with; nil on the loop itself.
    consuming func run(in queue: CompletionQueue?) {
        switch consume self {
        case .head(let task, let response):
            if !task.holds(.head(task, response)) { task.deliver(head: response) }
        case .body(let task, let bytes):
            if !task.holds(.body(task, bytes)) { task.deliver(body: bytes) }
        case .progress(let task, let progress):
            if !task.holds(.progress(task, progress)) { task.deliver(progress: progress) }
        case .provideBody(let task, let maximum):
            if !task.holds(.provideBody(task, maximum: maximum)) { task.deliverBodyRequest(maximum) }
        case .finished(let task, let result):
            if case .success = result, task.holds(.finished(task, result)) { return }
            task.endPause()
            queue?.forget(task)
            task.deliver(result)
        case .rewindBody(let task):
            if !task.holds(.rewindBody(task)) { task.deliverRewind() }
        case .decision(let task, let request):
            if !task.holds(.decision(task, request)) { task.deliver(request) }
        case .run(let body): body()
        case .wake: break
        }
    }
}
