import DequeModule

/// The steps that an observer has not received. Bounded, because calls can be faster than the observer.
struct StepBacklog {
    private var steps = Deque<ClientTask.Step>()
    private var dropped = 0

    var count: Int { steps.count }

    /// Adds a step. If the backlog is full, drops older steps first.
    mutating func append(_ step: ClientTask.Step) {
        if steps.count >= StepBacklog.maximumSteps { makeRoom() }
        steps.append(step)
    }

    /// Removes the oldest step. Its `dropped` is the number of steps that were dropped since the last removal.
    mutating func popFirst() -> ClientTask.Step? {
        guard var step = steps.popFirst() else { return nil }
        step.dropped = exchange(&dropped, with: 0)
        return step
    }

    /// Drops the older half of the steps, except for the ends of calls. At most `maximumSteps / 4` ends are kept.
    private mutating func makeRoom() {
        let half = StepBacklog.maximumSteps / 2
        let ends = steps.prefix(half).filter(\.isLast).suffix(half / 2)
        steps.removeFirst(half)
        steps.prepend(contentsOf: ends)
        dropped += half - ends.count
    }

    private static let maximumSteps = 4096
}
