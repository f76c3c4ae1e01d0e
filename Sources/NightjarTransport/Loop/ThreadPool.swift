import DequeModule
import Glibc

/// A pool of threads for blocking work. A thread starts when no other is idle, up to a maximum, and ends when the pool
/// is closed. Any thread.
///
/// NIO's thread pool ends the process if the system has no thread left, and Dispatch waits forever. Neither survives a
/// fork of the host.
package final class ThreadPool: @unchecked Sendable {
    package typealias Work = @Sendable () -> Void

    private let name: String
    private let maximum: Int
    private let monitor = Monitor()
    // Protected by the monitor's lock:
    private var queue: Deque<Work> = []
    private var threads = 0
    private var idleThreads = 0
    private var isClosed = false

    /// - Parameter name: The name of the threads, at most 15 bytes.
    package init(_ maximum: Int, name: String) {
        self.maximum = maximum
        self.name = name
    }

    /// Queues `work`. Work begins in the order of submission.
    ///
    /// - Parameter mustRun: Keeps the work in the queue until a thread starts if none can be started now. At most
    ///   10,000 items are kept.
    /// - Throws: The system's error number if the pool has no thread and none can be started; `ECANCELED` if the pool
    ///   is closed. `work` then does not run, unless it is kept in the queue.
    package func submit(mustRun: Bool = false, _ work: @escaping Work) throws(ThreadFailure) {
        monitor.lock()
        defer { monitor.unlock() }
        guard !isClosed else { throw ThreadFailure(code: ECANCELED) }
        if idleThreads <= queue.count, threads < maximum {
            do throws(ThreadFailure) {
                try addThread()
            } catch {
                // If another thread runs, the work waits for it.
                guard threads > 0 else {
                    if mustRun, queue.count < ThreadPool.maximumKept { queue.append(work) }
                    throw error
                }
            }
        }
        queue.append(work)
        monitor.signal()
    }

    /// Discards the work that has not started. Each thread ends after its current work. Does not wait, because blocking
    /// work cannot be interrupted. Must not be called in the child of a fork, which has none of the threads.
    package func close() {
        let dropped = monitor.withLock { () -> Deque<Work> in
            isClosed = true
            monitor.broadcast()
            defer { queue = [] }
            return queue
        }
        withExtendedLifetime(dropped) {}
    }

    /// Starts a thread. Called under the lock.
    private func addThread() throws(ThreadFailure) {
        pthread_detach(try startThread(name) { [self] in run() })
        threads += 1
    }

    private func run() {
        while let work = next() { work() }
    }

    private func next() -> Work? {
        monitor.withLock {
            while queue.isEmpty, !isClosed {
                idleThreads += 1
                monitor.wait(until: nil)
                idleThreads -= 1
            }
            if queue.isEmpty { threads -= 1 }
            return queue.popFirst()
        }
    }

    private static let maximumKept = 10_000
}
