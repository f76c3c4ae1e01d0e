/// The rules that the settings of downloads and uploads share: ranges, waits, and the errors after which they continue.
package enum TransferSettings {
    package static let attemptCounts = 1...1_000_000
    package static let rates = 1...(1 << 40)
    private static let longestRetryDelay = Duration.seconds(300)
    /// The longest wait between two attempts, unless `retry_delay` is longer.
    private static let longestWait = Duration.seconds(60)

    /// - Throws: `invalid_argument`.
    static func check(
        attempts: Int, maximumRate: Int?, retryDelay: Duration
    ) throws(NightjarError) {
        try check("attempts", attempts, attemptCounts)
        if let maximumRate { try check("max_rate", maximumRate, rates) }
        guard retryDelay >= .zero, retryDelay <= longestRetryDelay else {
            throw NightjarError(
                .invalidArgument,
                "retry_delay must be between 0 and \(longestRetryDelay.inSeconds) seconds, got \(retryDelay.inSeconds)")
        }
    }

    /// Checks the id of a transfer in the journal.
    ///
    /// - Throws: `invalid_argument`.
    package static func check(id: String) throws(NightjarError) {
        guard !idLengths.contains(id.utf8.count) || id.utf8.contains(0) else { return }
        throw NightjarError(
            .invalidArgument,
            "id must have \(idLengths.lowerBound) to \(idLengths.upperBound) bytes and no NUL, got \(quoted(id)) with \(id.utf8.count) bytes"
        )
    }

    private static let idLengths = 1...256

    static func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws(NightjarError) {
        guard range.contains(value) else {
            throw NightjarError(
                .invalidArgument, "\(name) must be between \(range.lowerBound) and \(range.upperBound), got \(value)")
        }
    }

    /// Returns the wait before the next attempt.
    ///
    /// - Parameter failures: The number of consecutive failures, from 1.
    static func wait(
        afterFailures failures: Int, _ retryDelay: Duration, _ error: NightjarError? = nil,
        using random: inout some RandomNumberGenerator
    ) -> Duration {
        let backoff = Backoff(base: retryDelay, cap: max(retryDelay, longestWait))
        return max(backoff.wait(afterAttempt: failures, using: &random), error?.retryAfter ?? .zero)
    }

    /// Whether the server asks for a wait that is longer than a transfer waits.
    static func waitIsTooLong(_ error: NightjarError) -> Bool { error.retryAfter ?? .zero > longestWait }

    /// Whether a transfer sends the request again after this error.
    static func isTemporary(_ error: NightjarError) -> Bool { error.isRetryable && !waitIsTooLong(error) }
}
