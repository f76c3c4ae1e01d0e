/// The reason as text for the developer, without secrets.
extension RetryPolicy.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notTransient: "not retried: another attempt would have the same result"
        case .mayHaveBeenProcessed:
            "not retried: the server may have processed the request, which has no idempotency key"
        case .bodyWasConsumed: "not retried: the body is a stream that was partly sent"
        case .responseWasDelivered: "not retried: part of the response was delivered before the connection was lost"
        case .attemptsExhausted: "not retried: this was the last attempt"
        case .serverRequestedLongWait(let wait):
            "not retried: the server requested a wait of \(wait.inSeconds) s, which is longer than the maximum wait"
        case .pastDeadline(let wait):
            "not retried: the wait of \(wait.inSeconds) s would end after the call's deadline"
        case .budgetSpent: "not retried: the retry budget is exhausted, because too many calls of this client fail"
        }
    }
}

extension RetryPolicy.Verdict: CustomStringConvertible {
    public var description: String {
        switch self {
        case .again(let wait): "retried after \(wait.inSeconds) s"
        case .stop(let reason): reason.description
        }
    }
}
