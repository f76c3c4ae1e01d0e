/// The settings of an outbox.
public struct OutboxSettings: Sendable {
    /// The name of the outbox, 1 to 64 bytes. Outboxes of one journal that have the same name share their entries.
    public var name = "default"
    /// The number of entries that are sent concurrently, 1 to 64. Entries with the same key are never sent concurrently.
    public var concurrency = 4
    /// The number of entries that are not done.
    public var maximumEntries = 10_000
    /// The size of the entries that are not done, in bytes, with about 512 bytes for each entry.
    public var maximumBytes = 64 << 20
    /// The age at which an entry that was not accepted is parked.
    public var maximumAge = Duration.seconds(7 * 86_400)
    /// The number of attempts after which an entry is parked. Attempts that did not reach a server do not count.
    public var maximumAttempts = 20
    /// The upper bound of the wait after the first failed attempt. It doubles with each attempt. The wait is random.
    public var retryDelay = Duration.seconds(1)
    /// The upper bound of the wait between two attempts, unless the server asks for a longer one.
    public var maximumRetryDelay = Duration.seconds(300)
    /// The time for which an entry that is done is kept with its response, unless it is removed before.
    public var retention = Duration.seconds(86_400)
    /// The number of entries that are done and kept. The oldest are removed first.
    public var retainedEntries = 1000
    /// False: this outbox records entries, reads them and decides about them, and sends none. Other processes, or a later
    /// opening of the outbox, send them.
    public var sends = true

    public init() {}

    package static let concurrencies = 1...64
    package static let entryCounts = 1...1_000_000
    package static let byteCounts = 1...(1 << 40)
    package static let attemptCounts = 1...1_000_000
    private static let longestAge = Duration.seconds(3650 * 86_400)
    private static let longestName = 64

    /// - Throws: `invalid_argument`.
    package func check() throws(NightjarError) {
        guard 1...OutboxSettings.longestName ~= name.utf8.count, !name.utf8.contains(0) else {
            throw NightjarError(
                .invalidArgument,
                "the name of an outbox must have 1 to \(OutboxSettings.longestName) bytes and no NUL, got \(quoted(name))"
            )
        }
        try TransferSettings.check("concurrency", concurrency, OutboxSettings.concurrencies)
        try TransferSettings.check("max_entries", maximumEntries, OutboxSettings.entryCounts)
        try TransferSettings.check("max_bytes", maximumBytes, OutboxSettings.byteCounts)
        try TransferSettings.check("max_attempts", maximumAttempts, OutboxSettings.attemptCounts)
        try TransferSettings.check("keep_entries", retainedEntries, 0...1_000_000)
        let durations = [
            ("max_age", maximumAge), ("retry_delay", retryDelay), ("max_retry_delay", maximumRetryDelay),
            ("keep", retention),
        ]
        for (name, duration) in durations where duration < .zero || duration > OutboxSettings.longestAge {
            throw NightjarError(
                .invalidArgument,
                "\(name) must be between 0 and \(OutboxSettings.longestAge.inSeconds) seconds, got \(duration.inSeconds)"
            )
        }
    }

    var backoff: Backoff { Backoff(base: retryDelay, cap: max(retryDelay, maximumRetryDelay)) }
}
