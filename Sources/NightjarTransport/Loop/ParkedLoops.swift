import Dispatch
import Glibc
import NIOCore
import Synchronization

/// The event loops of clients that are closed, each with its thread, for the clients that come next. Any thread.
enum ParkedLoops {
    private struct Parked {
        /// The loops of another process are not there: this process is its forked child.
        var process = getpid()
        var loops: [any EventLoop] = []
    }

    private static let parked = Mutex(Parked())

    /// Nil: there is none. Does not wait for the lock, which a thread of the parent process may hold.
    static func take() -> (any EventLoop)? {
        parked.withLockIfAvailable { parked in
            guard parked.process == getpid() else { return nil }
            return parked.loops.popLast()
        } ?? nil
    }

    /// Keeps a loop that nothing uses any more, or ends it when there are enough. On the loop.
    static func put(_ loop: any EventLoop) {
        let isKept = parked.withLockIfAvailable { parked in
            if parked.process != getpid() { parked = Parked() }
            guard parked.loops.count < ParkedLoops.maximum else { return false }
            parked.loops.append(loop)
            return true
        }
        // If the system has no thread for Dispatch, the thread of the loop waits here. Nobody waits for it.
        if isKept != true { loop.shutdownGracefully(queue: ParkedLoops.ends) { _ in } }
    }

    /// A program that opens and closes clients one after the other needs one.
    private static let maximum = 4
    /// Where NIO reports that a loop has ended; nothing else runs there.
    private static let ends = DispatchQueue(label: "nightjar.loops")
}
