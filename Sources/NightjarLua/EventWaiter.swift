import Nightjar
import NightjarTransport

/// A thread that waits for the events of a Lua state while the host's threads do other work. The thread blocks all
/// signals and starts with the first wait.
final class EventWaiter {
    private let queue: CompletionQueue
    private var thread: ThreadPool?

    init(_ queue: CompletionQueue) { self.queue = queue }

    /// Calls `body` on the thread when the queue has an event.
    ///
    /// - Parameter timeout: the maximum wait; nil: no limit.
    /// - Throws: `storage` if the thread cannot be started.
    func wait(_ timeout: Duration?, then body: @escaping @Sendable () -> Void) throws(NightjarError) {
        let thread = self.thread ?? ThreadPool(1, name: "nightjar-wait")
        self.thread = thread
        do throws(ThreadFailure) {
            try thread.submit { [queue] in
                queue.waitForEvent(timeout: timeout)
                body()
            }
        } catch {
            throw error.error(.storage, "waiting for the events of a script")
        }
    }

    /// Leaks the thread. For a forked child, where the thread does not exist.
    func leave() {
        if let thread { _ = Unmanaged.passRetained(thread) }
        thread = nil
    }

    func close() {
        thread?.close()
        thread = nil
    }
}
