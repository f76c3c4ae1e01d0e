import NightjarHTTP
import NightjarStorage
import Synchronization

/// The journal of a client. The first transfer with an id opens it.
final class ClientJournal: Sendable {
    private let configuredPath: String?
    private let isEphemeral: Bool
    private let opened = Mutex<Journal?>(nil)

    init(_ configuration: Configuration) {
        (configuredPath, isEphemeral) = (configuration.journalPath, configuration.isEphemeral)
    }

    /// - Throws: `invalid_argument` for an ephemeral client, and if no path is known.
    func open() throws(NightjarError) -> Journal {
        guard !isEphemeral else {
            throw NightjarError(
                .invalidArgument, "an ephemeral client writes nothing to disk, so its transfers cannot have an id")
        }
        guard let path = configuredPath ?? JournalPath.standard else {
            throw NightjarError(
                .invalidArgument,
                "a transfer with an id needs a journal; set the option journal, or the environment variable HOME")
        }
        return opened.withLock { journal in
            if let journal { return journal }
            let created = Journal(path: path)
            journal = created
            return created
        }
    }

    /// Closes the file, so that others can continue the client's transfers at once. Waits for an operation in progress, which
    /// takes at most 5 seconds while another process locks the file.
    func close() { opened.withLock { $0 }?.close() }
}
