import NightjarHTTP

extension TaskHandlers {
    /// A failed attempt and the client's own decision about it.
    public struct FailedAttempt: Sendable {
        /// The client's decision.
        public typealias Verdict = RetryPolicy.Verdict

        /// The error with which the call would fail.
        public let error: NightjarError
        /// The number of the attempt, starting at 1.
        public let attempt: Int
        /// The client's own decision.
        public let verdict: Verdict
    }

    /// A caller's decision about a failed attempt.
    public enum RetryAction: Sendable {
        /// Do what the client decided.
        case asDecided
        /// Retry, regardless of the policy's decision, unless the body cannot be sent again. The server may then
        /// process the request twice. In a sandboxed script, the call is retried only if the client has decided to
        /// retry it, and not before the client's own wait.
        case again(after: Duration)
        /// Fail the call with this error.
        case stop
        /// The caller decides later with ``ClientTask/retry(_:)``.
        case later
    }
}
