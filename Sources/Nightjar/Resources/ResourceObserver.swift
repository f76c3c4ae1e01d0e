import NightjarHTTP
import Synchronization

/// Receives the snapshots of a resource on a queue, as long as it exists. Many changes cause one event with the newest
/// snapshot.
package final class ResourceObserver: Sendable {
    package typealias Handler = @Sendable (ResourceController.Snapshot) -> Void

    private struct Pending: Sendable {
        var snapshot: ResourceController.Snapshot?
        var isOpen = true
    }

    private let resource: ResourceController
    /// Nil: the handler runs on the loop.
    private let queue: CompletionQueue?
    private let handler: Handler
    /// Called on the loop if the resource is closed before ``cancel()``.
    let closed: @Sendable () -> Void
    private let pending = Mutex(Pending())

    init(
        _ resource: ResourceController, on queue: CompletionQueue?, closed: @escaping @Sendable () -> Void,
        _ handler: @escaping Handler
    ) {
        self.closed = closed
        self.resource = resource
        self.queue = queue
        self.handler = handler
    }

    /// Stops the delivery. An event that is still in the queue is discarded. Any thread.
    package func cancel() {
        // In a forked child, the parent's threads may hold the lock.
        guard !resource.isOfParent else { return }
        let wasOpen = pending.withLock { pending in
            defer { pending = Pending(isOpen: false) }
            return pending.isOpen
        }
        if wasOpen { resource.remove(self) }
    }

    /// Runs on the loop.
    func publish(_ snapshot: ResourceController.Snapshot) {
        let isFirst = pending.withLock { pending in
            guard pending.isOpen else { return false }
            defer { pending.snapshot = snapshot }
            return pending.snapshot == nil
        }
        if isFirst { resource.post({ [self] in deliver() }, to: queue) }
    }

    private func deliver() {
        if let snapshot = pending.withLock({ $0.snapshot.take() }) { handler(snapshot) }
    }
}
