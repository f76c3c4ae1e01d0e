/// Decides whether and when a failed call is retried.
///
/// The policy retries a request only if the server cannot have processed the request, if the method is idempotent (RFC
/// 9110 section 9.2.2), if the caller declares the request idempotent, or if the request has an idempotency key. Times
/// are nanoseconds of a monotonic clock.
public struct RetryPolicy: Sendable {
    /// The result of an attempt.
    public struct Outcome: Sendable, Equatable {
        let isTransient: Bool
        public let mayHaveBeenProcessed: Bool
        let retryAfter: Duration?

        /// Creates the outcome of an attempt that received a response head.
        ///
        /// - Parameter retryAfter: the result of `RetryAfter/duration(_:now:)`.
        public init(status: Int, retryAfter: Duration?) {
            isTransient = Outcome.isTransient(status)
            // With 425 (RFC 8470 section 5.2) and 429 (RFC 6585 section 4), the server rejects the request without
            // processing it. A gateway may send another status while the server still processes the request.
            mayHaveBeenProcessed = status != 425 && status != 429
            self.retryAfter = retryAfter
        }

        /// Returns true if the status describes a temporary condition.
        public static func isTransient(_ status: Int) -> Bool {
            switch status {
            case 408, 425, 429, 500, 502, 503, 504: true
            default: false
            }
        }

        /// Creates the outcome of an attempt that failed.
        public init(_ error: NightjarError) {
            if [.rateLimited, .client, .server].contains(error.kind), let status = error.status {
                self = Outcome(status: status, retryAfter: error.retryAfter)
                return
            }
            // The total timeout limits the whole call, so no time is left for another attempt.
            let isCompletion = error.kind == .timeout && error.phase == .total
            self = Outcome(
                isTransient: error.isRetryable && !isCompletion,
                mayHaveBeenProcessed: error.requestMayHaveBeenProcessed, retryAfter: error.retryAfter)
        }

        private init(isTransient: Bool, mayHaveBeenProcessed: Bool, retryAfter: Duration?) {
            self.isTransient = isTransient
            self.mayHaveBeenProcessed = mayHaveBeenProcessed
            self.retryAfter = retryAfter
        }
    }

    /// The decision about a failed attempt.
    public enum Verdict: Sendable, Equatable {
        case again(after: Duration)
        case stop(Reason)
    }

    /// The reason why there is no further attempt.
    public enum Reason: Sendable, Equatable {
        /// The response is final, or the error would occur again.
        case notTransient
        /// A retry could repeat the effect of the request.
        case mayHaveBeenProcessed
        /// The body is a stream that was consumed, at least in part, and cannot be sent again.
        case bodyWasConsumed
        /// Part of the response was delivered to the caller.
        case responseWasDelivered
        case attemptsExhausted
        /// The server requested a wait longer than ``RetrySettings/longestWait``.
        case serverRequestedLongWait(Duration)
        /// The wait would end at or after the call's deadline.
        case pastDeadline(Duration)
        /// The retry budget is exhausted. See ``RetryBudget``.
        case budgetSpent
    }

    /// The number of attempts that have ended.
    public private(set) var attempts = 0
    private let settings: RetrySettings
    private let deadline: UInt64?

    /// - Parameter deadline: the deadline of all attempts together. Nil if there is no deadline.
    public init(_ settings: RetrySettings, deadline: UInt64?) {
        self.settings = settings
        self.deadline = deadline
    }

    /// The properties of an attempt. A redirect may have changed them since the call started.
    public struct Attempt: Sendable {
        var isRepeatable: Bool
        var bodyIsReplayable: Bool
        var responseWasDelivered: Bool

        /// - Parameters:
        ///   - hasIdempotencyKey: true if the request has a key that is the same in every attempt, or if the caller
        ///     declares the request idempotent.
        ///   - bodyIsReplayable: true if the body can be sent again, or if no part of the body was consumed.
        ///   - responseWasDelivered: true if part of the response was delivered to the caller.
        public init(
            _ method: Method, hasIdempotencyKey: Bool, bodyIsReplayable: Bool, responseWasDelivered: Bool = false
        ) {
            isRepeatable = method.isIdempotent || hasIdempotencyKey
            self.bodyIsReplayable = bodyIsReplayable
            self.responseWasDelivered = responseWasDelivered
        }
    }

    /// Records the end of an attempt and decides whether to retry. A decision to retry is charged to the budget. If the
    /// next attempt does not begin, the caller must call ``RetryBudget/refundRetry()``.
    public mutating func ended(
        _ outcome: Outcome, _ attempt: Attempt, now: UInt64, budget: inout RetryBudget,
        using random: inout some RandomNumberGenerator
    ) -> Verdict {
        attempts += 1
        guard outcome.isTransient else { return .stop(.notTransient) }
        guard attempt.isRepeatable || !outcome.mayHaveBeenProcessed else { return .stop(.mayHaveBeenProcessed) }
        guard attempt.bodyIsReplayable else { return .stop(.bodyWasConsumed) }
        guard !attempt.responseWasDelivered else { return .stop(.responseWasDelivered) }
        guard attempts < settings.maximumAttempts else { return .stop(.attemptsExhausted) }
        let requested = outcome.retryAfter ?? .zero
        guard requested <= settings.longestWait else { return .stop(.serverRequestedLongWait(requested)) }
        let backoff = Backoff(base: settings.base, cap: settings.cap).wait(afterAttempt: attempts, using: &random)
        let wait = max(requested, backoff)
        // An attempt that begins at the deadline would time out immediately.
        if let deadline, now.later(by: wait) >= deadline { return .stop(.pastDeadline(wait)) }
        guard budget.takeRetry() else { return .stop(.budgetSpent) }
        return .again(after: wait)
    }
}
