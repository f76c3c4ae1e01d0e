import NIOCore
import NightjarHTTP
import Synchronization

/// Threads for blocking work of one loop: the work runs on a thread, and its result returns to the loop.
package final class WorkerThreads: @unchecked Sendable {
    private let loop: any EventLoop
    private let threads: ThreadPool
    /// Whether the loop still takes results. A blocking system call may return long after the loop's client is closed.
    private let isOpen = Mutex(true)

    package init(_ maximum: Int, for loop: any EventLoop) {
        self.loop = loop
        threads = ThreadPool(maximum, name: "nightjar-work")
    }

    /// Runs `work` on a thread, then `deliver` on the loop. Runs neither after the client is closed. Called on the
    /// loop.
    ///
    /// - Parameters:
    ///   - operation: What the work does, for the error if the system has no thread: "looking up example.com".
    ///   - kind: The kind of that error.
    package func run<Value: Sendable>(
        _ operation: @autoclosure () -> String, failsAs kind: ErrorKind = .storage,
        _ work: @escaping @Sendable () throws(NightjarError) -> Value,
        then deliver: @escaping @Sendable (Result<Value, NightjarError>) -> Void
    ) {
        guard isOpen.withLock({ $0 }) else { return }
        do throws(ThreadFailure) {
            try threads.submit { [loop, self] in
                let result = Result(catching: work)
                isOpen.withLock { isOpen in
                    if isOpen { loop.execute { deliver(result) } }
                }
            }
        } catch {
            let failure = error.error(kind, operation())
            loop.execute { [self] in
                if isOpen.withLock({ $0 }) { deliver(.failure(failure)) }
            }
        }
    }

    /// Closes the threads. Called on the loop. Does not wait for work that has started.
    package func shutDown() {
        threads.close()
        isOpen.withLock { $0 = false }
    }
}
