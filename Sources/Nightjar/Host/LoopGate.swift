import NIOCore
import Synchronization

/// Passes work of other threads to a client's loop until the client has closed. Later work is discarded, because NIO
/// would report it on the standard error of the host. Any thread.
final class LoopGate: Sendable {
    private let loop: any EventLoop
    private let isOpen = Mutex(true)

    init(_ loop: any EventLoop) { self.loop = loop }

    func execute(_ work: @escaping @Sendable () -> Void) {
        // The lock is held until the loop has accepted the work, so that the loop cannot end after the check.
        isOpen.withLock { isOpen in
            if isOpen { loop.execute(work) }
        }
    }

    /// Called on the loop, before it ends.
    func close() { isOpen.withLock { $0 = false } }
}
