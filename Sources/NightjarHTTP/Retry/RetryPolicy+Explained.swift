/// The reason as text for the developer, without secrets.
extension RetryPolicy.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notTransient: "not retried: the result is final"
        case .mayHaveBeenProcessed:
            "not retried: the server may have processed the request, which is not idempotent and has no idempotency key"
        case .bodyWasConsumed: "not retried: the body is a stream that cannot be sent again"
        case .responseWasDelivered: "not retried: part of the response had already been delivered"
        case .attemptsExhausted: "not retried: this was the last attempt"
        case .serverRequestedLongWait(let wait):
            "not retried: the server requested a wait of \(wait.inSeconds) s, which is longer than the maximum wait"
        case .pastDeadline(let wait):
            "not retried: the wait of \(wait.inSeconds) s would not end before the call's deadline"
        case .budgetSpent: "not retried: the retry budget of this client is exhausted"
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
