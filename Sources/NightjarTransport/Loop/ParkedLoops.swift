import Dispatch
import Glibc
import NIOCore

/// The event loops of closed clients, each with its thread, for the next clients. Any thread.
enum ParkedLoops {
    private static let monitor = Monitor()
    // Protected by the monitor's lock:
    nonisolated(unsafe) private static var loops: [any EventLoop] = []
    /// The loops of the parent process. Their threads are not in this process, so they can neither run nor be freed.
    nonisolated(unsafe) private static var foreign: [any EventLoop] = []

    /// Holds the lock during a fork, so that the child finds it free and the list consistent.
    private static let watchForks: Void = {
        _ = pthread_atfork(
            { monitor.lock() }, { monitor.unlock() },
            {
                foreign += loops
                loops = []
                monitor.unlock()
            })
    }()

    /// Returns nil if no loop is parked.
    static func take() -> (any EventLoop)? { monitor.withLock { loops.popLast() } }

    /// Parks a loop that no client uses, or ends it if enough are parked. Called on the loop.
    static func put(_ loop: any EventLoop) {
        watchForks
        let isParked = monitor.withLock {
            guard loops.count < maximum else { return false }
            loops.append(loop)
            return true
        }
        // If the system has no thread for Dispatch, the thread of the loop waits in this call. No other thread waits
        // for it.
        if !isParked { loop.shutdownGracefully(queue: ends) { _ in } }
    }

    /// The maximum number of parked loops. A program that opens and closes clients one after the other needs one loop.
    private static let maximum = 4
    /// NIO reports the end of a loop on this queue, which is used for nothing else.
    private static let ends = DispatchQueue(label: "nightjar.loops")
}
