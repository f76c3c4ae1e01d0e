/// What all calls of a client may spend on repetitions, so that a server in trouble is not stormed.
///
/// A retry costs; a call that succeeds gives back what its own retries cost, and a little more. A retry that was paid for and
/// does not begin is refunded. A retry that the caller demands although the policy advises against it is neither charged nor
/// given back. A server that is merely
/// unreliable can so be overcome for ever, while one that is down sees the reserve and then nothing beyond the calls
/// themselves.
public struct RetryBudget: Sendable {
    public struct Settings: Sendable, Equatable {
        /// Retries that a fresh client may make without any success.
        public var reserve = 10
        /// Successes that earn another retry: 10 keep retries that fail under a tenth of the calls that succeed.
        public var successesPerRetry = 10

        public init() {}
    }

    /// More than any client needs, and small enough that no product of two overflows.
    private static let most = 1_000_000

    private let costOfRetry: Int
    private let capacity: Int
    private var balance: Int

    public init(_ settings: Settings = Settings()) {
        costOfRetry = min(max(settings.successesPerRetry, 1), RetryBudget.most)
        capacity = min(max(settings.reserve, 0), RetryBudget.most) * costOfRetry
        balance = capacity
    }

    /// Retries that could begin now.
    public var available: Int { balance / costOfRetry }

    /// - Returns: false when there is nothing left; then nothing is taken.
    mutating func takeRetry() -> Bool {
        guard balance >= costOfRetry else { return false }
        balance -= costOfRetry
        return true
    }

    /// Returns the cost of a retry that was paid for and does not begin: the caller declined it, or the call ended before.
    public mutating func refundRetry() { balance = min(balance + costOfRetry, capacity) }

    /// A call ended well.
    ///
    /// - Parameter retries: those that it has paid for, none for most.
    public mutating func succeeded(retries: Int) {
        let returned = min(max(retries, 0), RetryBudget.most) * costOfRetry
        balance = min(balance + returned + 1, capacity)
    }
}
