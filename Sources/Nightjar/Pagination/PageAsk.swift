import NightjarHTTP
import Synchronization

/// One who waits for a page.
final class PageAsk: Cancellable {
    typealias Outcome = Result<Page?, NightjarError>

    let queue: CompletionQueue?
    private let finished: @Sendable (Outcome) -> Void
    private let isDone = Atomic<Bool>(false)
    private let wasCancelled = Atomic<Bool>(false)
    private let walker: PageWalker

    init(_ walker: PageWalker, on queue: CompletionQueue?, _ finished: @escaping @Sendable (Outcome) -> Void) {
        self.walker = walker
        self.queue = queue
        self.finished = finished
    }

    var isCancelled: Bool { wasCancelled.load(ordering: .acquiring) }

    /// Has it answered `cancelled`, unless it is answered already. Again, or later: nothing happens.
    func cancel() {
        guard !wasCancelled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Refused: the client is closed, and who is to be told need not wait for its loop.
        if !walker.submit({ $0.withdraw(self) }) { answer(.failure(PageWalker.cancelled)) }
    }

    /// Answers, where the answer is wanted. The second time nothing happens.
    ///
    /// - Parameter before: runs there first.
    func answer(_ outcome: Outcome, before: @escaping @Sendable () -> Void = {}) {
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

    /// Answers on this thread: nothing runs any more that could bring it elsewhere.
    func answerHere(_ error: NightjarError) {
        guard !isDone.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue?.forget(self)
        finished(.failure(error))
    }
}
