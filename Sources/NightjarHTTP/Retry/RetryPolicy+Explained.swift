/// One sentence for the developer, without secrets.
extension RetryPolicy.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notTransient: "not tried again: another attempt would end alike"
        case .mayHaveBeenProcessed:
            "not tried again: the server may have acted on the request, and it carries no idempotency key"
        case .bodyIsGone: "not tried again: the body was a stream, and some of it is gone"
        case .answerIsGone: "not tried again: part of the answer was handed out before it broke off"
        case .attemptsUsedUp: "not tried again: this was the last attempt"
        case .serverAsksForLongWait(let wait):
            "not tried again: the server asks for \(wait.inSeconds) s, longer than is waited"
        case .pastDeadline(let wait):
            "not tried again: after a wait of \(wait.inSeconds) s the call's deadline would be over"
        case .budgetSpent: "not tried again: too many calls of this client fail"
        }
    }
}

extension RetryPolicy.Verdict: CustomStringConvertible {
    public var description: String {
        switch self {
        case .again(let wait): "tried again after \(wait.inSeconds) s"
        case .stop(let reason): reason.description
        }
    }
}
