import Nightjar
import NightjarHTTP
import NightjarStorage
import Synchronization

/// Performs the background transfers of a journal. At most one daemon works on a journal.
///
/// The daemon reads the journal after each change and once per second. Programs wake it by its socket. It takes the transfers whose constraints allow it,
/// those with the highest priority first. It gives up its leases when it is stopped, and loses them when it is killed; another
/// daemon then continues.
package final class TransferDaemon: @unchecked Sendable {
    package struct Options: Sendable {
        /// The maximum number of transfers that run at the same time.
        package var concurrency = 4
        /// The time without work after which the daemon ends.
        package var idleTimeout = Duration.seconds(30)
        /// The maximum sum of the rates of all transfers, in bytes per second. It is divided in proportion to their bandwidth
        /// shares. Nil: unlimited.
        package var maximumRate: Int?
        /// A listening socket that the process has inherited, for example from systemd. The daemon closes it. Nil: the daemon
        /// opens the socket of the journal.
        package var listener: Int32?
        /// Called with warnings and with the ends of transfers.
        package var log: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    private let path: String
    private let journal: Journal
    private let options: Options
    private let isStopping = Atomic<Bool>(false)
    /// The events of the transfers run where the daemon polls.
    private let queue = CompletionQueue()
    private let log: JournalLog
    private let spool: JournalSpool
    private let programs: CompletionPrograms
    /// The running transfers, by the numbers of their entries.
    private var running: [Int64: RunningTransfer] = [:]
    /// Nil: programs do not wake the daemon, which reads the journal regularly.
    private var listener: WorkerListener?
    private var knownChange: Int64?
    private var lastLook = ContinuousClock.now
    /// The time of the first failure of the journal since the last success. Nil: the last look has succeeded.
    private var failingSince: ContinuousClock.Instant?
    /// The time at which the daemon had no work for the first time. Nil: it has some.
    private var idleSince: ContinuousClock.Instant?

    package init(journal path: String, _ options: Options) {
        journal = Journal(path: path)
        (self.path, self.options) = (path, options)
        let log = JournalLog(journal: path)
        (self.log, spool) = (log, JournalSpool(journal: path))
        programs = CompletionPrograms(journal, path: path) { id, message in
            log.append(TransferLogEntry(time: WallClock.now(), id: id, event: .program, message: message).json)
            options.log("\(id): \(message)")
        }
    }

    /// Ends the daemon. Its transfers continue in the next one. Any thread.
    package func stop() {
        isStopping.store(true, ordering: .relaxed)
        queue.wake()
    }

    /// Works until ``stop()``, or until there was no work for the idle timeout.
    ///
    /// - Throws: `storage` if the journal cannot be used.
    package func run() throws(NightjarError) {
        defer { journal.close() }
        removeUnusedContents()
        listen()
        while !isStopping.load(ordering: .relaxed) {
            try look()
            if try isOver() { break }
            wait()
        }
        // A program that finds no socket starts another daemon, which waits for the end of this one.
        listener = nil
        for transfer in running.values { transfer.suspend() }
        let deadline = ContinuousClock.now + TransferDaemon.stopTimeout
        while !running.isEmpty, ContinuousClock.now < deadline { wait() }
        queue.close()
    }

    /// Whether there was no work for the idle timeout.
    private func isOver() throws(NightjarError) -> Bool {
        guard let since = idleSince, ContinuousClock.now - since >= options.idleTimeout else { return false }
        // A program that finds no socket starts another daemon. Transfers that were recorded before are found here. An
        // inherited socket stays open in the other process, which starts another daemon for the next connection.
        guard options.listener == nil else { return true }
        listener = nil
        try look()
        // The journal may be locked: transfers may wait.
        if failingSince == nil, idleSince != nil { return true }
        listen()
        return false
    }

    /// Removes the contents of uploads whose entries were removed or never added.
    private func removeUnusedContents() {
        spool.removeOthers(olderThan: TransferDaemon.longestStart) {
            var used: [String] = []
            for phase in [JournalPhase.pending, .running, .failed, .cancelled, .inDoubt] {
                guard let entries = try? entries(in: phase) else { return nil }
                for entry in entries {
                    // The entry of a later version may have a content.
                    guard let description = try? TransferDescription(bytes: entry.input) else { return nil }
                    used.append(description.path)
                }
            }
            return used
        }
    }

    // MARK: The socket

    private func listen() {
        if let inherited = options.listener {
            listener = WorkerListener(inherited, ownPath: nil)
        } else {
            do throws(NightjarError) {
                let socket = try JournalWorkerSocket.path(ofWorker: path)
                listener = WorkerListener(try JournalWorkerSocket.listen(socket), ownPath: socket)
            } catch {
                options.log(
                    "\(error.message); programs cannot wake this transferd, which reads the journal once per second")
            }
        }
    }

    /// Runs the events of the transfers and responds to programs, for a short time.
    private func wait() {
        let descriptor = queue.descriptor
        guard let listener, descriptor >= 0 else {
            queue.poll(timeout: TransferDaemon.pollInterval)
            return
        }
        listener.wait(for: descriptor, timeout: TransferDaemon.pollInterval) { running.compactMapValues(\.progress) }
        queue.poll(timeout: .zero)
    }

    // MARK: The journal

    /// Reads the journal if it has changed, or after a second.
    ///
    /// - Throws: `storage` if the journal cannot be used at the start, or for longer than the failure timeout. Another process
    ///   may lock the journal for some time.
    private func look() throws(NightjarError) {
        let now = ContinuousClock.now
        do throws(JournalError) {
            let change = try journal.changeNumber()
            guard change != knownChange || now - lastLook >= TransferDaemon.lookInterval else { return }
            let waiting = try checkEntries()
            (knownChange, lastLook, failingSince) = (change, now, nil)
            idleSince = running.isEmpty && waiting == 0 ? idleSince ?? now : nil
        } catch {
            guard knownChange != nil, now - (failingSince ?? now) < TransferDaemon.failureTimeout else {
                throw error.failure
            }
            if failingSince == nil { options.log(error.message) }
            failingSince = failingSince ?? now
        }
        for note in journal.takeNotes() { options.log(note) }
    }

    /// Passes the requests of callers to the running transfers, and starts others. Returns the number of transfers that
    /// wait.
    private func checkEntries() throws(JournalError) -> Int {
        try programs.check { running[$0] != nil }
        let entries = try entries(in: .running) + entries(in: .pending)
        // Observing the network needs a thread.
        guard !entries.isEmpty else { return 0 }
        let circumstances = TransferConstraints.Circumstances(
            now: WallClock.now(), network: Network.status, hasMainsPower: PowerSupply.hasMainsPower())
        var candidates: [Candidate] = []
        for entry in entries {
            if let transfer = running[entry.number] {
                transfer.check(entry, circumstances)
            } else if !entry.isPaused {
                candidates.append(Candidate(entry))
            }
        }
        candidates.sort { ($1.priority, $0.entry.number) < ($0.priority, $1.entry.number) }
        for candidate in candidates { try start(candidate, circumstances) }
        return candidates.count
    }

    private func entries(in phase: JournalPhase) throws(JournalError) -> [JournalEntry] {
        var entries: [JournalEntry] = []
        while true {
            let page = try journal.entries(
                kind: Transfers.kind, phase: phase, after: entries.last?.number ?? 0, limit: 1000)
            if page.isEmpty { return entries }
            entries += page
        }
    }

    private struct Candidate {
        let entry: JournalEntry
        let description: Result<TransferDescription, NightjarError>

        init(_ entry: JournalEntry) {
            self.entry = entry
            description = Result { () throws(NightjarError) in try TransferDescription(bytes: entry.input) }
        }

        var priority: Int { (try? description.get())?.constraints.priority ?? 0 }
    }

    private func start(
        _ candidate: Candidate, _ circumstances: TransferConstraints.Circumstances
    ) throws(JournalError) {
        let entry = candidate.entry
        // The entry may wait for its next attempt. A running one belongs to a daemon that has ended.
        if entry.phase == .pending, let due = entry.due, due > circumstances.now, !entry.isCancelRequested { return }
        let description: TransferDescription
        switch candidate.description {
        case .success(let found): description = found
        case .failure(let error): return try finish(entry, error)
        }
        switch description.constraints.decision(circumstances, created: entry.created ?? .epoch) {
        case _ where entry.isCancelRequested: break
        case .wait: return
        case .expired: return try finish(entry, TransferDaemon.expired(description.constraints))
        case .run: break
        }
        guard running.count < options.concurrency, let lease = try take(entry) else { return }
        try programs.record(entry, description)
        let transfer = RunningTransfer(lease, of: journal, description)
        running[entry.number] = transfer
        note(entry.id, .started)
        transfer.start(on: queue, maximumRate: maximumRate(of: transfer)) { [self] error in ended(entry, error) }
        divideBandwidth()
    }

    private func divideBandwidth() {
        for transfer in running.values {
            if let rate = maximumRate(of: transfer) { transfer.setMaximumRate(rate) }
        }
    }

    /// Returns the part of the maximum rate that a running transfer has. Nil: unlimited.
    private func maximumRate(of transfer: RunningTransfer) -> Int? {
        guard let maximum = options.maximumRate else { return nil }
        let sum = running.values.reduce(0) { $0 + $1.bandwidthShare }
        return max(Int(Double(maximum) * Double(transfer.bandwidthShare) / Double(max(sum, 1))), 1)
    }

    /// Returns nil if the entry has changed, or if another worker has it.
    private func take(_ entry: JournalEntry) throws(JournalError) -> JournalLease? {
        do throws(JournalError) {
            return try journal.take(id: entry.id, for: JournalLease.transferDuration)
        } catch {
            switch error.cause {
            case .notFound, .wrongPhase: return nil
            default: throw error
            }
        }
    }

    /// Ends a transfer that does not run.
    private func finish(_ entry: JournalEntry, _ error: NightjarError) throws(JournalError) {
        guard let lease = try take(entry) else { return }
        if let description = try? TransferDescription(bytes: entry.input) { try programs.record(entry, description) }
        try lease.end(.failed(error), in: journal)
        note(entry.id, .failed, error.message)
        try programs.ended(entry, .failed)
    }

    private func note(_ id: String, _ event: TransferLogEntry.Event, _ message: String = "") {
        log.append(TransferLogEntry(time: WallClock.now(), id: id, event: event, message: message).json)
        if event != .started { options.log("\(id): \(message.isEmpty ? event.rawValue : message)") }
    }

    private func ended(_ entry: JournalEntry, _ error: NightjarError?) {
        let transfer = running.removeValue(forKey: entry.number)
        divideBandwidth()
        let isInDoubt = error != nil && (try? journal.entry(entry.id))?.phase == .inDoubt
        switch (error, transfer?.endingAfterFailure) {
        case (nil, _):
            if let path = transfer?.path { spool.remove(path) { journal.usesContent(path, id: entry.id) } }
            note(entry.id, .done)
            // After an error, the next look starts the program.
            try? programs.ended(entry, .done)
        case (let error?, _) where isInDoubt: note(entry.id, .inDoubt, error.message)
        case (let error?, .failed):
            note(entry.id, .failed, error.message)
            try? programs.ended(entry, .failed)
        case (let error?, .pending(let delay)) where delay > .zero:
            note(entry.id, .waiting, "\(error.message); next attempt in \(delay.rounded) s")
        case (let error?, nil) where transfer?.giveUp() == true:
            // For example, there was no thread to open the journal.
            note(entry.id, .waiting, error.message)
        case (let error?, _): note(entry.id, .stopped, error.message)
        }
        lastLook = ContinuousClock.now - TransferDaemon.lookInterval
    }

    private static func expired(_ constraints: TransferConstraints) -> NightjarError {
        NightjarError(
            .timeout,
            "the transfer was not complete within its time limit of \(constraints.timeLimit.rounded) s; start it again with another id or a higher time_limit",
            phase: .total)
    }

    private static let pollInterval = Duration.milliseconds(200)
    private static let lookInterval = Duration.seconds(1)
    /// The longest time between the write of a content and that of its entry.
    private static let longestStart = Duration.seconds(3600)
    private static let stopTimeout = Duration.seconds(10)
    private static let failureTimeout = Duration.seconds(60)
}
