import DequeModule
import Synchronization

/// The receiver of an observer's steps, and the steps that wait in its queue. Several clients may share it.
///
/// The queue has one event for each waiting step. The event of a dropped step delivers a later step.
final class StepDelivery: Sendable {
    let observe: @Sendable (ClientTask.Step) -> Void
    private let state = Mutex(State())

    private struct State {
        var steps = Deque<ClientTask.Step>()
        /// The number of events in the queue. At least the number of steps.
        var events = 0
        var dropped = 0
    }

    init(_ observe: @escaping @Sendable (ClientTask.Step) -> Void) { self.observe = observe }

    /// - Returns: Whether an event must be posted to the queue.
    func add(_ step: ClientTask.Step) -> Bool {
        state.withLock { state in
            if state.steps.count >= StepDelivery.maximumSteps { state.dropped += StepDelivery.makeRoom(&state.steps) }
            state.steps.append(step)
            guard state.events < state.steps.count else { return false }
            state.events += 1
            return true
        }
    }

    /// Delivers the oldest step, if any. Called for each event.
    func deliverNext() {
        let next = state.withLock { state -> ClientTask.Step? in
            state.events -= 1
            var step = state.steps.popFirst()
            if step != nil { step?.dropped = exchange(&state.dropped, with: 0) }
            return step
        }
        if let next { observe(next) }
    }

    /// Drops the older half of the steps, except for the ends of calls. At most `maximumSteps / 4` ends are kept.
    ///
    /// - Returns: The number of dropped steps.
    private static func makeRoom(_ steps: inout Deque<ClientTask.Step>) -> Int {
        let half = maximumSteps / 2
        let ends = steps.prefix(half).filter(\.isLast).suffix(half / 2)
        steps.removeFirst(half)
        steps.prepend(contentsOf: ends)
        return half - ends.count
    }

    private static let maximumSteps = 4096
}
