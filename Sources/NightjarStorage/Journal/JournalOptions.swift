import NightjarHTTP

/// The options of a ``Journal``. Processes that share a file may use different options.
package struct JournalOptions: Sendable {
    package var limits = JournalLimits()
    package var retention = JournalRetention()
    /// Seconds that one statement waits for other processes.
    package var lockTimeout = 5.0

    package init() {}
}

/// The limits of a ``Journal``. A value that exceeds one is rejected with an error that names the limit.
///
/// A worker can always record a result: the limits for the whole journal apply only to new entries.
package struct JournalLimits: Sendable {
    /// The number of entries that are not acknowledged, without those of outboxes, which have quotas of their own.
    package var maximumEntries = 10_000
    /// The size of the entries that are not acknowledged, in bytes, with an overhead of ``overhead`` for each.
    package var maximumBytes = 64 << 20
    /// The size of an input, a state or a result in bytes. At most ``largestValue``.
    package var maximumValue = 1 << 20
    /// The number of intents of one entry.
    package var maximumIntents = 1000
    /// The size of the payload or the result of an intent in bytes. At most ``largestValue``.
    package var maximumIntentValue = 16 << 10

    package init() {}

    /// The approximate size of an entry without its values, in bytes.
    static let overhead = 512
    package static let largestValue = 4 << 20
    /// The size of an id, a kind, a key or another name in bytes.
    package static let maximumName = 256
    package static let leaseSeconds = 0.001...86_400.0

    // MARK: Checks

    func check(_ entry: NewJournalEntry) throws(JournalError) {
        try JournalLimits.check(name: entry.id, "id")
        try JournalLimits.check(name: entry.kind, "kind")
        if let key = entry.orderKey { try JournalLimits.check(name: key, "order_key") }
        if let name = entry.credential { try JournalLimits.check(name: name, "credential") }
        try check(value: entry.input, "input", entry.id)
        try check(value: entry.state, "state", entry.id)
        try JournalLimits.check(delay: entry.delay)
    }

    func check(value: [UInt8], _ name: String, _ id: String) throws(JournalError) {
        try JournalLimits.check(value, name, id, min(maximumValue, JournalLimits.largestValue), .maximumValue)
    }

    func check(intentValue: [UInt8], _ name: String, _ id: String) throws(JournalError) {
        let limit = min(maximumIntentValue, JournalLimits.largestValue)
        try JournalLimits.check(intentValue, name, id, limit, .maximumIntentValue)
    }

    private static func check(
        _ value: [UInt8], _ name: String, _ id: String, _ limit: Int, _ kind: JournalLimit
    ) throws(JournalError) {
        guard value.count > limit else { return }
        throw JournalError(
            .limit(kind),
            "the \(name) of the journal entry \(quoted(id)) must have at most \(limit) bytes (\(kind.rawValue)), got \(value.count)"
        )
    }

    static func check(name text: String, _ name: String) throws(JournalError) {
        let count = text.utf8.count
        guard !(1...maximumName ~= count) || text.utf8.contains(0) else { return }
        throw JournalError(
            .invalidArgument,
            "the \(name) of a journal entry must have 1 to \(maximumName) bytes and no NUL, got \(quoted(text)) with \(count) bytes"
        )
    }

    static func check(delay: Duration) throws(JournalError) {
        guard delay < .zero || delay > .seconds(Duration.maximumSeconds) else { return }
        throw JournalError(.invalidArgument, NightjarError.duration("delay", delay.inSeconds).message)
    }

    static func check(lease: Duration) throws(JournalError) {
        guard !(leaseSeconds ~= lease.inSeconds) else { return }
        throw JournalError(
            .invalidArgument,
            "a lease must last \(leaseSeconds.lowerBound) to \(leaseSeconds.upperBound) seconds, got \(lease.inSeconds)"
        )
    }
}

/// The finished entries that a ``Journal`` keeps. Entries in doubt are never removed without an acknowledgement.
///
/// Ages are measured like leases, so that a change of the wall clock does not remove entries.
package struct JournalRetention: Sendable {
    /// The age of acknowledged entries. Until then, adding the same entry returns it instead of repeating its work.
    /// Default: zero, so that acknowledging an entry removes it.
    package var acknowledgedAge = Duration.zero
    /// The number of acknowledged entries.
    package var acknowledgedEntries = 10_000
    /// The size of the acknowledged entries in bytes.
    package var acknowledgedBytes = 16 << 20
    /// The age of finished entries that are not acknowledged. Default: nil, so that no result is removed unread.
    package var unacknowledgedAge: Duration?

    package init() {}
}
