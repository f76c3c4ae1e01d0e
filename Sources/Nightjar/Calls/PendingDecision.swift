import Synchronization

/// The place where a ``PendingDecision`` runs.
enum DecisionPlace: Sendable {
    /// The client's loop.
    case loop
    /// The first polled queue of the calls that wait for the decision. The loop if a waiting call has no queue.
    case queues
    /// The first polled queue of the calls that wait for the decision, never the loop. For a request that the client sends
    /// itself, such as a token request: the given queue, or the first polled queue of the client's calls and operations.
    case queuesOnly(CompletionQueue?)
}

/// A callback that has not run yet and decides for several calls, such as a token provider.
///
/// The callback runs once, at its ``DecisionPlace``. It is posted to the queues of all these calls, because a queue may be
/// polled late or never, and a call may be cancelled.
final class PendingDecision: @unchecked Sendable {
    private let place: DecisionPlace
    private unowned let loop: ClientLoop
    /// Nil when the callback has started or was withdrawn.
    private let callback: Mutex<(@Sendable () -> Void)?>
    // On the loop:
    /// The queues that the callback was posted to, retained so that no other queue gets the same address.
    private var queues: [ObjectIdentifier: CompletionQueue] = [:]
    private var isOnLoop = false

    init(on loop: ClientLoop, at place: DecisionPlace, callback: @escaping @Sendable () -> Void) {
        self.loop = loop
        self.place = place
        self.callback = Mutex(callback)
    }

    /// Posts the callback for a call that waits for the decision, and, if the call is a shared exchange, for the calls
    /// that wait for the exchange or join it later. Called on the loop.
    ///
    /// - Returns: Whether the callback has been posted, now or before. Always true unless the place is
    ///   ``DecisionPlace/queuesOnly(_:)``.
    @discardableResult
    func post(for call: Call) -> Bool {
        guard !isTaken, !isOnLoop else { return true }
        if call.waiters != nil, !call.sharedDecisions.contains(where: { $0 === self }) {
            call.sharedDecisions.append(self)
        }
        switch place {
        case .loop: postToLoop()
        case .queues:
            for queue in call.eventQueues {
                guard let queue else {
                    postToLoop()
                    break
                }
                post(to: queue)
            }
        case .queuesOnly(let own):
            let queues = call.eventQueues
            for case let queue? in queues { post(to: queue) }
            guard queues.isEmpty || queues.contains(where: { $0 == nil }) else { break }
            postToAll(own)
            return !self.queues.isEmpty
        }
        return true
    }

    /// Posts the callback for work that belongs to no call: to the queues of all calls and operations of the client, also
    /// later ones, and to its own queue. Called on the loop.
    func postToAll() {
        guard case .queuesOnly(let own) = place else { return postToLoop() }
        postToAll(own)
    }

    private func postToAll(_ own: CompletionQueue?) {
        for queue in loop.queues { post(to: queue) }
        if let own { post(to: own) }
        loop.openDecisions.removeAll { $0.isTaken || $0 === self }
        if !loop.hasShutDown { loop.openDecisions.append(self) }
    }

    /// Whether the callback has started or does not run any more.
    fileprivate var isTaken: Bool { callback.withLock { $0 == nil } }

    private func postToLoop() {
        isOnLoop = true
        loop.post(event, to: nil)
    }

    fileprivate func post(to queue: CompletionQueue) {
        guard queues.updateValue(queue, forKey: ObjectIdentifier(queue)) == nil else { return }
        loop.post(event, to: queue)
    }

    private var event: QueueEvent {
        .run { [self] in take()?() }
    }

    /// Ensures that the callback does not run any more, and releases it. Any thread.
    func withdraw() { _ = take() }

    /// Returns the callback to the first caller.
    private func take() -> (@Sendable () -> Void)? { callback.withLock { $0.take() } }
}

extension ClientLoop {
    /// Posts the decisions that any call or operation may run to the queue of a new one. Used on the loop.
    func postOpenDecisions(to queue: CompletionQueue?) {
        openDecisions.removeAll { $0.isTaken }
        guard let queue else { return }
        for decision in openDecisions { decision.post(to: queue) }
    }

    /// The queues of the calls and operations in flight. Used on the loop.
    fileprivate var queues: [CompletionQueue] {
        calls.compactMap(\.task.decisionQueue) + operations.all.compactMap(\.queue)
    }
}
