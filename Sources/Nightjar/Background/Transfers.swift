import NightjarHTTP
import NightjarStorage
import Synchronization

/// The background transfers of a journal: downloads and uploads that a worker process (`nightjar transferd`) performs, and
/// that continue when the process that has started them has ended.
///
/// All functions block for a few milliseconds, and for at most 5 seconds while another process locks the journal.
/// ``start(_:json:)`` also blocks while it copies the files of a form. Any thread may call them.
public final class Transfers: Sendable {
    private let journal: Journal
    private let path: String
    private let worker: WorkerLink
    /// The ends that ``nextEnded()`` has returned. A transfer that was started again ends with more attempts.
    private let delivered = Mutex<Set<Delivered>>([])

    private struct Delivered: Hashable {
        let number: Int64
        let attempts: Int

        init(_ transfer: BackgroundTransfer) { (number, attempts) = (transfer.number, transfer.attempts) }
    }

    /// - Parameters:
    ///   - path: The file of the journal. Nil: that of the user, `nightjar/journal.db` in `$XDG_STATE_HOME` or
    ///     `~/.local/state`.
    ///   - executable: The path of the program `nightjar`, which is started as a worker if none runs: by
    ///     ``start(_:json:)``, ``resume(_:)``, ``retry(_:)`` and ``wait(_:)``. Nil: no program is started.
    /// - Throws: `invalid_argument` if neither a path nor the environment variable HOME is set, and if `executable` is not an
    ///   executable file.
    public init(journal path: String? = nil, transferd executable: String? = nil) throws(NightjarError) {
        guard let path = path ?? JournalPath.standard else {
            throw NightjarError(
                .invalidArgument,
                "background transfers need a journal; pass its path, or set the environment variable HOME")
        }
        self.path = try FilePath.absolute(path)
        journal = Journal(path: self.path)
        worker = WorkerLink(
            journal: self.path, process: try executable.map { (path) throws(NightjarError) in try WorkerProcess(path) })
    }

    /// Records a transfer. A worker starts it, now or when it runs again.
    ///
    /// If the journal has a transfer with this id and the same options, nothing changes, and that transfer is returned.
    ///
    /// - Parameters:
    ///   - id: 1 to 256 bytes without NUL, unique in the journal.
    ///   - options: A JSON object: `{"download": URL, "to": PATH}` or `{"upload": URL, "from": PATH}`, with further
    ///     options; see docs/guides/transfers.md.
    /// - Throws: `invalid_argument` for an invalid option, for an option with a secret, and if the id belongs to a transfer
    ///   with other options; `storage`; `too_large` if the journal is full; for a form, `invalid_request` if a file cannot be
    ///   read, and `content_changed` if one was changed while it was copied. Nothing is then recorded.
    @discardableResult
    public func start(_ id: String, json options: String) throws(NightjarError) -> BackgroundTransfer {
        try options.withRawBytes { bytes throws(NightjarError) in try start(id, json: bytes) }
    }

    package func start(_ id: String, json options: UnsafeRawBufferPointer) throws(NightjarError) -> BackgroundTransfer {
        try TransferSettings.check(id: id)
        let spool = JournalSpool(journal: path)
        var content: TransferBody?
        let description = try TransferDescription(json: options) { body throws(NightjarError) in
            content = body
            return try spool.path(of: body.digest, id: id)
        }
        let entry = NewJournalEntry(id: id, kind: Transfers.kind, input: try description.bytes)
        let added: JournalEntry
        if let content {
            added = try add(entry, description.path, content, spool)
        } else {
            added = try add(entry)
        }
        if !added.phase.isFinished { try worker.wake() }
        return try BackgroundTransfer(added)
    }

    private func add(_ entry: NewJournalEntry) throws(NightjarError) -> JournalEntry {
        do throws(JournalError) {
            return try journal.add(entry)
        } catch {
            guard case .conflict = error.cause else { throw error.failure }
            throw NightjarError(
                .invalidArgument,
                "the journal has a transfer \(quoted(entry.id)) with other options; use another id, or remove the transfer"
            )
        }
    }

    /// Adds an entry with its content.
    private func add(
        _ entry: NewJournalEntry, _ path: String, _ content: TransferBody, _ spool: JournalSpool
    ) throws(NightjarError) -> JournalEntry {
        // A transfer that was recorded before has its content already, or needs none.
        if let known = try self.entry(entry.id), known.input == entry.input, known.phase == .done || spool.has(path) {
            return known
        }
        let new = try spool.write(content.write)
        return try spool.withLock { () throws(NightjarError) in
            do throws(NightjarError) {
                try new.move(to: path)
                let added = try add(entry)
                if added.phase == .done { spool.remove(path) }
                return added
            } catch {
                if !journal.usesContent(path, id: entry.id) { spool.remove(path) }
                throw error
            }
        }
    }

    /// Returns a transfer. Nil if the journal has no transfer with this id.
    public func get(_ id: String) throws(NightjarError) -> BackgroundTransfer? {
        guard let entry = try entry(id) else { return nil }
        return try transfer(entry, entry.phase == .running ? worker.progress() : [:])
    }

    /// Returns the transfer of an entry that was read before the worker reported its progress.
    private func transfer(
        _ entry: JournalEntry, _ progress: WorkerMessage.Progress
    ) throws(NightjarError) -> BackgroundTransfer {
        let current = progress[entry.number]
        // A transfer that the worker does not report may have ended since. Its part then no longer exists.
        let isOld = entry.phase == .running && current == nil
        let entry = isOld ? try self.entry(entry.id) ?? entry : entry
        return try BackgroundTransfer(entry, current)
    }

    private func entry(_ id: String) throws(NightjarError) -> JournalEntry? {
        let entry = try use { (journal) throws(JournalError) in try journal.entry(id) }
        return entry.flatMap { $0.kind.isExactly(Transfers.kind) ? $0 : nil }
    }

    /// Returns the transfers in the order in which they were started. Omits those of later versions.
    public func list() throws(NightjarError) -> [BackgroundTransfer] {
        var transfers: [BackgroundTransfer] = []
        var progress: WorkerMessage.Progress?
        var last: Int64 = 0
        while true {
            let page = try use { [last] (journal) throws(JournalError) in
                try journal.entries(kind: Transfers.kind, after: last)
            }
            guard let end = page.last else { return transfers }
            last = end.number
            if progress == nil, page.contains(where: { $0.phase == .running }) { progress = worker.progress() }
            transfers += page.compactMap { try? transfer($0, progress ?? [:]) }
        }
    }

    /// Checks that a transfer has succeeded.
    ///
    /// - Throws: The error of a transfer that has failed; `cancelled`; `content_changed` if the transfer is in doubt;
    ///   `storage` if it has not ended; `invalid_argument` if there is no transfer with this id.
    public func check(_ id: String) throws(NightjarError) {
        guard let transfer = try get(id) else { throw Transfers.unknown(id) }
        switch transfer.state {
        case .done: break
        case .waiting, .running, .paused:
            throw NightjarError(.storage, "the transfer \(quoted(id)) has not ended; wait for its end")
        case .failed:
            let error = transfer.error ?? NightjarError(.storage, "its result is damaged")
            throw NightjarError(error.kind, "the transfer \(quoted(id)) failed: \(error.message)")
        case .cancelled: throw NightjarError(.cancelled, "the transfer \(quoted(id)) was cancelled")
        case .inDoubt: throw .transferInDoubt(id)
        }
    }

    /// Pauses a transfer. Has no effect on a paused transfer.
    ///
    /// - Throws: `invalid_argument` if there is no transfer with this id; `storage` if the transfer has ended.
    public func pause(_ id: String) throws(NightjarError) {
        try change(id) { (journal) throws(JournalError) in try journal.setPaused(id, true) }
        worker.notify()
    }

    /// Continues a paused transfer. Has no effect on a transfer that is not paused. Errors are those of ``pause(_:)``.
    public func resume(_ id: String) throws(NightjarError) {
        try change(id) { (journal) throws(JournalError) in try journal.setPaused(id, false) }
        try worker.wake()
    }

    /// Cancels a transfer, and removes what a download has received. Has no effect on a transfer that has ended.
    ///
    /// A running transfer ends when its worker has noticed the request.
    public func cancel(_ id: String) throws(NightjarError) {
        guard let entry = try entry(id) else { throw Transfers.unknown(id) }
        let phase = try use { (journal) throws(JournalError) in try journal.cancel(id) }
        worker.notify()
        // A worker that has the transfer discards the part.
        guard !entry.phase.isFinished, phase == .cancelled else { return }
        (try? TransferDescription(bytes: entry.input))?.discardPart()
    }

    /// Starts a transfer again that has failed, was cancelled or is in doubt.
    ///
    /// - Throws: `invalid_argument` if there is no transfer with this id; `storage` in any other state.
    public func retry(_ id: String) throws(NightjarError) {
        try change(id) { (journal) throws(JournalError) in try journal.retry(id) }
        try worker.wake()
    }

    /// Removes a transfer that does not run, with its result but not with its file. Has no effect if there is no transfer
    /// with this id.
    ///
    /// - Throws: `storage` if the transfer runs.
    public func remove(_ id: String) throws(NightjarError) {
        guard let entry = try entry(id) else { return }
        try use { (journal) throws(JournalError) in try journal.remove(id) }
        discardContent(entry)
    }

    /// Removes the content of an upload that has no file of its own.
    private func discardContent(_ entry: JournalEntry) {
        guard let description = try? TransferDescription(bytes: entry.input) else { return }
        JournalSpool(journal: path).remove(description.path) { journal.usesContent(description.path, id: entry.id) }
    }

    /// Confirms that the program has processed the end of a transfer, which is then removed with its result but not with its
    /// file. Has no effect if there is no transfer with this id.
    ///
    /// - Throws: `storage` if the transfer has not ended.
    public func acknowledge(_ id: String) throws(NightjarError) {
        guard let entry = try entry(id) else { return }
        try use { (journal) throws(JournalError) in try journal.acknowledge(id) }
        discardContent(entry)
    }

    /// Returns the log of the workers, oldest entry first. The workers keep at least the last 1 MiB.
    ///
    /// - Parameter id: Nil: the entries of all transfers.
    /// - Throws: `storage` if the log cannot be read.
    public func log(_ id: String? = nil) throws(NightjarError) -> [TransferLogEntry] {
        try JournalLog(journal: path).lines().compactMap { TransferLogEntry(line: $0) }
            .filter { id == nil || id?.isExactly($0.id) == true }
    }

    private func change(_ id: String, _ body: (Journal) throws(JournalError) -> Void) throws(NightjarError) {
        guard try entry(id) != nil else { throw Transfers.unknown(id) }
        try use(body)
    }

    /// Returns the first transfer that has ended and was not returned before.
    ///
    /// - Parameter all: All transfers of the journal.
    func nextDelivery(of all: [BackgroundTransfer]) -> BackgroundTransfer? {
        let ended = all.filter(\.state.isFinished).map { (transfer: $0, end: Delivered($0)) }
        return delivered.withLock { delivered in
            // Ends of transfers that were removed are forgotten.
            delivered.formIntersection(ended.map(\.end))
            return ended.first { delivered.insert($0.end).inserted }?.transfer
        }
    }

    /// Lets the worker read the journal now. Starts a worker if none runs, and if an executable was given.
    ///
    /// ``start(_:json:)`` and the other functions do this. A program that is started after an interruption can call it, so that
    /// the transfers continue.
    ///
    /// - Throws: `storage` if the worker could not be started.
    public func wake() throws(NightjarError) { try worker.wake() }

    private static func unknown(_ id: String) -> NightjarError {
        NightjarError(
            .invalidArgument, "there is no background transfer \(quoted(id)); it was removed or never started")
    }

    private func use<Result>(_ body: (Journal) throws(JournalError) -> Result) throws(NightjarError) -> Result {
        do throws(JournalError) { return try body(journal) } catch { throw error.failure }
    }

    /// The kind of the journal entries.
    package static let kind = "background"
}
