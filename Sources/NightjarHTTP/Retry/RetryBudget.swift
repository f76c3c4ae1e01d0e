/// Limits the retries of all calls of a client. Prevents retries from overloading a failing server.
///
/// Each retry that the policy allows is charged to the budget. A successful call returns the cost of its retries and a
/// small additional amount. A retry that does not begin is refunded. A retry that the caller requests against the
/// policy's decision does not affect the budget.
///
/// Calls to an unreliable server, where retried calls succeed, can therefore be retried indefinitely. While no call of
/// the client succeeds, the budget allows at most ``Settings/reserve`` retries.
public struct RetryBudget: Sendable {
    /// The settings of a retry budget.
    public struct Settings: Sendable, Equatable {
        /// The number of retries that a new client may make before any call succeeds.
        public var reserve = 10
        /// The number of successful calls that allow one more failing retry. With 10, failing retries beyond
        /// ``reserve`` are at most 10 % of the successful calls.
        public var successesPerRetry = 10

        public init() {}
    }

    /// The maximum of each setting. Products of two settings do not overflow.
    private static let maximum = 1_000_000

    private let costOfRetry: Int
    private let capacity: Int
    private var balance: Int

    public init(_ settings: Settings = Settings()) {
        costOfRetry = min(max(settings.successesPerRetry, 1), RetryBudget.maximum)
        capacity = min(max(settings.reserve, 0), RetryBudget.maximum) * costOfRetry
        balance = capacity
    }

    /// The number of retries that could begin now.
    public var available: Int { balance / costOfRetry }

    /// Charges a retry. If the budget is exhausted, charges nothing and returns false.
    mutating func takeRetry() -> Bool {
        guard balance >= costOfRetry else { return false }
        balance -= costOfRetry
        return true
    }

    /// Refunds a charged retry that does not begin, because the caller declined the retry or the call ended first.
    public mutating func refundRetry() { balance = min(balance + costOfRetry, capacity) }

    /// Records that a call succeeded.
    ///
    /// - Parameter retries: the number of retries charged for the call, usually 0.
    public mutating func succeeded(retries: Int) {
        let returned = min(max(retries, 0), RetryBudget.maximum) * costOfRetry
        balance = min(balance + returned + 1, capacity)
    }
}
