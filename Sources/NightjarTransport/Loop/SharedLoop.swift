import NIOCore
import NightjarHTTP
import NightjarSystem

/// An event loop and worker threads that several clients use. It has three threads: the loop, one for name lookups, and
/// one for other blocking work. The last two start when they are needed.
final class SharedLoop: Sendable {
    let name: String
    let loop: any EventLoop
    let clock = LoopClock()
    let lookups = ThreadPool(1, name: "nightjar-lookup")
    let work = ThreadPool(1, name: "nightjar-work")

    fileprivate init(_ name: String) throws(NightjarError) {
        self.name = name
        loop = try ParkedLoops.takeOrStart()
    }
}

/// The shared loops of this process that have clients. Thread-safe.
enum SharedLoops {
    private struct Entry {
        let shared: SharedLoop
        var clients = 0
    }

    private static let monitor = Monitor()
    // Protected by the monitor's lock:
    nonisolated(unsafe) private static var entries: [String: Entry] = [:]
    /// The loops of the parent process. Their threads do not exist in this process, so they can neither run nor be freed.
    nonisolated(unsafe) private static var foreign: [Entry] = []

    /// Locks the monitor during a fork, so that in the child the lock is free and the table is consistent.
    private static let watchForks: Void = {
        // Handlers that run before a fork run in the reverse order of their registration. `join` locks this monitor first.
        ParkedLoops.watchForks
        _ = pthread_atfork(
            { monitor.lock() }, { monitor.unlock() },
            {
                foreign += entries.values
                entries = [:]
                monitor.unlock()
            })
    }()

    /// Returns the loop of a name for one more client. Starts it for the first client.
    ///
    /// - Throws: `connect` with the system's error number if no thread or descriptor is left.
    static func join(_ name: String) throws(NightjarError) -> SharedLoop {
        watchForks
        monitor.lock()
        defer { monitor.unlock() }
        let shared = if let entry = entries[name] { entry.shared } else { try SharedLoop(name) }
        entries[name, default: Entry(shared: shared)].clients += 1
        return shared
    }

    /// Records that a client has left a loop. Parks the loop after its last client. Called on the loop.
    ///
    /// - Parameter left: Called when the loop is parked or remains in use, but before it is ended.
    static func leave(_ shared: SharedLoop, left: () -> Void) {
        let isLast = monitor.withLock {
            guard var entry = entries[shared.name], entry.shared === shared else { return false }
            entry.clients -= 1
            entries[shared.name] = entry.clients > 0 ? entry : nil
            return entry.clients == 0
        }
        guard isLast else { return left() }
        shared.lookups.close()
        shared.work.close()
        let isParked = ParkedLoops.put(shared.loop)
        left()
        if !isParked { ParkedLoops.end(shared.loop) }
    }

    /// Returns the shared loop that uses an event loop, or nil.
    static func shared(on loop: any EventLoop) -> SharedLoop? {
        monitor.withLock { entries.values.first { $0.shared.loop === loop }?.shared }
    }
}
