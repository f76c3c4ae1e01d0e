import DequeModule
import NightjarSystem

/// A pool of threads for blocking work. Thread-safe.
///
/// A thread starts if no other thread is idle, up to a maximum. The threads end when the pool is closed.
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
    /// - Parameter mustRun: True to keep the work in the queue if no thread can be started now. The work runs when
    ///   a later call starts a thread. Work is not kept if the queue already has 10,000 items.
    /// - Throws: The system's error number if the pool has no thread and cannot start one, or `ECANCELED` if the pool
    ///   is closed. `work` then does not run, unless it is kept in the queue.
    package func submit(mustRun: Bool = false, _ work: @escaping Work) throws(ThreadFailure) {
        monitor.lock()
        defer { monitor.unlock() }
        guard !isClosed else { throw ThreadFailure(code: ECANCELED) }
        if idleThreads <= queue.count, threads < maximum {
            do throws(ThreadFailure) {
                try addThread()
            } catch {
                // If the pool has another thread, the work waits for that thread.
                guard threads > 0 else {
                    if mustRun, queue.count < ThreadPool.maximumKept { queue.append(work) }
                    throw error
                }
            }
        }
        queue.append(work)
        monitor.signal()
    }

    /// Discards the work that has not started. Each thread ends after its current work.
    ///
    /// Does not wait, because blocking work cannot be interrupted. Must not be called in a forked child, which does not
    /// have the threads.
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
