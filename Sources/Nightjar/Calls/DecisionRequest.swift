import NightjarHTTP

/// A decision that a call needs from its caller before it continues, for example whether to follow a redirect.
///
/// The caller's callback runs where the task's events are delivered. While the call waits for the decision, its total
/// timeout runs, and the call can be cancelled.
class DecisionRequest: @unchecked Sendable {
    /// Calls the caller's callback, on the thread that delivers the task's events.
    ///
    /// - Returns: The decision, or nil if the caller decides later with a method of ``ClientTask``.
    func callHandler(of task: ClientTask) -> (any Sendable)? { nil }

    /// Returns the verdict for the caller's decision, on the client's loop. Nil if the decision has another type.
    func verdict(for decision: any Sendable, _ call: Call) -> Verdict? { nil }
}

/// A request for a decision of one type.
final class DecisionRequestOf<Decision: Sendable>: DecisionRequest, @unchecked Sendable {
    private let handler: @Sendable (ClientTask) -> Decision?
    private let resume: (Decision, Call) -> Verdict

    /// - Parameters:
    ///   - handler: Runs on the thread that delivers the task's events. Returns nil if the caller decides later.
    ///   - resume: Runs at most once, on the client's loop, with the decision.
    init(handler: @escaping @Sendable (ClientTask) -> Decision?, resume: @escaping (Decision, Call) -> Verdict) {
        self.handler = handler
        self.resume = resume
    }

    override func callHandler(of task: ClientTask) -> (any Sendable)? { handler(task) }

    override func verdict(for decision: any Sendable, _ call: Call) -> Verdict? {
        (decision as? Decision).map { resume($0, call) }
    }
}
