import NightjarHTTP
import Synchronization

/// A challenge that the caller has not decided yet.
///
/// If the handler does not run on the loop, the challenge is posted to the queues of all calls that wait for the
/// decision. A queue may be polled late or never, and a call may be cancelled. The first queue that is polled calls the
/// handler.
final class PendingChallenge: SharedDecision, @unchecked Sendable {
    let details: Authentication.Challenge.Details
    private let handler: Authentication.ChallengeHandler
    private let loop: ClientLoop
    private let decided: @Sendable (Authentication.Challenge.Response) -> Void
    private let wasTaken = Atomic<Bool>(false)
    // On the loop:
    /// The queues that the challenge was posted to, retained so that no other queue gets the same address.
    private var queues: [ObjectIdentifier: CompletionQueue] = [:]
    private var isOnLoop = false

    /// - Parameter decided: Called on the loop with the response, at most once.
    init(
        _ details: Authentication.Challenge.Details, _ handler: Authentication.ChallengeHandler, on loop: ClientLoop,
        decided: @escaping @Sendable (Authentication.Challenge.Response) -> Void
    ) {
        self.details = details
        self.handler = handler
        self.loop = loop
        self.decided = decided
    }

    /// Posts the challenge to the loop if the handler runs there, and otherwise where the call's callbacks run. Called
    /// on the loop.
    func put(to call: Call) {
        guard !wasTaken.load(ordering: .relaxed), !isOnLoop else { return }
        if call.waiters != nil, !call.sharedDecisions.contains(where: { $0 === self }) {
            call.sharedDecisions.append(self)
        }
        let event = QueueEvent.run { [self] in run() }
        for queue in handler.runsOnLoop ? [nil] : call.eventQueues {
            guard let queue else {
                isOnLoop = true
                return loop.post(event, to: nil)
            }
            guard queues.updateValue(queue, forKey: ObjectIdentifier(queue)) == nil else { continue }
            loop.post(event, to: queue)
        }
    }

    /// Withdraws the challenge: no queue can take it any more. Any thread.
    func withdraw() { wasTaken.store(true, ordering: .relaxed) }

    /// Calls the handler, on the thread that delivers the events.
    private func run() {
        guard !wasTaken.exchange(true, ordering: .relaxed) else { return }
        handler.decide(
            Authentication.Challenge(details) { [loop, decided] response in
                loop.submit(.run { decided(response) })
            })
    }
}
