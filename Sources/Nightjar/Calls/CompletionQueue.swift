import CLinux
import Glibc
import NIOCore
import NightjarHTTP
import NightjarTransport

/// Where the events of tasks wait until the thread that owns them asks.
///
/// Any number of tasks, of any number of clients, deliver to one queue. Nothing of the caller runs on our threads:
/// ``poll(timeout:)`` runs it on the thread that calls it, one event at a time. Every method may be called from any
/// thread.
///
/// Wake-ups are coalesced: a poller or the descriptor is signalled when the queue turns from empty to not empty, and
/// one signal serves all events that pile up before it is answered.
public final class CompletionQueue: @unchecked Sendable {
    private let monitor = Monitor()
    private let birth = Fork.generation

    /// Whether the queue belongs to the parent of this forked process.
    package var isOfParent: Bool { Fork.hasHappened(since: birth) }

    // Under the monitor's lock:
    private var events: [QueueEvent] = []
    /// The events that a poll has taken over and did not run; they come before ``events``.
    private var remaining: [QueueEvent] = []
    /// The index of the first event in ``remaining`` that has not been run.
    private var firstRemaining = 0
    private var spare: [QueueEvent] = []
    private var blockedPollers = 0
    private var runningPoller: pthread_t?
    private var eventDescriptor: Int32 = -1
    private var descriptorIsReadable = false
    private var tasks: [ClientTask] = []
    /// Batches and waits for pages.
    private var otherWork: [ObjectIdentifier: any Cancellable] = [:]
    private var isClosed = false

    public init() {}

    deinit {
        if eventDescriptor >= 0 { Glibc.close(eventDescriptor) }
    }

    // MARK: From the loops

    /// Takes the events over and wakes whoever waits. Leaves `new` empty, with storage for the next.
    ///
    /// - Returns: false where they were dropped: the queue is closed, and nothing delivers to it any more.
    @discardableResult
    func post(_ new: inout [QueueEvent]) -> Bool {
        guard !Fork.hasHappened(since: birth) else {
            new.removeAll()
            return false
        }
        monitor.lock()
        if isClosed, isIdle {
            // Log lines of clients that live on: nobody will ask for them.
            monitor.unlock()
            new.removeAll()
            return false
        }
        let wasEmpty = events.isEmpty
        if wasEmpty { swap(&events, &new) } else { events.append(contentsOf: new) }
        let wakesPoller = wasEmpty && blockedPollers > 0
        if wasEmpty { markReadable() }
        monitor.unlock()
        // Behind the lock: who is woken would otherwise run straight into it.
        if wakesPoller { monitor.signal() }
        new.removeAll(keepingCapacity: new.count <= CompletionQueue.largestSpare)
        return true
    }

    /// Under the lock, so that the descriptor is readable exactly while events are due.
    private func markReadable() {
        guard eventDescriptor >= 0, !descriptorIsReadable else { return }
        eventfd_write(eventDescriptor, 1)
        descriptorIsReadable = true
    }

    // MARK: Tasks that deliver here

    /// - Returns: false when the queue is closed.
    func register(_ task: ClientTask) -> Bool {
        monitor.withLock {
            if isClosed { return false }
            task.placeInQueue = tasks.count
            tasks.append(task)
            return true
        }
    }

    func forget(_ task: ClientTask) {
        monitor.withLock {
            let place = task.placeInQueue
            guard place < tasks.count, tasks[place] === task, let last = tasks.popLast() else { return }
            if last !== task {
                tasks[place] = last
                last.placeInQueue = place
            }
            wakeCloser()
        }
    }

    /// - Returns: false when the queue is closed.
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

    /// Whether events are due. Under the lock.
    private var hasEvents: Bool { !events.isEmpty || firstRemaining < remaining.count }

    /// Nobody delivers here. Under the lock.
    private var isIdle: Bool { tasks.isEmpty && otherWork.isEmpty }

    /// A thread that closes the queue waits for an event or for the last delivery, and the last may have been forgotten without
    /// an event: it could not begin. Under the lock.
    private func wakeCloser() {
        if isClosed, blockedPollers > 0, isIdle { monitor.broadcast() }
    }

    // MARK: From the owner

    /// Runs due events on this thread, in the order in which they were delivered. Waits for the first event if none is due.
    ///
    /// Starts no event after 1,024 events or 10 ms. The other events stay due: the descriptor stays readable, and the next
    /// `poll` returns without waiting.
    ///
    /// - Parameter timeout: how long to wait for the first event; zero: not at all; nil: without bound.
    /// - Returns: the number of events run; 0 also from inside an event of this queue, and in a forked child.
    @discardableResult
    public func poll(timeout: Duration?) -> Int {
        let (count, mustDrain) = runEvents(timeout: timeout)
        if mustDrain { drain() }
        return count
    }

    /// - Returns: the number of events run, and whether the queue was closed meanwhile with others left.
    private func runEvents(timeout: Duration?) -> (count: Int, mustDrain: Bool) {
        guard !Fork.hasHappened(since: birth) else { return (0, false) }
        let me = pthread_self()
        monitor.lock()
        if let runningPoller, pthread_equal(runningPoller, me) != 0 {
            monitor.unlock()
            return (0, false)
        }
        if !hasEvents || runningPoller != nil, timeout != .zero, !isClosed {
            let deadline = timeout.map { Monitor.deadline(after: $0) }
            blockedPollers += 1
            while !hasEvents || runningPoller != nil, !isClosed {
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
            var count: eventfd_t = 0
            eventfd_read(eventDescriptor, &count)
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
            markReadable()
        }
        if blockedPollers > 0 { monitor.broadcast() }
        let mustDrain = isClosed && !(isIdle && !hasEvents)
        monitor.unlock()
        return (end - first, mustDrain)
    }

    /// Runs events until there are no more or the limits of one poll are reached.
    ///
    /// - Returns: the index of the first event that was not run.
    private func run(_ batch: inout [QueueEvent], from first: Int) -> Int {
        var index = first
        let end = min(batch.count, first + CompletionQueue.mostEvents)
        let latest = end - first > 1 ? CompletionQueue.coarseTime() + CompletionQueue.longestRun : .max
        while index < end {
            // Taken out rather than copied, so that what the event holds is released now and not with the batch.
            exchange(&batch[index], with: .wake).run(in: self)
            index += 1
            if index < end, CompletionQueue.coarseTime() >= latest { break }
        }
        return index
    }

    /// Nanoseconds of a clock that the system advances every few milliseconds, and that costs a few nanoseconds to read.
    private static func coarseTime() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }

    /// The events that one poll runs at most. Tests of loaded servers deliver some hundred at once.
    private static let mostEvents = 1024
    /// The nanoseconds after which a poll starts no further event.
    private static let longestRun: Int64 = 10_000_000

    /// Makes a `poll` that waits, now or next, return.
    public func wake() {
        var events = [QueueEvent.wake]
        post(&events)
    }

    /// Has the next `poll` run `body`, in the order in which it came. Any thread; dropped where the queue is closed.
    public func run(_ body: @escaping @Sendable () -> Void) {
        var events = [QueueEvent.run(body)]
        post(&events)
    }

    /// Cancels the tasks, the batches and the waits for pages that deliver here and runs what is left of their events, each
    /// `finished` included, on this thread. From inside an event of this queue that happens as soon as its `poll` ends. No
    /// task can be started here afterwards.
    public func close() {
        guard !Fork.hasHappened(since: birth) else { return }
        let isPolling = monitor.withLock {
            isClosed = true
            monitor.broadcast()
            return runningPoller.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        }
        if !isPolling { drain() }
    }

    private func drain() {
        for task in monitor.withLock({ tasks }) { task.cancel() }
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

    /// Readable while an event is due; -1 when the system has no descriptor left. Owned by the queue: watch it, but
    /// neither read nor close it.
    public var descriptor: Int32 {
        guard !Fork.hasHappened(since: birth) else { return -1 }
        return monitor.withLock {
            if eventDescriptor < 0 {
                eventDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
                if hasEvents { markReadable() }
            }
            return eventDescriptor
        }
    }

    /// Array storage kept between polls, in events.
    private static let largestSpare = 4096
}

/// Something that happened, to be told on the polling thread.
enum QueueEvent: Sendable {
    // What is large and rare lies apart, for events are moved about.
    indirect case head(ClientTask, ResponseHead)
    case body(ClientTask, ByteBuffer)
    case progress(ClientTask, TransferProgress)
    case provideBody(ClientTask, maximum: Int)
    case rewindBody(ClientTask)
    case finished(ClientTask, Result<Response, NightjarError>)
    case decision(ClientTask, DecisionRequest)
    case run(@Sendable () -> Void)
    case wake

    /// - Parameter queue: the queue that the task was registered with; nil on the loop itself.
    consuming func run(in queue: CompletionQueue?) {
        switch consume self {
        case .head(let task, let head): task.deliver(head: head)
        case .body(let task, let bytes): task.deliver(body: bytes)
        case .progress(let task, let progress): task.deliver(progress: progress)
        case .provideBody(let task, let maximum): task.deliverBodyRequest(maximum)
        case .finished(let task, let result):
            queue?.forget(task)
            task.deliver(result)
        case .rewindBody(let task): task.deliverRewind()
        case .decision(let task, let request): task.deliver(request)
        case .run(let body): body()
        case .wake: break
        }
    }
}
