import NightjarHTTP
import Synchronization

/// Cancellable work without a client that ends in an event of a queue, such as a run of a script.
package final class QueueWork: ClientWork, @unchecked Sendable {
    private let queue: CompletionQueue
    private let cancelled: @Sendable () -> Void
    private let wasCancelled = Atomic<Bool>(false)
    private let hasFinished = Atomic<Bool>(false)

    /// - Parameter cancelled: Called at most once, on any thread. The work must then end soon.
    package init(on queue: CompletionQueue, cancelled: @escaping @Sendable () -> Void) {
        self.queue = queue
        self.cancelled = cancelled
    }

    /// - Throws: `closed` if the queue is closed.
    package func begin() throws(NightjarError) {
        guard queue.register(self) else { throw NightjarError(.closed, "the queue is closed") }
    }

    /// Ends the work. Called once, in an event of the queue.
    ///
    /// - Parameter completion: The completion callback of the work.
    package func end(_ completion: () -> Void = {}) {
        hasFinished.store(true, ordering: .releasing)
        queue.forget(self)
        completion()
        markDelivered()
    }

    override var completionQueue: CompletionQueue? { queue }

    public override func cancel() {
        guard !isFinished, !wasCancelled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        cancelled()
    }

    public override var isFinished: Bool { hasFinished.load(ordering: .acquiring) }

    package var isCancelled: Bool { wasCancelled.load(ordering: .acquiring) }

    package override var isOfParent: Bool { queue.isOfParent }
}
