import Dispatch
import NIOCore
import NightjarHTTP
import NightjarSystem

/// The event loops of closed clients and their threads, for reuse by later clients. Thread-safe.
enum ParkedLoops {
    private static let monitor = Monitor()
    // Protected by the monitor's lock:
    nonisolated(unsafe) private static var loops: [any EventLoop] = []
    /// The loops of the parent process. Their threads do not exist in this process, so they can neither run nor be
    /// freed.
    nonisolated(unsafe) private static var foreign: [any EventLoop] = []

    /// Locks the monitor during a fork, so that in the child the lock is free and the list is consistent.
    static let watchForks: Void = {
        _ = pthread_atfork(
            { monitor.lock() }, { monitor.unlock() },
            {
                foreign += loops
                loops = []
                monitor.unlock()
            })
    }()

    /// Returns a parked loop, or starts a new one.
    ///
    /// - Throws: `connect` with the system's error number if no thread or descriptor is left.
    static func takeOrStart() throws(NightjarError) -> any EventLoop {
        if let parked = monitor.withLock({ loops.popLast() }) { return parked }
        return try StartedLoop.start()
    }

    /// Parks a loop that no client uses. Returns false if the maximum number is parked. Called on the loop.
    static func put(_ loop: any EventLoop) -> Bool {
        watchForks
        return monitor.withLock {
            guard loops.count < maximum else { return false }
            loops.append(loop)
            return true
        }
    }

    /// Ends a loop. Called on the loop. Blocks the loop's thread while Dispatch cannot start a thread.
    static func end(_ loop: any EventLoop) { loop.shutdownGracefully(queue: ends) { _ in } }

    /// The maximum number of parked loops. A program that opens and closes clients one after the other needs one loop.
    private static let maximum = 4
    /// The queue on which NIO reports the end of a loop. It has no other use.
    private static let ends = DispatchQueue(label: "nightjar.loops")
}
