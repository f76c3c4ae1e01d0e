import NightjarHTTP
import NightjarStorage

/// The entry of a transfer in a journal.
package enum TransferIdentity: Sendable {
    /// The transfer adds the entry with this id to the client's journal, or takes the existing one.
    case id(String)
    /// The caller has taken the entry.
    case taken(TakenEntry)
}

/// An entry that the caller of a transfer has taken.
package final class TakenEntry: Sendable {
    let lease: JournalLease
    let journal: Journal
    /// Decides what happens after a failure.
    let afterFailure: @Sendable (NightjarError) -> TransferEnding

    package init(
        _ lease: JournalLease, of journal: Journal, afterFailure: @escaping @Sendable (NightjarError) -> TransferEnding
    ) {
        (self.lease, self.journal, self.afterFailure) = (lease, journal, afterFailure)
    }
}

/// The end of the work on the entry of a transfer.
package enum TransferEnding: Sendable {
    /// The transfer has succeeded. Its result is stored.
    case done(JSONValue)
    /// The transfer has failed permanently. The error is stored.
    case failed(NightjarError)
    /// The transfer was cancelled. The entry keeps no result.
    case cancelled
    /// The transfer continues later. A transfer with an unresolved intent is then in doubt.
    case pending(after: Duration)
    /// The entry is removed.
    case removed
}

extension JournalLease {
    /// Ends the work on the entry of a transfer that could not start.
    package func end(_ ending: TransferEnding, in journal: Journal) throws(JournalError) {
        try TransferEntryWriter(journal, self).end(ending)
    }

    /// The duration of the lease of a transfer. An ended process loses its leases at once, a suspended one after this time.
    package static let transferDuration = Duration.seconds(60)
}
