import Nightjar
import NightjarHTTP
import NightjarStorage
import NightjarSystem

/// Starts the programs of `on_complete` when their transfers have ended. Used on the daemon's thread.
///
/// Each program has an entry in the journal before its transfer runs. The entry is removed after the program was started. If
/// the daemon is killed in between, the next one starts the program again.
final class CompletionPrograms {
    private let journal: Journal
    private let path: String
    private let log: (_ id: String, _ message: String) -> Void
    private var children: [pid_t] = []
    /// The programs of running transfers that the journal has no space for, by the numbers of the transfers.
    private var unrecorded: [Int64: [String]] = [:]

    /// - Parameters:
    ///   - path: The path of the journal, for the programs.
    ///   - log: Called with the id of a transfer whose program was started or could not be started.
    init(_ journal: Journal, path: String, log: @escaping (_ id: String, _ message: String) -> Void) {
        (self.journal, self.path, self.log) = (journal, path, log)
    }

    /// Records the program of a transfer that is going to run.
    func record(_ transfer: JournalEntry, _ description: TransferDescription) throws(JournalError) {
        guard !description.onComplete.isEmpty else { return }
        let words = JSONValue.array(([transfer.id] + description.onComplete).map { .string($0) })
        guard let input = try? words.encoded() else { return }
        do throws(JournalError) {
            _ = try journal.add(
                NewJournalEntry(
                    id: CompletionPrograms.name(transfer.number), kind: CompletionPrograms.kind,
                    input: Array(input.readableBytesView)))
        } catch {
            guard case .limit = error.cause else { throw error }
            unrecorded[transfer.number] = description.onComplete
        }
    }

    /// Starts the program of a transfer that has ended. The entry of the transfer may have been removed meanwhile.
    func ended(_ transfer: JournalEntry, _ state: BackgroundTransfer.State) throws(JournalError) {
        if let words = unrecorded.removeValue(forKey: transfer.number) { return start(words, transfer.id, state) }
        guard let entry = try journal.entry(CompletionPrograms.name(transfer.number)) else { return }
        try start(entry, transfer.id, state)
    }

    /// Starts the programs whose transfers have ended while no worker ran, and forgets those of transfers that were cancelled or
    /// removed.
    ///
    /// - Parameter isRunning: Whether the transfer with this number runs. ``ended(_:_:)`` is called for it.
    func check(_ isRunning: (Int64) -> Bool) throws(JournalError) {
        children.removeAll { waitpid($0, nil, WNOHANG) != 0 }
        for entry in try journal.entries(kind: CompletionPrograms.kind, phase: .pending, limit: 1000) {
            let number = Int64(entry.id.dropFirst(CompletionPrograms.kind.count + 1))
            if let number, isRunning(number) { continue }
            guard let id = CompletionPrograms.words(entry)?.first, let transfer = try journal.entry(id),
                transfer.number == number
            else {
                try journal.remove(entry.id)
                continue
            }
            guard transfer.phase.isFinished else { continue }
            try start(entry, id, BackgroundTransfer.State(transfer))
        }
    }

    /// Starts the program of an entry, and removes the entry.
    private func start(
        _ entry: JournalEntry, _ id: String, _ state: BackgroundTransfer.State
    ) throws(JournalError) {
        if let words = CompletionPrograms.words(entry)?.dropFirst() { start(Array(words), id, state) }
        try journal.remove(entry.id)
    }

    /// Starts a program, unless the transfer was cancelled.
    private func start(_ words: [String], _ id: String, _ state: BackgroundTransfer.State) {
        guard let path = words.first, state != .cancelled else { return }
        let variables = [
            "NIGHTJAR_TRANSFER_ID": id, "NIGHTJAR_TRANSFER_STATE": state.rawValue, "NIGHTJAR_JOURNAL": self.path,
        ]
        let child = Program(path, Array(words.dropFirst()), variables: variables).start(hasOwnSession: true)
        if child >= 0 { children.append(child) }
        let reason = child >= 0 ? "" : String(cString: strerror(-child))
        log(id, child >= 0 ? "started \(quoted(path))" : "starting \(quoted(path)) failed: \(reason)")
    }

    /// Returns the id of the transfer, the program and its arguments.
    private static func words(_ entry: JournalEntry) -> [String]? {
        (try? JSONValue(parsing: String(decoding: entry.input, as: UTF8.self)))?.texts
    }

    /// Returns the id of the entry for the program of a transfer. The number of the transfer is not used again.
    private static func name(_ transfer: Int64) -> String { "\(kind) \(transfer)" }

    private static let kind = "background program"
}

extension JSONValue {
    /// The items of an array of texts. Nil for another value.
    fileprivate var texts: [String]? {
        guard case .array(let items) = self else { return nil }
        let texts = items.compactMap { if case .string(let text) = $0 { text } else { nil } as String? }
        return texts.count == items.count ? texts : nil
    }
}
