import NightjarHTTP
import NightjarStorage
import Synchronization

/// The journal of a client. The first transfer with an id, or an outbox, opens it.
final class ClientJournal: Sendable {
    private let configuredPath: String?
    private let isEphemeral: Bool
    private let opened = Mutex<Journal?>(nil)
    /// The journals of outboxes. Each of them owns leases.
    private let others = Mutex<[WeakJournal]>([])

    private struct WeakJournal: @unchecked Sendable {
        weak var journal: Journal?
    }

    init(_ configuration: Configuration) {
        (configuredPath, isEphemeral) = (configuration.journalPath, configuration.isEphemeral)
    }

    /// - Throws: `invalid_argument` for an ephemeral client, and if no path is known.
    func open() throws(NightjarError) -> Journal {
        let path = try path(for: "a transfer with an id")
        return opened.withLock { journal in
            if let journal { return journal }
            let created = Journal(path: path)
            journal = created
            return created
        }
    }

    /// Returns another object for the same file, with its own leases and limits.
    ///
    /// - Parameter purpose: For example `an outbox`.
    func open(for purpose: String, _ options: JournalOptions) throws(NightjarError) -> Journal {
        let journal = Journal(path: try path(for: purpose), options: options)
        others.withLock { others in
            others.removeAll { $0.journal == nil }
            others.append(WeakJournal(journal: journal))
        }
        return journal
    }

    private func path(for purpose: String) throws(NightjarError) -> String {
        guard !isEphemeral else {
            throw NightjarError(
                .invalidArgument, "\(purpose) needs a journal, but an ephemeral client writes nothing to disk")
        }
        guard let path = configuredPath ?? JournalPath.standard else {
            throw NightjarError(
                .invalidArgument,
                "\(purpose) needs a journal; set the option journal, or the environment variable HOME")
        }
        return path
    }

    /// Closes the files, so that others can continue the client's transfers at once. Waits for an operation in progress, which
    /// takes at most 5 seconds while another process locks the file.
    func close() {
        opened.withLock { $0 }?.close()
        for journal in others.withLock({ $0.compactMap(\.journal) }) { journal.close() }
    }
}
