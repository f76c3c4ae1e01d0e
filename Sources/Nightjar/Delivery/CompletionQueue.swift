import CLinux
import Glibc
import NightjarHTTP

/// Where the events of tasks wait until the thread that owns them asks.
///
/// Any number of tasks, of any number of clients, deliver to one queue. Nothing of the caller runs on our threads:
/// ``poll(timeout:)`` runs it on the thread that calls it. Every method may be called from any thread.
///
/// Wake-ups are coalesced: a poller or the descriptor is signalled when the queue turns from empty to not empty, and
/// one signal serves all events that pile up before it is answered.
public final class CompletionQueue: @unchecked Sendable {
    typealias Event = @Sendable () -> Void

    private let monitor = Monitor()
    // Under the monitor's lock:
    private var events: [Event] = []
    private var spare: [Event] = []
    private var blockedPollers = 0
    private var runningPollers: [pthread_t] = []
    private var eventDescriptor: Int32 = -1
    private var descriptorIsReadable = false
    private var tasks: [ClientTask] = []
    private var isClosed = false

    public init() {}

    deinit {
        if eventDescriptor >= 0 { Glibc.close(eventDescriptor) }
    }

    /// Adds an event and wakes whoever waits.
    func post(_ event: @escaping Event) {
        monitor.withLock {
            events.append(event)
            if events.count == 1 { announce() }
        }
    }

    private func announce() {
        if blockedPollers > 0 { monitor.signal() }
        if eventDescriptor >= 0, !descriptorIsReadable {
            eventfd_write(eventDescriptor, 1)
            descriptorIsReadable = true
        }
    }

    /// Runs due events on this thread, waiting for the first.
    ///
    /// - Parameter timeout: how long to wait; zero: not at all; nil: without bound.
    /// - Returns: the number of events run; 0 also from inside an event of this queue.
    @discardableResult
    public func poll(timeout: Duration?) -> Int {
        let me = pthread_self()
        monitor.lock()
        if runningPollers.contains(where: { pthread_equal($0, me) != 0 }) {
            monitor.unlock()
            return 0
        }
        if events.isEmpty, timeout != .zero {
            let deadline = timeout.map { timespec.monotonic(after: $0) }
            blockedPollers += 1
            while events.isEmpty, !isClosed {
                monitor.wait(until: deadline)
                if let deadline, events.isEmpty, deadline.hasPassed { break }
            }
            blockedPollers -= 1
        }
        var batch = spare
        swap(&batch, &events)
        spare = []
        if descriptorIsReadable {
            var count: eventfd_t = 0
            eventfd_read(eventDescriptor, &count)
            descriptorIsReadable = false
        }
        guard !batch.isEmpty else {
            spare = batch
            monitor.unlock()
            return 0
        }
        runningPollers.append(me)
        monitor.unlock()

        let count = batch.count
        for event in batch { event() }
        batch.removeAll(keepingCapacity: count <= CompletionQueue.largestSpare)

        monitor.withLock {
            runningPollers.removeAll { pthread_equal($0, me) != 0 }
            if spare.capacity < batch.capacity { spare = batch }
        }
        return count
    }

    /// Makes a `poll` that waits, now or next, return.
    public func wake() {
        post {}
    }

    /// Readable while an event is due; -1 when the system has no descriptor left. Owned by the queue: watch it, but
    /// neither read nor close it.
    public var descriptor: Int32 {
        monitor.withLock {
            if eventDescriptor < 0 {
                eventDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
                if !events.isEmpty { announce() }
            }
            return eventDescriptor
        }
    }

    /// Array storage kept between polls, in events.
    private static let largestSpare = 4096
}

extension timespec {
    /// Whether the monotonic clock is there or beyond.
    var hasPassed: Bool {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return (now.tv_sec, now.tv_nsec) >= (tv_sec, tv_nsec)
    }
}
