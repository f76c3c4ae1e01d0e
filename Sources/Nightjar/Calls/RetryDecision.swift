import NightjarHTTP

/// An attempt has failed, and this is what the client would do.
public struct RetryQuestion: Sendable {
    /// As the call would fail with it.
    public let error: NightjarError
    /// 1 for the first.
    public let attempt: Int
    public let verdict: RetryPolicy.Verdict
}

/// What a caller wants done about a failed attempt.
public enum RetryAnswer: Sendable {
    /// What the client would do.
    case asDecided
    /// Another attempt, whatever the policy says; the server may then do twice what it was asked once.
    case again(after: Duration)
    /// The failure is the call's.
    case stop
    /// It is not known yet: ``ClientTask/retry(_:)`` will say it.
    case later
}
