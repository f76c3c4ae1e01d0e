import Glibc
import Nightjar
import NightjarCrypto
import NightjarHTTP
import NightjarStorage

/// Starts the programs of `on_complete` when their transfers have ended. Used on the daemon's thread.
///
/// Each program has an entry in the journal before its transfer runs. The entry is removed after the program was started. If
/// the daemon is killed in between, the next one starts the program again.
final class CompletionPrograms {
    private let journal: Journal
    private let path: String
    private let log: (_ id: String, _ message: String) -> Void
    private var children: [pid_t] = []

    /// - Parameters:
    ///   - path: The path of the journal, for the programs.
    ///   - log: Called with the id of a transfer whose program was started or could not be started.
    init(_ journal: Journal, path: String, log: @escaping (_ id: String, _ message: String) -> Void) {
        (self.journal, self.path, self.log) = (journal, path, log)
    }

    /// Records the program of a transfer that is going to run.
    func record(_ id: String, _ description: TransferDescription) throws(JournalError) {
        guard !description.onComplete.isEmpty else { return }
        let words = JSONValue.array(([id] + description.onComplete).map { .string($0) })
        guard let input = try? words.encoded() else { return }
        // An id of the transfer and a kind may be longer than the id of an entry.
        let name = "\(CompletionPrograms.kind) \(Hexadecimal.encode(Digest.sha256(Array(id.utf8))))"
        _ = try journal.add(
            NewJournalEntry(id: name, kind: CompletionPrograms.kind, input: Array(input.readableBytesView)))
    }

    /// Starts the programs of transfers that have ended. Returns the number of programs that wait.
    func check() throws(JournalError) -> Int {
        children.removeAll { waitpid($0, nil, WNOHANG) != 0 }
        var waiting = 0
        for entry in try journal.entries(kind: CompletionPrograms.kind, phase: .pending, limit: 1000) {
            let value = try? JSONValue(parsing: String(decoding: entry.input, as: UTF8.self))
            guard let words = value?.texts, words.count > 1 else {
                try journal.remove(entry.id)
                continue
            }
            let transfer = try journal.entry(words[0])
            if let transfer, !transfer.phase.isFinished {
                waiting += 1
                continue
            }
            // Somebody who cancels or removes a transfer does not wait for its end.
            if let transfer, transfer.phase != .cancelled { start(Array(words[1...]), transfer) }
            try journal.remove(entry.id)
        }
        return waiting
    }

    private func start(_ words: [String], _ transfer: JournalEntry) {
        let variables = [
            "NIGHTJAR_TRANSFER_ID": transfer.id, "NIGHTJAR_TRANSFER_STATE": transfer.phase.name,
            "NIGHTJAR_JOURNAL": path,
        ]
        let child = Program(words[0], Array(words.dropFirst()), variables: variables).start(hasOwnSession: true)
        if child >= 0 {
            children.append(child)
            log(transfer.id, "started \(quoted(words[0]))")
        } else {
            log(transfer.id, "starting \(quoted(words[0])) failed: \(String(cString: strerror(-child)))")
        }
    }

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
