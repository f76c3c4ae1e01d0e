/// Decisions that the client requests from the caller of a call.
extension Call {
    /// Posts a decision request to the caller. The current stage then continues with the verdict of `request`.
    func request(_ request: DecisionRequest) -> Verdict {
        pendingDecision = request
        loop.post(.decision(task, request), to: task.decisionQueue)
        return .wait
    }

    /// Continues with the caller's decision. A decision that the call does not wait for is ignored.
    func decided(_ decision: any Sendable) {
        guard let request = pendingDecision, let verdict = request.verdict(for: decision, self) else { return }
        pendingDecision = nil
        resume(verdict)
    }
}
