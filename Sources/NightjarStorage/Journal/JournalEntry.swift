import NightjarHTTP

/// An entry to be added to a ``Journal``.
package struct NewJournalEntry: Sendable {
    /// The identity that the caller has chosen, unique in the journal.
    package var id: String
    /// The kind of work, such as `download`. Workers take entries of one kind.
    package var kind: String
    /// The description of the work. The journal does not interpret it. It must not contain secrets.
    package var input: [UInt8]
    /// The first state of the worker.
    package var state: [UInt8] = []
    /// Entries of the same kind and order key are taken in the order in which they were added. The next entry is taken
    /// after all earlier ones are done, failed or cancelled. An entry in doubt blocks the later ones.
    package var orderKey: String?
    /// The name of the credential store that the worker uses.
    package var credential: String?
    /// The time until the first attempt. Default: zero.
    package var delay = Duration.zero

    package init(id: String, kind: String, input: [UInt8]) {
        (self.id, self.kind, self.input) = (id, kind, input)
    }
}

/// An entry of a ``Journal`` at the time of the operation that returned it.
package struct JournalEntry: Sendable, Equatable {
    /// The position of the entry in the order in which entries were added.
    package let number: Int64
    package let id: String
    package let kind: String
    package let input: [UInt8]
    /// The last state that a worker has stored.
    package let state: [UInt8]
    /// The result of a finished entry. Nil before its end.
    package let result: [UInt8]?
    package let orderKey: String?
    package let credential: String?
    package let phase: JournalPhase
    /// True if the caller has requested the cancellation and a worker has not finished the entry yet.
    package let isCancelRequested: Bool
    /// True if no worker takes the entry.
    package let isPaused: Bool
    package let isAcknowledged: Bool
    /// The number of leases of the entry, without those that were released uncounted.
    package let attempts: Int
    /// The time of the next attempt of a pending entry, or the expiry of the lease of a running entry.
    package let due: Timestamp?
    package let created: Timestamp?
    package let updated: Timestamp?
}

/// The record of an effect: written before the effect, and completed with its result afterwards.
package struct JournalIntent: Sendable, Equatable {
    /// The number of the intent in its entry, from 1.
    package let number: Int64
    /// The name of the effect, unique in its entry, such as `part 3`.
    package let name: String
    /// The idempotency key of the effect, if there is one.
    package let key: String?
    package let payload: [UInt8]
    /// The result of the effect. Nil if no worker has recorded it: the effect may or may not have happened.
    package let result: [UInt8]?
    /// The fencing number of the lease that recorded the intent.
    package let fence: Int64
}

/// The decision of ``Journal/recordIntent(_:key:payload:_:)``.
package enum JournalIntentDecision: Sendable, Equatable {
    /// The intent is recorded. The worker performs the effect, and then records its result.
    case perform(JournalIntent)
    /// The effect has a result. The worker does not repeat it.
    case performed(JournalIntent)
    /// An earlier lease has recorded the intent, but no result. The worker finds out whether the effect happened: it
    /// requests the state of the server, or repeats the effect with the same idempotency key. Then it records the
    /// result, or withdraws the intent. If it cannot find out, it finishes the entry as in doubt.
    case unresolved(JournalIntent)
}

/// The right of one worker to work on an entry.
///
/// Each lease has a fencing number that is greater than those of all earlier leases of the journal. Each write names the
/// number, and is rejected if the entry has another number.
package struct JournalLease: Sendable {
    /// The entry when it was taken.
    package let entry: JournalEntry
    package let fence: Int64
    /// The duration. Each write of the worker starts it again.
    package let duration: Duration
    /// The intents of the entry when it was taken, in their order.
    package let intents: [JournalIntent]
    /// True if the lease before this one has expired or its process has ended, so that its work was interrupted.
    package let isAdopted: Bool

    package var id: String { entry.id }
    /// The intents without results.
    package var unresolvedIntents: [JournalIntent] { intents.filter { $0.result == nil } }
}

/// The requests of the caller to the worker of an entry. Each write of the worker returns them.
package struct JournalSignals: Sendable, Equatable {
    /// The worker ends the work: it releases the entry, or finishes it as cancelled or in doubt.
    package let isCancelRequested: Bool
    /// The worker releases the entry.
    package let isPaused: Bool
}
