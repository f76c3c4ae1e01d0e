/// Limits the retries of all calls of a client, so that a failing server is not overloaded.
///
/// A retry has a cost. A call that succeeds returns the cost of its own retries, plus a small credit. The cost of a
/// retry that does not begin is refunded. A retry that the caller requests against the decision of the policy is
/// neither charged nor credited.
///
/// Calls that fail at first and then succeed can therefore be retried indefinitely. A server that is down receives the
/// reserve of retries, and then only first attempts.
public struct RetryBudget: Sendable {
    public struct Settings: Sendable, Equatable {
        /// The number of retries that a new client may make before any call succeeds.
        public var reserve = 10
        /// The number of successes that earn one more retry. With 10, failing retries stay below a tenth of the
        /// successful calls.
        public var successesPerRetry = 10

        public init() {}
    }

    /// The upper bound of the settings: more than any client needs, and small enough that products do not overflow.
    private static let most = 1_000_000

    private let costOfRetry: Int
    private let capacity: Int
    private var balance: Int

    package init(_ settings: Settings = Settings()) {
        costOfRetry = min(max(settings.successesPerRetry, 1), RetryBudget.most)
        capacity = min(max(settings.reserve, 0), RetryBudget.most) * costOfRetry
        balance = capacity
    }

    /// The number of retries that could begin now.
    package var available: Int { balance / costOfRetry }

    /// Charges one retry.
    ///
    /// - Returns: false if the budget is exhausted. Nothing is then charged.
    mutating func takeRetry() -> Bool {
        guard balance >= costOfRetry else { return false }
        balance -= costOfRetry
        return true
    }

    /// Refunds a retry that was charged and does not begin, because the caller declined it or the call ended first.
    package mutating func refundRetry() { balance = min(balance + costOfRetry, capacity) }

    /// Records that a call succeeded.
    ///
    /// - Parameter retries: the number of retries charged for the call, usually 0.
    package mutating func succeeded(retries: Int) {
        let returned = min(max(retries, 0), RetryBudget.most) * costOfRetry
        balance = min(balance + returned + 1, capacity)
    }
}
