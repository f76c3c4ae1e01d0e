import NIOCore
import NightjarHTTP
import Synchronization

/// Runs blocking work of one client on threads and delivers the results on its loop.
package final class WorkerThreads: @unchecked Sendable {
    package enum Purpose: Sendable {
        case lookups
        case otherWork
    }

    private let loop: any EventLoop
    private let threads: ThreadPool
    /// Whether other clients use the threads.
    private let isShared: Bool
    /// Whether results are still delivered. A blocking system call may return long after the loop's client is closed.
    private let isOpen = Mutex(true)

    /// - Parameter maximum: The maximum number of threads. Clients that share a loop share its threads instead.
    package init(_ maximum: Int, for loop: any EventLoop, _ purpose: Purpose = .otherWork) {
        self.loop = loop
        let shared = SharedLoops.shared(on: loop)
        isShared = shared != nil
        switch purpose {
        case .lookups: threads = shared?.lookups ?? ThreadPool(maximum, name: "nightjar-lookup")
        case .otherWork: threads = shared?.work ?? ThreadPool(maximum, name: "nightjar-work")
        }
    }

    /// Runs `work` on a thread, then `deliver` on the loop. Called on the loop.
    ///
    /// ``shutDown()`` discards work that has not started, and results of work that has not finished.
    ///
    /// - Parameters:
    ///   - operation: The purpose of the work, for the message if no thread can be started: "looking up example.com".
    ///   - kind: The kind of that error.
    package func run<Value: Sendable>(
        _ operation: @autoclosure () -> String, failsAs kind: ErrorKind = .storage,
        _ work: @escaping @Sendable () throws(NightjarError) -> Value,
        then deliver: @escaping @Sendable (Result<Value, NightjarError>) -> Void
    ) {
        guard isOpen.withLock({ $0 }) else { return }
        do throws(ThreadFailure) {
            try threads.submit { [loop, self] in
                guard isOpen.withLock({ $0 }) else { return }
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

    /// Ends the threads, unless other clients use them. Called on the loop. Does not wait for work that has started.
    package func shutDown() {
        if !isShared { threads.close() }
        isOpen.withLock { $0 = false }
    }
}
