import Synchronization

/// The receiver of an observer's steps, and the steps that wait in its queue. Several clients may share it.
///
/// The queue has one event for each waiting step. The event of a dropped step delivers a later step.
final class StepDelivery: StepReceiver {
    /// Nil: the steps are delivered on the client's loop thread.
    private let queue: CompletionQueue?
    private let observe: @Sendable (ClientTask.Step) -> Void
    private let state = Mutex(State())

    private struct State {
        var backlog = StepBacklog()
        /// The number of events in the queue. At least the number of steps.
        var events = 0
    }

    init(_ queue: CompletionQueue?, _ observe: @escaping @Sendable (ClientTask.Step) -> Void) {
        self.queue = queue
        self.observe = observe
    }

    /// Posts a step to the queue.
    func post(_ step: ClientTask.Step, from loop: ClientLoop) {
        guard let queue else { return loop.post(.run { self.observe(step) }, to: nil) }
        if add(step) { loop.post(.run { self.deliverNext() }, to: queue) }
    }

    /// - Returns: Whether an event must be posted to the queue.
    func add(_ step: ClientTask.Step) -> Bool {
        state.withLock { state in
            state.backlog.append(step)
            guard state.events < state.backlog.count else { return false }
            state.events += 1
            return true
        }
    }

    /// Delivers the oldest step, if any. Called for each event.
    func deliverNext() {
        let next = state.withLock { state -> ClientTask.Step? in
            state.events -= 1
            return state.backlog.popFirst()
        }
        if let next { observe(next) }
    }
}
