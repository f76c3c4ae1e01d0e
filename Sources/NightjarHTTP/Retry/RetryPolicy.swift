/// Decides whether a call that has failed is tried again, and when.
///
/// A request is repeated only where that cannot do twice what was asked for once: it has provably not been processed,
/// its method is idempotent (RFC 9110 section 9.2.2), or it carries an idempotency key. Moments are nanoseconds of a
/// clock that does not jump.
public struct RetryPolicy: Sendable {
    /// How an attempt has ended.
    public struct Outcome: Sendable, Equatable {
        let isTransient: Bool
        public let mayHaveBeenProcessed: Bool
        let retryAfter: Duration?

        /// An answer's head came.
        ///
        /// - Parameter retryAfter: from ``RetryAfter/duration(_:now:)``.
        public init(status: Int, retryAfter: Duration?) {
            isTransient = Outcome.isTransient(status)
            // Both mean that the server has turned the request away: RFC 8470 section 5.2, RFC 6585 section 4. Any
            // other may come from a gateway, behind which the request is still at work.
            mayHaveBeenProcessed = status != 425 && status != 429
            self.retryAfter = retryAfter
        }

        /// Whether the status is of the moment rather than of the request.
        public static func isTransient(_ status: Int) -> Bool {
            switch status {
            case 408, 425, 429, 500, 502, 503, 504: true
            default: false
            }
        }

        /// No answer came, or not the whole of one.
        public init(_ error: NightjarError) {
            if [.rateLimited, .client, .server].contains(error.kind), let status = error.status {
                self = Outcome(status: status, retryAfter: error.retryAfter)
                return
            }
            // The total limit is the call's and not the attempt's: nothing is left of it.
            let isCallsEnd = error.kind == .timeout && error.phase == .total
            self = Outcome(
                isTransient: error.isRetryable && !isCallsEnd,
                mayHaveBeenProcessed: error.requestMayHaveBeenProcessed, retryAfter: error.retryAfter)
        }

        private init(isTransient: Bool, mayHaveBeenProcessed: Bool, retryAfter: Duration?) {
            self.isTransient = isTransient
            self.mayHaveBeenProcessed = mayHaveBeenProcessed
            self.retryAfter = retryAfter
        }
    }

    public enum Verdict: Sendable, Equatable {
        case again(after: Duration)
        case stop(Reason)
    }

    /// Why there is no further attempt.
    public enum Reason: Sendable, Equatable {
        /// An answer that counts, or an error that another attempt would meet again.
        case notTransient
        /// A repetition could do it twice.
        case mayHaveBeenProcessed
        /// The content was given as a stream, and some of it is gone.
        case bodyIsGone
        /// Part of the answer is with the caller.
        case answerIsGone
        case attemptsUsedUp
        /// The server asks for more than ``RetrySettings/longestWait``.
        case serverAsksForLongWait(Duration)
        /// The wait would end behind the call's deadline.
        case pastDeadline(Duration)
        /// Too many calls fail; see ``RetryBudget``.
        case budgetSpent
    }

    /// Attempts that have ended.
    public private(set) var attempts = 0
    private let settings: RetrySettings
    private let deadline: UInt64?

    /// - Parameter deadline: that of all attempts together.
    public init(_ settings: RetrySettings, deadline: UInt64?) {
        self.settings = settings
        self.deadline = deadline
    }

    /// What was attempted. A redirect may have made it another than the call began with.
    public struct Attempt: Sendable {
        var isRepeatable: Bool
        var bodyIsReplayable: Bool
        var answerIsGone: Bool

        /// - Parameters:
        ///   - hasIdempotencyKey: one that stays the same in every attempt.
        ///   - bodyIsReplayable: the request's content can be sent again, or none of it was taken yet.
        ///   - answerIsGone: part of the answer is with the caller.
        public init(_ method: Method, hasIdempotencyKey: Bool, bodyIsReplayable: Bool, answerIsGone: Bool = false) {
            isRepeatable = method.isIdempotent || hasIdempotencyKey
            self.bodyIsReplayable = bodyIsReplayable
            self.answerIsGone = answerIsGone
        }
    }

    /// An attempt has ended. A verdict to try again has been paid for from the budget; if the next attempt does not begin,
    /// refund it (``RetryBudget/refundRetry()``).
    public mutating func ended(
        _ outcome: Outcome, _ attempt: Attempt, now: UInt64, budget: inout RetryBudget,
        using random: inout some RandomNumberGenerator
    ) -> Verdict {
        attempts += 1
        guard outcome.isTransient else { return .stop(.notTransient) }
        guard attempt.isRepeatable || !outcome.mayHaveBeenProcessed else { return .stop(.mayHaveBeenProcessed) }
        guard attempt.bodyIsReplayable else { return .stop(.bodyIsGone) }
        guard !attempt.answerIsGone else { return .stop(.answerIsGone) }
        guard attempts < settings.maximumAttempts else { return .stop(.attemptsUsedUp) }
        let asked = outcome.retryAfter ?? .zero
        guard asked <= settings.longestWait else { return .stop(.serverAsksForLongWait(asked)) }
        let wait = max(asked, backoff(using: &random))
        // An attempt that begins at the deadline has no time to end.
        if let deadline, now.later(by: wait) >= deadline { return .stop(.pastDeadline(wait)) }
        guard budget.takeRetry() else { return .stop(.budgetSpent) }
        return .again(after: wait)
    }

    /// Anything between nothing and the ceiling ("full jitter"), so that those who failed together do not come back
    /// together.
    private func backoff(using random: inout some RandomNumberGenerator) -> Duration {
        let base = UInt64(max(settings.base.nanosecondsClamped, 0))
        let cap = UInt64(max(settings.cap.nanosecondsClamped, 0))
        // Beyond 63 doublings even a nanosecond is longer than every cap.
        let doublings = min(attempts - 1, 63)
        let (scaled, overflow) = base.multipliedReportingOverflow(by: 1 << UInt64(doublings))
        let ceiling = overflow ? cap : min(scaled, cap)
        // The upper half of the product is a number from 0 to the ceiling. Not `random(in:)`, which asks again until it
        // likes the number: broken chance would hang it.
        return .nanoseconds(Int64(clamping: random.next().multipliedFullWidth(by: ceiling + 1).high))
    }
}
