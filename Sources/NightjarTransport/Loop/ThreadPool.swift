import CLinux
import DequeModule
import Glibc
import NightjarHTTP

/// Threads for blocking work. They start when there is work, up to a number, and end when the pool is closed. Any thread.
///
/// NIO's and Dispatch's thread pools cannot be used here: when the system has no thread left, the first ends the process and
/// the second waits forever. Neither survives a fork of the host.
///
/// The threads take no signals of the process.
package final class ThreadPool: @unchecked Sendable {
    package typealias Work = @Sendable () -> Void

    private let name: String
    private let maximum: Int
    private let monitor = Monitor()
    // Under the monitor's lock:
    private var queue: Deque<Work> = []
    private var threads = 0
    private var idleThreads = 0
    private var isClosed = false

    /// - Parameter name: of the threads, at most 15 bytes.
    package init(_ maximum: Int, name: String) {
        self.maximum = maximum
        self.name = name
    }

    /// Runs `work` on a thread, after the work that was submitted before.
    ///
    /// - Parameter mustRun: keeps the work also when there is no thread, for the next one that starts. Up to 10,000 of these.
    /// - Throws: the system's error number when no thread of the pool runs and none can be started, `ECANCELED` when the pool
    ///   is closed. Then `work` does not run, or later.
    package func submit(mustRun: Bool = false, _ work: @escaping Work) throws(ThreadFailure) {
        monitor.lock()
        defer { monitor.unlock() }
        guard !isClosed else { throw ThreadFailure(code: ECANCELED) }
        if idleThreads <= queue.count, threads < maximum {
            let code = startThread()
            // If another thread runs, the work waits for it.
            guard code == 0 || threads > 0 else {
                if mustRun, queue.count < ThreadPool.mostKept { queue.append(work) }
                throw ThreadFailure(code: code)
            }
        }
        queue.append(work)
        monitor.signal()
    }

    /// Drops the work that has not begun, and ends each thread when its work has ended. Does not wait: work that blocks cannot
    /// be interrupted. Not in the child of a fork, which has none of the threads.
    package func close() {
        let dropped = monitor.withLock { () -> Deque<Work> in
            isClosed = true
            monitor.broadcast()
            defer { queue = [] }
            return queue
        }
        withExtendedLifetime(dropped) {}
    }

    /// Under the lock.
    private func startThread() -> Int32 {
        let code = startDetachedThread(stackSize: ThreadPool.stackSize) { [self] in
            pthread_setname_np(pthread_self(), name)
            run()
        }
        if code == 0 { threads += 1 }
        return code
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

    private static let mostKept = 10_000
    /// In bytes: enough for the system's resolver and its modules, and for SQLite.
    private static let stackSize = 1 << 20
}

/// The system has no thread for some work.
package struct ThreadFailure: Error {
    /// The system's error number.
    package let code: Int32

    /// - Parameter operation: what needed the thread, for the message: "looking up example.com".
    package func error(_ kind: ErrorKind, _ operation: String) -> NightjarError {
        NightjarError(
            kind, "\(operation) failed: cannot start a thread: \(String(cString: strerror(code)))", code: code)
    }
}

/// Starts a thread that nobody joins and that takes no signals.
///
/// - Returns: the system's error number, or 0.
package func startDetachedThread(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) -> Int32 {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
    let start = Unmanaged.passRetained(ThreadBody(body))
    var thread = pthread_t()
    let code = withSignalsBlocked {
        pthread_create(
            &thread, &attributes,
            { argument in
                Unmanaged<ThreadBody>.fromOpaque(argument.unsafelyUnwrapped).takeRetainedValue().body()
                return nil
            }, start.toOpaque())
    }
    if code != 0 { start.release() }
    return code
}

private final class ThreadBody: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
