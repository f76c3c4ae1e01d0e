import Synchronization

/// Holds the events of a task back while the task is paused, in their order.
///
///     open ──pause──▶ paused ──resume──▶ resuming ──release──▶ open
///                       ▲                   │
///                       └───────pause───────┘
struct PausableDelivery: ~Copyable {
    private enum State {
        static let open: UInt8 = 0
        static let paused: UInt8 = 1
        /// The event that releases the held events is in the queue.
        static let resuming: UInt8 = 2
    }

    private let state = Atomic<UInt8>(State.open)
    private let held = Mutex<[QueueEvent]>([])

    // MARK: Any thread

    /// False from the start of ``resume()``.
    var isPaused: Bool { state.load(ordering: .relaxed) == State.paused }

    /// Whether events are held back. True until the held events are delivered.
    var holdsEvents: Bool { state.load(ordering: .relaxed) != State.open }

    func pause() { state.store(State.paused, ordering: .relaxed) }

    /// Returns whether the caller must queue a call of ``release(in:)``.
    func resume() -> Bool {
        state.compareExchange(expected: State.paused, desired: State.resuming, ordering: .relaxed).exchanged
    }

    // MARK: Where the events are delivered

    /// Returns false if the pause has ended meanwhile.
    func hold(_ event: QueueEvent) -> Bool {
        guard holdsEvents else { return false }
        held.withLock { $0.append(event) }
        return true
    }

    /// Runs the held events, unless the task was paused again.
    func release(in queue: CompletionQueue) {
        guard state.compareExchange(expected: State.resuming, desired: State.open, ordering: .relaxed).exchanged else {
            return
        }
        run(in: queue)
    }

    /// Ends the pause, and runs the held events. No other events follow, so those that are held back again are discarded.
    func end(in queue: CompletionQueue) {
        state.store(State.open, ordering: .relaxed)
        run(in: queue)
        held.withLock { $0 = [] }
    }

    /// Events of a task that is paused again meanwhile are held back again.
    private func run(in queue: CompletionQueue) {
        let events = held.withLock { events in
            defer { events = [] }
            return events
        }
        for event in events { event.run(in: queue) }
    }
}
