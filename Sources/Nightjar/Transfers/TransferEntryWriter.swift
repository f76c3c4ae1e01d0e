import NightjarHTTP
import NightjarStorage

/// The operations on the journal entry of a transfer. They block. Worker threads use the object, one at a time.
final class TransferEntryWriter: @unchecked Sendable {
    private let journal: Journal
    private let lease: JournalLease
    /// The intent of a request that must not be repeated. Nil: there is none, or its result is known.
    private var intent: Int64?
    /// The requests of other processes, as of the last write. Nil before the first one.
    private(set) var requests: JournalSignals?

    init(_ journal: Journal, _ lease: JournalLease) {
        (self.journal, self.lease) = (journal, lease)
        intent = lease.unresolvedIntents.first?.number
    }

    /// The state that an earlier transfer has saved. Nil: there is none.
    var state: String? {
        lease.entry.state.isEmpty ? nil : String(decoding: lease.entry.state, as: UTF8.self)
    }
    /// The idempotency key of a request whose response was lost. Nil: there is none.
    var idempotencyKey: String? { lease.unresolvedIntents.first?.key }

    // MARK: Opening

    /// The result of opening an entry.
    enum Opening: Sendable {
        case taken(TransferEntryWriter)
        /// The transfer has succeeded before, with this result.
        case ended([UInt8])
        /// Another transfer has the entry.
        case inProgress
        /// The transfer may be complete, and must not be repeated.
        case inDoubt
    }

    /// Adds the entry of a transfer, or takes the existing one.
    ///
    /// - Parameters:
    ///   - kind: `download` or `upload`.
    ///   - input: The members of the description of the transfer. They must be equal to those of an existing entry.
    ///   - canRepeat: Whether the transfer may be repeated although the server may have processed it.
    /// - Throws: `invalid_argument` for another input; `storage`; `too_large` if the journal is full; `forked`.
    static func open(
        _ journal: Journal, _ id: String, kind: String, input: [JSONValue.Member], canRepeat: Bool
    ) throws(NightjarError) -> Opening {
        let input = Array(try JSONValue.object(input).encoded().readableBytesView)
        do throws(JournalError) {
            let entry = try journal.add(NewJournalEntry(id: id, kind: kind, input: input))
            switch entry.phase {
            case .done: return .ended(entry.result ?? [])
            case .inDoubt: return .inDoubt
            case .failed, .cancelled: try journal.retry(id)
            case .pending, .running: break
            }
            guard let lease = try journal.take(id: id, for: JournalLease.transferDuration) else { return .inProgress }
            return try use(lease, of: journal, canRepeat: canRepeat)
        } catch {
            switch error.cause {
            // Another transfer has used the entry meanwhile.
            case .wrongPhase, .leaseLost, .notFound: return .inProgress
            case .conflict:
                throw NightjarError(
                    .invalidArgument,
                    "the journal has a transfer \(quoted(id)) with another URL, method, file or protocol; use another id, or remove the transfer"
                )
            case .limit, .invalidArgument, .forked, .database: throw error.failure
            }
        }
    }

    /// Continues the transfer of an entry that was taken. Finishes the entry if the transfer has ended or is in doubt.
    static func use(_ lease: JournalLease, of journal: Journal, canRepeat: Bool) throws(JournalError) -> Opening {
        // The process has ended after the result of the request, and before the end of the entry.
        if let result = lease.intents.compactMap(\.result).first {
            try journal.finish(lease, as: .done, result: result)
            return .ended(result)
        }
        if let intent = lease.unresolvedIntents.first, intent.key == nil, !canRepeat {
            try journal.finish(lease, as: .inDoubt)
            return .inDoubt
        }
        return .taken(TransferEntryWriter(journal, lease))
    }

    /// Returns the result of a transfer that has succeeded. Nil if there is none.
    ///
    /// - Parameter input: The first members of its description.
    static func result(
        _ journal: Journal, _ id: String, kind: String, input: [JSONValue.Member]
    ) -> [UInt8]? {
        guard let entry = try? journal.entry(id), entry.phase == .done, entry.kind.isExactly(kind),
            case .object(let members)? = try? JSONValue(parsing: String(decoding: entry.input, as: UTF8.self)),
            members.starts(with: input, by: { $0.name.isExactly($1.name) && $0.value == $1.value })
        else { return nil }
        return entry.result
    }

    // MARK: During the transfer

    /// Saves the state. Nil: a later transfer starts at the first byte.
    ///
    /// A state contains the result of the request with an intent: the URL of the upload.
    func save(_ state: String?) throws(JournalError) {
        let bytes = Array((state ?? "").utf8)
        if let intent, state != nil {
            requests = try journal.recordResult([], of: intent, state: bytes, keepsIntent: false, lease)
            self.intent = nil
        } else {
            requests = try journal.update(lease, state: bytes)
        }
    }

    /// Records that a request will be sent that must not be repeated, or only with its idempotency key.
    func recordIntent(_ key: String?) throws(JournalError) {
        guard intent == nil else { return }
        switch try journal.recordIntent("content", key: key, lease) {
        case .perform(let found), .performed(let found), .unresolved(let found): intent = found.number
        }
    }

    /// Withdraws the intent of a request that the server has rejected, or has not processed.
    func withdrawIntent() throws(JournalError) {
        guard let found = intent.take() else { return }
        requests = try journal.withdrawIntent(found, lease)
    }

    func extendLease() throws(JournalError) { requests = try journal.extend(lease) }

    // MARK: The end

    /// Ends the lease.
    func end(_ ending: TransferEnding) throws(JournalError) {
        switch ending {
        case .done(let result):
            let bytes = Self.bytes(result)
            if let intent { try journal.recordResult(bytes, of: intent, lease) }
            try journal.finish(lease, as: .done, result: bytes)
        case .failed(let error):
            // The request with the intent may have been processed: a later transfer must not repeat it.
            let ending: JournalEnding = intent == nil ? .failed : .inDoubt
            try journal.finish(lease, as: ending, result: Self.bytes(error.transferResult))
        case .cancelled:
            try withdrawIntent()
            try journal.finish(lease, as: .cancelled)
        case .pending(let delay): try journal.release(lease, after: delay)
        case .removed:
            try withdrawIntent()
            try journal.finish(lease, as: .cancelled)
            try journal.acknowledge(lease.id)
        }
    }

    private static func bytes(_ value: JSONValue) -> [UInt8] {
        (try? value.encoded()).map { Array($0.readableBytesView) } ?? []
    }

    /// Returns the events for the log.
    func takeNotes() -> [String] { journal.takeNotes() }
}
