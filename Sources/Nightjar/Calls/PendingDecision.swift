import Synchronization

/// A callback that has not run yet and decides for several calls, such as a token provider.
///
/// The callback runs once: on the loop, or on the first polled queue of the calls that wait for the decision. It is
/// posted to the queues of all these calls, because a queue may be polled late or never, and a call may be cancelled.
final class PendingDecision: @unchecked Sendable {
    private let runsOnLoop: Bool
    private unowned let loop: ClientLoop
    private let callback: @Sendable () -> Void
    private let wasTaken = Atomic<Bool>(false)
    // On the loop:
    /// The queues that the callback was posted to, retained so that no other queue gets the same address.
    private var queues: [ObjectIdentifier: CompletionQueue] = [:]
    private var isOnLoop = false

    /// - Parameter runsOnLoop: Whether the callback always runs on the loop. It also runs there if a waiting call has no
    ///   queue.
    init(on loop: ClientLoop, runsOnLoop: Bool, callback: @escaping @Sendable () -> Void) {
        self.loop = loop
        self.runsOnLoop = runsOnLoop
        self.callback = callback
    }

    /// Posts the callback for a call that waits for the decision, and, if the call is a shared exchange, for the calls
    /// that wait for the exchange or join it later. Called on the loop.
    func post(for call: Call) {
        guard !wasTaken.load(ordering: .relaxed), !isOnLoop else { return }
        if call.waiters != nil, !call.sharedDecisions.contains(where: { $0 === self }) {
            call.sharedDecisions.append(self)
        }
        let event = QueueEvent.run { [self] in
            if take() { callback() }
        }
        for queue in runsOnLoop ? [nil] : call.eventQueues {
            guard let queue else {
                isOnLoop = true
                return loop.post(event, to: nil)
            }
            guard queues.updateValue(queue, forKey: ObjectIdentifier(queue)) == nil else { continue }
            loop.post(event, to: queue)
        }
    }

    /// Ensures that the callback does not run any more. Any thread.
    func withdraw() { _ = take() }

    /// Returns true to the first caller.
    private func take() -> Bool { !wasTaken.exchange(true, ordering: .relaxed) }
}
