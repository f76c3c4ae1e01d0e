import NightjarHTTP
import NightjarSystem

/// Observes the network for all clients of the process. Thread-safe.
///
/// There is one monitor for the process, because the network is a property of the process and not of a client, and
/// because the status can be read without a client. The monitor has its own thread: SwiftNIO cannot report the lost
/// notifications of a netlink socket, and libdbus blocks. The thread and its descriptors exist only while the monitor
/// has observers, and for a few seconds after the status was read.
package final class NetworkMonitor: @unchecked Sendable {
    /// Called on the monitor's thread, or inside ``observe(_:)`` or ``setConstrained(_:)``. Must not block and must not
    /// call the monitor.
    package typealias Handler = @Sendable (NetworkChange) -> Void

    package static let shared = NetworkMonitor()

    private let monitor = Monitor()
    // Under the monitor's lock:
    private var observers: [Int: Handler] = [:]
    private var lastObserver = 0
    private var thread: MonitorThread?
    /// The status that the thread has reported. Nil while no thread runs or the thread has not read the status yet.
    private var current: NetworkStatus?
    private var isConstrained = false
    private var lastUse: UInt64 = 0

    private init() {}

    /// Locks the monitor during a fork. The child has neither the thread nor the clients of the observers.
    private static let watchForks: Void = {
        _ = pthread_atfork(
            { shared.monitor.lock() }, { shared.monitor.unlock() },
            {
                shared.thread?.closeInChild()
                shared.thread = nil
                shared.current = nil
                shared.observers = [:]
                shared.monitor.unlock()
            })
    }()

    /// Calls `handler` with the status as soon as it is known, and then for each change, until ``remove(_:)`` is called
    /// with the returned number. If the network cannot be observed, the handler is called with an online status.
    package func observe(_ handler: @escaping Handler) -> Int {
        _ = NetworkMonitor.watchForks
        return monitor.withLock {
            lastObserver += 1
            observers[lastObserver] = handler
            if let current {
                handler(NetworkChange(current, pathChanged: false))
            } else if !startThread() {
                handler(NetworkChange(NetworkStatus(isConstrained: isConstrained), pathChanged: false))
            }
            return lastObserver
        }
    }

    /// Removes an observer. Its handler is not called after this call.
    package func remove(_ observer: Int) {
        monitor.withLock {
            observers[observer] = nil
            if observers.isEmpty { thread?.wake() }
        }
    }

    /// Returns the status. Waits up to half a second for a status that is not known yet. NetworkManager
    /// or the desktop portal may need this time to respond.
    package func status() -> NetworkStatus {
        _ = NetworkMonitor.watchForks
        let deadline = Monitor.deadline(after: NetworkMonitor.longestWait)
        let known = monitor.withLock { () -> NetworkStatus? in
            lastUse = MonitorThread.now
            guard current == nil, startThread() else { return current }
            while current == nil, thread != nil, !Monitor.hasPassed(deadline) { monitor.wait(until: deadline) }
            return current
        }
        if let known { return known }
        let tables = NetlinkSocket.readTables()
        return NetworkStatus(
            isOnline: tables?.isOnline ?? true, isConstrained: monitor.withLock { isConstrained },
            interface: tables?.interface)
    }

    /// Sets ``NetworkStatus/isConstrained``.
    package func setConstrained(_ flag: Bool) {
        monitor.withLock {
            guard isConstrained != flag else { return }
            isConstrained = flag
            guard var status = current else { return }
            status.isConstrained = flag
            current = status
            for handler in observers.values { handler(NetworkChange(status, pathChanged: false)) }
        }
    }

    /// Returns false if no thread or descriptor is left. Called under the lock.
    private func startThread() -> Bool {
        guard thread == nil else { return true }
        thread = MonitorThread.start(for: self)
        return thread != nil
    }

    // MARK: Called by the thread

    enum Instruction { case watch, linger, end }

    func instruction(for thread: MonitorThread) -> Instruction {
        monitor.withLock {
            guard self.thread === thread else { return .end }
            if !observers.isEmpty { return .watch }
            if MonitorThread.now &- lastUse < NetworkMonitor.lingering { return .linger }
            (self.thread, current) = (nil, nil)
            return .end
        }
    }

    func report(_ change: NetworkChange, from thread: MonitorThread) {
        monitor.withLock {
            guard self.thread === thread else { return }
            var change = change
            change.status.isConstrained = isConstrained
            current = change.status
            monitor.broadcast()
            for handler in observers.values { handler(change) }
        }
    }

    private static let longestWait = Duration.milliseconds(500)
    /// The time in nanoseconds for which the thread stays after the status was read: programs often read it again.
    static let lingering: UInt64 = 5_000_000_000
}

extension Monitor {
    /// Returns whether a time on the monotonic clock has passed.
    fileprivate static func hasPassed(_ deadline: timespec) -> Bool {
        let now = Monitor.deadline(after: .zero)
        return (now.tv_sec, now.tv_nsec) >= (deadline.tv_sec, deadline.tv_nsec)
    }
}
