import NIOCore
import NIOPosix
import Synchronization

/// A few threads for what blocks, beside one loop: they take no signals, and start when there is work.
///
/// Not NIO's shared threads or Dispatch's, which do not survive a fork of the host.
public final class WorkerThreads: @unchecked Sendable {
    private let loop: any EventLoop
    private let threads: NIOThreadPool
    private var isRunning = false
    /// Whether the loop still takes results: a system call that blocks may end long after it.
    private let isOpen = Mutex(true)

    public init(_ count: Int, for loop: any EventLoop) {
        self.loop = loop
        threads = NIOThreadPool(numberOfThreads: count)
    }

    /// Called on the loop. `work` runs on a thread, then `deliver` on the loop; neither once the loop has ended.
    public func run<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Value,
        then deliver: @escaping @Sendable (Result<Value, Failure>) -> Void
    ) {
        guard isOpen.withLock({ $0 }) else { return }
        if !isRunning {
            withSignalsBlocked { threads.start() }
            isRunning = true
        }
        threads.submit { [loop, self] state in
            guard state == .active else { return }
            let result = Result(catching: work)
            isOpen.withLock { isOpen in
                if isOpen { loop.execute { deliver(result) } }
            }
        }
    }

    /// Called on the loop, as its last. Not waited for: what blocks has no way to be interrupted.
    public func shutDown() {
        if isRunning { threads.shutdownGracefully { _ in } }
        isRunning = false
        isOpen.withLock { $0 = false }
    }
}
