import NightjarHTTP
import Synchronization

/// A pending request for a page.
final class PageWaiter: Cancellable {
    typealias Outcome = Result<Page?, NightjarError>

    let queue: CompletionQueue?
    private let finished: @Sendable (Outcome) -> Void
    private let isDone = Atomic<Bool>(false)
    private let wasCancelled = Atomic<Bool>(false)
    private let loader: PageLoader

    init(_ loader: PageLoader, on queue: CompletionQueue?, _ finished: @escaping @Sendable (Outcome) -> Void) {
        self.loader = loader
        self.queue = queue
        self.finished = finished
    }

    var isCancelled: Bool { wasCancelled.load(ordering: .acquiring) }

    /// Ends the wait with `cancelled`. Has no effect if the result has been delivered or `cancel` was called before.
    func cancel() {
        guard !wasCancelled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // If the loop rejects the message because the client is closed, this thread completes the wait.
        if !loader.submit({ $0.withdraw(self) }) { complete(.failure(PageLoader.cancelled)) }
    }

    /// Delivers the result on the queue, or at once if there is no queue. Calls after the first have no effect.
    ///
    /// - Parameter before: Runs on the queue, before the result is delivered.
    func complete(_ outcome: Outcome, before: @escaping @Sendable () -> Void = {}) {
        guard !isDone.exchange(true, ordering: .acquiringAndReleasing) else { return }
        guard let queue else {
            before()
            return finished(outcome)
        }
        var events = [
            QueueEvent.run { [self] in
                queue.forget(self)
                before()
                finished(outcome)
            }
        ]
        queue.post(&events)
    }

    /// Delivers the result on this thread, because the queue and the loop cannot deliver it.
    func completeInline(_ error: NightjarError) {
        guard !isDone.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue?.forget(self)
        finished(.failure(error))
    }
}
